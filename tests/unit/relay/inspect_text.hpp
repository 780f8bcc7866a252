#pragma once

#include <algorithm>
#include <string>

#include <smg/relay/request_body.hpp>

namespace smg::relay {

/// Inspects a text as if it had been collected from a client: with whatever stands behind it, up to
/// the padding, left there as junk that must not be read as part of it.
inline Result<BodyFields> inspect_body(InferenceRoute route, const std::string& text) {
  BodyBuffer body;
  const auto room = body.prepare(text.size() + kBodyPadding);
  const std::size_t junk = std::min(text.capacity() - text.size(), kBodyPadding);
  std::copy_n(text.data(), text.size() + junk, room.data());
  std::fill(room.begin() + static_cast<std::ptrdiff_t>(text.size() + junk), room.end(), '"');
  body.commit(text.size());
  return inspect_body(route, body);
}

}  // namespace smg::relay
