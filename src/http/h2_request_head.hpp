#pragma once

#include <smg/http/h2_session.hpp>

namespace smg::http {

/// Fills `head` from the field block of a request that the session has found well-formed.
/// :authority becomes the Host field, cookie crumbs become one Cookie field (RFC
/// 9113 8.3.1, 8.2.3). False: the request is malformed, its Host contradicts its :authority.
[[nodiscard]] bool fill_request_head(RequestHead& head, H2FieldBlock&& block);

}  // namespace smg::http
