# OpenSSL stays behind secret_digest.hpp, cjose behind web_keys.hpp.
target_link_libraries(smg_control PRIVATE OpenSSL::Crypto smg_cjose simdjson::simdjson)
target_compile_definitions(smg_control PRIVATE SMG_VERSION="${PROJECT_VERSION}")
