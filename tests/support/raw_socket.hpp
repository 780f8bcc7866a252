#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/// Blocking sockets on 127.0.0.1: both ends of what the gateway talks to, driven by the test's own
/// thread.
namespace smg::test {

/// A connected TCP socket. A receive that gets nothing for half a minute throws, so a broken
/// gateway fails the test rather than hang it.
class RawSocket {
 public:
  explicit RawSocket(int descriptor) : descriptor_(descriptor) {
    const timeval patience{30, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  }
  RawSocket(RawSocket&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), unread_(std::move(other.unread_)) {}
  RawSocket& operator=(RawSocket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(unread_, other.unread_);
    return *this;
  }
  ~RawSocket() { close(); }

  [[nodiscard]] static RawSocket connect_to(std::uint16_t port, int receive_buffer = 0) {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_buffer > 0) {
      ::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    const sockaddr_in address = loopback(port);
    if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::close(descriptor);
      throw std::runtime_error(std::string("connect: ") + std::strerror(errno));
    }
    return RawSocket(descriptor);
  }

  [[nodiscard]] static sockaddr_in loopback(std::uint16_t port) noexcept {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  /// Sends everything. False: the other side takes no more.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  /// Waits until the other side's system has all that was sent, read or not.
  void until_arrived() const {
    for (int left = 1; left > 0; ::usleep(100)) {
      if (::ioctl(descriptor_, SIOCOUTQ, &left) != 0) return;
    }
  }

  /// Some bytes; empty when the other side has ended the connection, by a FIN or a reset.
  [[nodiscard]] std::string receive() {
    if (!unread_.empty()) return std::exchange(unread_, {});
    char buffer[65536];
    const ssize_t n = ::recv(descriptor_, buffer, sizeof buffer, 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      throw std::runtime_error("nothing to receive for half a minute");
    }
    was_reset_ = n < 0;
    return n > 0 ? std::string(buffer, static_cast<std::size_t>(n)) : std::string();
  }

  /// Whether a receive would return at once.
  [[nodiscard]] bool readable() const {
    pollfd ready{descriptor_, POLLIN, 0};
    return !unread_.empty() || ::poll(&ready, 1, 0) == 1;
  }

  /// Everything up to and with `mark`, or up to the end of the connection. What follows stays
  /// unread.
  [[nodiscard]] std::string receive_until(std::string_view mark) {
    std::string bytes;
    for (;;) {
      const auto at = bytes.find(mark);
      if (at != std::string::npos) {
        unread_ = bytes.substr(at + mark.size());
        return bytes.substr(0, at + mark.size());
      }
      const std::string more = receive();
      if (more.empty()) return bytes;
      bytes += more;
    }
  }

  /// The next `count` bytes, fewer only at the end of the connection.
  [[nodiscard]] std::string receive_exactly(std::size_t count) {
    std::string bytes;
    while (bytes.size() < count) {
      const std::string more = receive();
      if (more.empty()) return bytes;
      bytes += more;
    }
    unread_ = bytes.substr(count) + unread_;
    bytes.resize(count);
    return bytes;
  }

  /// Everything up to the end of the connection.
  [[nodiscard]] std::string receive_rest() {
    std::string bytes;
    for (std::string more = receive(); !more.empty(); more = receive()) bytes += more;
    return bytes;
  }

  /// Whether the last receive found a reset in place of an orderly end.
  [[nodiscard]] bool was_reset() const noexcept { return was_reset_; }

  void finish_sending() { ::shutdown(descriptor_, SHUT_WR); }

  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }

  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

  /// Gives the descriptor away, set as the gateway has those that it accepts.
  [[nodiscard]] int release() noexcept {
    ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) | O_NONBLOCK);
    return std::exchange(descriptor_, -1);
  }

 private:
  int descriptor_;
  std::string unread_;
  bool was_reset_ = false;
};

/// A listening TCP socket on a free port of 127.0.0.1.
class RawListener {
 public:
  explicit RawListener(int backlog = 64)
      : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = RawSocket::loopback(0);
    socklen_t size = sizeof address;
    if (::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(descriptor_, backlog) != 0) {
      throw std::runtime_error(std::string("listen: ") + std::strerror(errno));
    }
    ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  RawListener(const RawListener&) = delete;
  RawListener& operator=(const RawListener&) = delete;
  ~RawListener() { close(); }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  [[nodiscard]] RawSocket accept() {
    pollfd ready{descriptor_, POLLIN, 0};
    if (::poll(&ready, 1, 30000) != 1) throw std::runtime_error("nobody connects");
    return RawSocket(::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC));
  }

  /// Whether a connection waits to be accepted.
  [[nodiscard]] bool has_pending() const {
    pollfd ready{descriptor_, POLLIN, 0};
    return ::poll(&ready, 1, 0) == 1;
  }

  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }

 private:
  int descriptor_;
  std::uint16_t port_ = 0;
};

}  // namespace smg::test
