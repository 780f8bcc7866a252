# The echo workers read the requests they answer; the version is shown in metrics and logs.
target_link_libraries(smg_gateway PRIVATE simdjson::simdjson)
target_compile_definitions(smg_gateway PRIVATE SMG_VERSION="${PROJECT_VERSION}")
