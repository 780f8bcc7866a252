# OpenSSL stays behind tls_client.hpp and tls_server.hpp.
target_link_libraries(smg_net PRIVATE OpenSSL::SSL)
