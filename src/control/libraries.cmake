target_link_libraries(smg_control PRIVATE simdjson::simdjson)
