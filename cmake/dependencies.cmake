# All from Debian 12's packages; the minimum versions are the ones it ships.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(spdlog 1.10 REQUIRED)
find_package(simdjson 3.0 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_library(SMG_NGHTTP2 nghttp2 REQUIRED)
find_package(prometheus-cpp REQUIRED COMPONENTS core)

# cjose ships no package file for CMake either.
find_path(CJOSE_INCLUDE_DIR cjose/cjose.h REQUIRED)
find_library(CJOSE_LIBRARY cjose REQUIRED)
add_library(smg_cjose INTERFACE)
target_include_directories(smg_cjose SYSTEM INTERFACE ${CJOSE_INCLUDE_DIR})
target_link_libraries(smg_cjose INTERFACE ${CJOSE_LIBRARY})

# xxHash ships no package file for CMake.
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(XXHASH_LIBRARY xxhash REQUIRED)
add_library(smg_xxhash INTERFACE)
target_include_directories(smg_xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})
target_link_libraries(smg_xxhash INTERFACE ${XXHASH_LIBRARY})

# Asio's bodies are compiled once. Mixed definitions of these macros would break the one-definition rule,
# so they live on this one target, which every layer links.
add_library(smg_asio STATIC ${PROJECT_SOURCE_DIR}/cmake/asio.cpp)
target_compile_features(smg_asio PUBLIC cxx_std_20)
target_compile_definitions(smg_asio PUBLIC
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_NO_TS_EXECUTORS)
target_link_libraries(smg_asio PUBLIC Boost::headers Threads::Threads)
target_link_libraries(smg_asio PRIVATE smg_options)
