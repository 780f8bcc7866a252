#pragma once

#include <smg/http/client_exchange.hpp>

namespace smg::http {

/// A client connection of any protocol version, as its shard sees it.
class ServerConnection {
 public:
  virtual ~ServerConnection() = default;

  /// Reads and answers requests until the connection ends.
  [[nodiscard]] virtual net::Task<> serve(RequestHandler& handler) = 0;

  /// Lets running requests finish and closes then; an idle connection ends now.
  virtual void drain() = 0;

  /// Cuts everything off. Directly below the event loop.
  virtual void abort() noexcept = 0;
};

}  // namespace smg::http
