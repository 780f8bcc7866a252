# smg_add_layer(NAME [DEPENDS LAYER...]): the static library of one layer, made of all sources in src/NAME.
function(smg_add_layer name)
  cmake_parse_arguments(LAYER "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  add_library(smg_${name} STATIC ${sources})
  target_include_directories(smg_${name}
    PUBLIC ${PROJECT_SOURCE_DIR}/include
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(smg_${name} PUBLIC smg_options smg_asio)
  foreach(lower ${LAYER_DEPENDS})
    target_link_libraries(smg_${name} PUBLIC smg_${lower})
  endforeach()
  include(${PROJECT_SOURCE_DIR}/src/${name}/libraries.cmake OPTIONAL)
  smg_use_pch(smg_${name})
endfunction()

# One precompiled header, of the standard library and Asio's coroutine core, shared by all targets.
function(smg_use_pch target)
  if(TARGET smg_pch)
    target_precompile_headers(${target} REUSE_FROM smg_pch)
  endif()
endfunction()

file(WRITE ${CMAKE_BINARY_DIR}/pch.cpp "// Owns the precompiled header.\n")
add_library(smg_pch STATIC ${CMAKE_BINARY_DIR}/pch.cpp)
target_link_libraries(smg_pch PUBLIC smg_options smg_asio)
target_precompile_headers(smg_pch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch.hpp)
