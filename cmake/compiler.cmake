# clang-19 is the compiler: g++ 12.2, Debian 12's default, miscompiles coroutines.
if(NOT DEFINED CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX})
  set(CMAKE_CXX_COMPILER clang++-19)
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type")
endif()
find_program(SMG_CCACHE ccache)
if(SMG_CCACHE)
  # Precompiled headers need the sloppiness; their time stamps are switched off in options.cmake.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${SMG_CCACHE})
endif()
