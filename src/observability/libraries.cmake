# prometheus-cpp and spdlog stay behind this layer's headers.
target_link_libraries(smg_observability PRIVATE prometheus-cpp::core spdlog::spdlog)
