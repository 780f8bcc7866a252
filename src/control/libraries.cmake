# OpenSSL stays behind secret_digest.hpp.
target_link_libraries(smg_control PRIVATE OpenSSL::Crypto simdjson::simdjson)
target_compile_definitions(smg_control PRIVATE SMG_VERSION="${PROJECT_VERSION}")
