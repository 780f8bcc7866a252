# Language level, warnings and optimisation that every target of the project shares.
add_library(smg_options INTERFACE)
target_compile_features(smg_options INTERFACE cxx_std_20)
target_compile_options(smg_options INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast
  -Wextra-semi -Wimplicit-fallthrough -Werror -fno-omit-frame-pointer)
target_link_options(smg_options INTERFACE -fuse-ld=lld-19)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
add_compile_options("SHELL:-Xclang -fno-pch-timestamp")

if(SMG_SANITIZER STREQUAL "address")
  target_compile_options(smg_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined)
  target_link_options(smg_options INTERFACE -fsanitize=address,undefined)
elseif(SMG_SANITIZER STREQUAL "thread")
  target_compile_options(smg_options INTERFACE -fsanitize=thread)
  target_link_options(smg_options INTERFACE -fsanitize=thread)
elseif(SMG_SANITIZER)
  message(FATAL_ERROR "SMG_SANITIZER is '${SMG_SANITIZER}'; it may be empty, 'address' or 'thread'")
endif()

# The coverage that steers a fuzzer; its targets link the fuzzer itself (tests/fuzz).
if(SMG_FUZZ)
  target_compile_options(smg_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
