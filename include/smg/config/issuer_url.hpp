#pragma once

#include <string>
#include <string_view>

#include <smg/config/worker_url.hpp>

namespace smg::config {

/// Where something of a token issuer is fetched from.
struct IssuerUrl {
  WorkerUrl server;    ///< http or https
  std::string target;  ///< path and query
};

/// Reads a URL of a token issuer: https, or http towards this machine alone, since whoever can
/// change an answer on its way makes the tokens. Errors are BadRequest; the message does not repeat
/// the URL.
[[nodiscard]] Result<IssuerUrl> parse_issuer_url(std::string_view text);

/// Where an issuer publishes what it is (OpenID Connect Discovery 4.1).
[[nodiscard]] std::string discovery_url(std::string_view issuer);

}  // namespace smg::config
