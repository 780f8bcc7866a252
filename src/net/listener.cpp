#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/descriptor_reserve.hpp"
#include "net/loopback.hpp"
#include <smg/net/listener.hpp>
#include <smg/observability/log.hpp>

namespace smg::net {
namespace {

/// Connections taken per wake-up: bounds the time away from the connections already there.
constexpr int kBatch = 10;
constexpr int kBacklog = 4096;
constexpr std::chrono::milliseconds kPause{100};
constexpr std::chrono::seconds kWarnEvery{10};

/// A listening socket; -1 with `errno` set.
int listen_on(const Endpoint& endpoint) {
  const int descriptor =
      ::socket(endpoint.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -1;
  const int on = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // Its connections have what it has.
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  send_unpaced_over_loopback(descriptor, endpoint);
  if (::bind(descriptor, reinterpret_cast<const sockaddr*>(&endpoint.address), endpoint.size) ==
          0 &&
      ::listen(descriptor, kBacklog) == 0) {
    return descriptor;
  }
  const int why = errno;
  ::close(descriptor);
  errno = why;
  return -1;
}

}  // namespace

Listener::Listener(IoThread& thread, const std::string& host, std::uint16_t port,
                   Descriptors may_use)
    : thread_(thread), may_use_(may_use), pause_(thread.deadlines(), [this] { take_batch(); }) {
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const auto endpoint = literal_endpoint(bracketed ? host.substr(1, host.size() - 2) : host, port);
  const std::string refusal = "cannot listen on " + host + ":" + std::to_string(port) + ": ";
  if (!endpoint) throw std::runtime_error(refusal + "not an IP address");
  descriptor_ = listen_on(*endpoint);
  if (descriptor_ < 0) throw std::runtime_error(refusal + std::generic_category().message(errno));
}

Listener::~Listener() {
  close();
}

void Listener::start(Accepted accepted) {
  accepted_ = std::move(accepted);
  wait();
}

void Listener::wait() {
  // Without the edge flag: connections that a batch leaves over are announced again.
  if (!thread_.poller().add(descriptor_, EPOLLIN, *this)) wait_for_resources();
}

void Listener::on_events(std::uint32_t) {
  take_batch();
}

void Listener::take_batch() {
  for (int i = 0; i < kBatch; ++i) {
    if (running_short_ && only_reserved_descriptors_left(descriptor_)) return wait_for_resources();
    const int taken = ::accept4(descriptor_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (taken >= 0) {
      running_short_ =
          may_use_ == Descriptors::Unreserved && taken + kBatch >= first_reserved_descriptor();
      hand_over(taken);
      if (descriptor_ < 0) return;
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) break;
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return wait_for_resources();
    }
  }
  if (std::exchange(paused_, false)) wait();
}

void Listener::hand_over(int descriptor) {
  try {
    accepted_(descriptor);
  } catch (const std::exception& e) {
    // One connection less; accepting goes on.
    observability::log_error("an accepted connection could not be served", {{"what", e.what()}});
  }
}

void Listener::wait_for_resources() {
  if (const auto now = Clock::now(); now - last_warning_ >= kWarnEvery) {
    last_warning_ = now;
    observability::log_warn("out of file descriptors, accepting pauses", {});
  }
  if (!std::exchange(paused_, true)) thread_.poller().remove(descriptor_, *this);
  pause_.arm(kPause);
}

void Listener::close() {
  if (descriptor_ < 0) return;
  pause_.disarm();
  thread_.poller().forget(*this);
  ::close(std::exchange(descriptor_, -1));
}

std::uint16_t Listener::port() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

}  // namespace smg::net
