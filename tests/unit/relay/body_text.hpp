#pragma once

#include <algorithm>
#include <string_view>

#include <smg/base/body_buffer.hpp>
#include <smg/relay/request_body.hpp>

namespace smg::relay {

/// A body of this text, with bytes behind it that must not be taken for a part of it.
inline BodyBuffer buffer_of(std::string_view text) {
  BodyBuffer body;
  const auto room = body.prepare(text.size() + kBodyPadding);
  std::ranges::fill(room, '"');
  std::ranges::copy(text, room.begin());
  body.commit(text.size());
  return body;
}

}  // namespace smg::relay
