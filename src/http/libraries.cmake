# nghttp2 stays behind h2_session.hpp.
target_link_libraries(smg_http PRIVATE ${SMG_NGHTTP2})
