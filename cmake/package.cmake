# What is installed, and the Debian package of it:
#
#   cmake --build --preset release --target deb     build/release/smg_<version>_<architecture>.deb
#
# Installing builds nothing by itself, so that a package does not need the tests; the targets are named below.
include(GNUInstallDirs)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
set(SMG_DEBIAN ${PROJECT_SOURCE_DIR}/configs/debian)

function(smg_gzip input output)
  add_custom_command(OUTPUT ${output} COMMAND gzip -9nc ${input} > ${output} DEPENDS ${input} VERBATIM)
endfunction()

smg_gzip(${SMG_DOCUMENTS}/smg.1 ${SMG_DOCUMENTS}/smg.1.gz)
smg_gzip(${SMG_DEBIAN}/changelog ${SMG_DOCUMENTS}/changelog.gz)
add_custom_target(package_files
  DEPENDS ${SMG_DOCUMENTS}/smg.1.gz ${SMG_DOCUMENTS}/changelog.gz)
add_dependencies(package_files smg documents)

# `cmake --install`: the binary, and what tells about it.
set(component COMPONENT runtime)
install(TARGETS smg RUNTIME DESTINATION bin ${component})
install(FILES ${SMG_DOCUMENTS}/smg.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 ${component})
install(FILES ${SMG_DOCUMENTS}/smg.bash DESTINATION share/bash-completion/completions RENAME smg ${component})
install(FILES ${SMG_DOCUMENTS}/_smg DESTINATION share/zsh/vendor-completions ${component})
install(FILES ${SMG_DOCUMENTS}/smg.fish DESTINATION share/fish/vendor_completions.d ${component})
install(FILES docs/operations.md docs/access_control.md DESTINATION share/doc/smg ${component})
install(DIRECTORY docs/reference DESTINATION share/doc/smg ${component})
install(DIRECTORY configs/prometheus configs/grafana DESTINATION share/doc/smg/examples ${component})

# The package has the service besides.
set(component COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES configs/smg.toml DESTINATION /etc/smg ${component})
install(FILES configs/systemd/smg.service DESTINATION /lib/systemd/system ${component})
install(FILES configs/systemd/smg.sysusers DESTINATION /usr/lib/sysusers.d RENAME smg.conf ${component})
install(FILES ${SMG_DEBIAN}/copyright ${SMG_DOCUMENTS}/changelog.gz DESTINATION /usr/share/doc/smg ${component})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME smg)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_CMAKE_PROJECTS
  "${CMAKE_BINARY_DIR};smg;runtime;/" "${CMAKE_BINARY_DIR};smg;debian;/")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "smg maintainers <maintainers@smg.example>")
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers | systemd-sysusers")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "gateway to a fleet of LLM inference workers")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"smg stands between clients of language models and the inference workers
(vLLM, SGLang) that serve them. It chooses a worker for each request, streams
bodies both ways, repeats what may be repeated, and watches over the workers'
health and load.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${SMG_DEBIAN}/conffiles ${SMG_DEBIAN}/postinst ${SMG_DEBIAN}/prerm ${SMG_DEBIAN}/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)

add_custom_target(deb
  COMMAND ${CMAKE_CPACK_COMMAND} -G DEB -B ${CMAKE_BINARY_DIR} --config ${CMAKE_BINARY_DIR}/CPackConfig.cmake
  DEPENDS package_files WORKING_DIRECTORY ${CMAKE_BINARY_DIR} VERBATIM)
