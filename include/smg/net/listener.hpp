#pragma once

#include <functional>
#include <string>

#include <smg/net/io_thread.hpp>

namespace smg::net {

/// Which descriptors accepted connections may take: some of the last ones are kept back for the
/// probe and metrics ports, which have to answer when clients have taken all others.
enum class Descriptors : std::uint8_t { Unreserved, All };

/// A listening TCP socket on one IoThread. Accepting survives running out of descriptors: it pauses
/// for a moment and goes on (ruling 30).
class Listener final : private Watched {
 public:
  /// Receives each accepted descriptor, on the listener's thread; must take it over or close it.
  using Accepted = std::function<void(int descriptor)>;

  /// Binds at once: throws std::runtime_error when the address cannot be had. `host` is an IP
  /// literal, with or without brackets.
  Listener(IoThread& thread, const std::string& host, std::uint16_t port,
           Descriptors may_use = Descriptors::Unreserved);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Starts accepting. On the listener's thread or before it runs.
  void start(Accepted accepted);

  /// Stops accepting and closes the socket: later connections are refused. On the listener's
  /// thread.
  void close();

  [[nodiscard]] std::uint16_t port() const;

 private:
  void on_events(std::uint32_t events) override;
  void wait();
  void take_batch();
  void hand_over(int descriptor);
  void wait_for_resources();

  IoThread& thread_;
  const Descriptors may_use_;
  int descriptor_ = -1;
  Accepted accepted_;
  Deadline pause_;
  bool paused_ = false;
  bool running_short_ = false;  ///< the reserve is near
  TimePoint last_warning_{};
};

}  // namespace smg::net
