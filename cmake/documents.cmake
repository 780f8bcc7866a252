# What `smg print` prints, made by the binary itself: the manual page and the completions of shells below
# build/<preset>/documents, where cmake/package.cmake finds them.
set(SMG_DOCUMENTS ${CMAKE_BINARY_DIR}/documents)
file(MAKE_DIRECTORY ${SMG_DOCUMENTS})

function(smg_print document file)
  add_custom_command(OUTPUT ${SMG_DOCUMENTS}/${file}
    COMMAND smg print ${document} > ${SMG_DOCUMENTS}/${file}
    DEPENDS smg VERBATIM)
endfunction()

smg_print(man smg.1)
smg_print(bash smg.bash)
smg_print(zsh _smg)
smg_print(fish smg.fish)
add_custom_target(documents ALL
  DEPENDS ${SMG_DOCUMENTS}/smg.1 ${SMG_DOCUMENTS}/smg.bash ${SMG_DOCUMENTS}/_smg ${SMG_DOCUMENTS}/smg.fish)

# Writes docs/reference; tests/packaging fails while it is not what the code says.
add_custom_target(reference
  COMMAND smg print flags > ${PROJECT_SOURCE_DIR}/docs/reference/flags.md
  COMMAND smg print metrics > ${PROJECT_SOURCE_DIR}/docs/reference/metrics.md
  DEPENDS smg VERBATIM)
