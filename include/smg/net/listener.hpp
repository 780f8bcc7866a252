#pragma once

#include <functional>
#include <memory>
#include <string>

#include <smg/net/io_thread.hpp>

namespace smg::net {

/// A listening TCP socket on one IoThread. Accepting survives running out of descriptors: it pauses
/// for a moment and goes on (ruling 30).
class Listener {
 public:
  /// Receives each accepted descriptor, on the listener's thread; must take it over or close it.
  using Accepted = std::function<void(int descriptor)>;

  /// Binds at once: throws std::runtime_error when the address cannot be had. `host` is an IP
  /// literal, with or without brackets.
  Listener(IoThread& thread, const std::string& host, std::uint16_t port);
  ~Listener();

  /// Starts accepting. On the listener's thread or before it runs.
  void start(Accepted accepted);

  /// Stops accepting and closes the socket: later connections are refused. On the listener's
  /// thread.
  void close();

  [[nodiscard]] std::uint16_t port() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace smg::net
