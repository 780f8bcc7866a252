target_link_libraries(smg_relay PRIVATE simdjson::simdjson)
