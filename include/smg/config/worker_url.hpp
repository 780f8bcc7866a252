#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <smg/base/result.hpp>

namespace smg::config {

/// Where a worker listens, in the one spelling that identifies it (ruling 20).
struct WorkerUrl {
  std::string scheme;      ///< http, https, grpc, grpcs or ipc
  std::string host;        ///< lower case; an IPv6 address without brackets; empty for ipc
  std::uint16_t port = 0;  ///< explicit or the scheme's default; 0 for ipc
  std::string text;        ///< scheme://host[:port], a default port left out; never ends in a slash

  /// What follows `scheme://` in `text`: the value of a Host field.
  [[nodiscard]] std::string authority() const { return text.substr(scheme.size() + 3); }

  friend bool operator==(const WorkerUrl&, const WorkerUrl&) = default;
};

/// Reads a worker's URL. The scheme must be in lower case. User info, a path other than "/", a
/// query and a fragment are refused, as they could not reach the worker. Errors are BadRequest; the
/// message does not repeat the URL, which may hold a password.
[[nodiscard]] Result<WorkerUrl> parse_worker_url(std::string_view text);

/// `text` with user info, should it have any, replaced by "***": for messages about refused URLs.
[[nodiscard]] std::string without_user_info(std::string_view text);

}  // namespace smg::config
