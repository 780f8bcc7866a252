# All from Debian 12's packages; the minimum versions are the ones it ships.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(spdlog 1.10 REQUIRED)
find_package(simdjson 3.0 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(prometheus-cpp REQUIRED COMPONENTS core)

# Asio's bodies are compiled once, in src/net/asio_compiled.cpp. Mixed definitions of these macros would
# break the one-definition rule, so they live on this one target, which every layer links.
add_library(smg_asio INTERFACE)
target_compile_definitions(smg_asio INTERFACE
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_NO_TS_EXECUTORS)
target_link_libraries(smg_asio INTERFACE Boost::headers Threads::Threads)
