#include <cerrno>
#include <stdexcept>

#include <sys/socket.h>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <smg/net/listener.hpp>
#include <smg/observability/log.hpp>

namespace smg::net {

struct Listener::State : std::enable_shared_from_this<Listener::State> {
  explicit State(IoThread& thread) : acceptor(thread.executor()), pause(thread.executor()) {}

  asio::basic_socket_acceptor<asio::ip::tcp, Executor> acceptor;
  asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor> pause;
  Accepted accepted;

  /// Connections taken per wake-up: bounds the time away from the connections already there.
  static constexpr int kBatch = 10;
  static constexpr std::chrono::milliseconds kPause{100};
  static constexpr std::chrono::seconds kWarnEvery{10};
  TimePoint last_warning{};

  void wait() {
    acceptor.async_wait(asio::socket_base::wait_read,
                        [self = shared_from_this()](const boost::system::error_code& ec) {
                          if (!ec) self->take_batch();
                        });
  }

  void take_batch() {
    for (int i = 0; i < kBatch; ++i) {
      const int descriptor =
          ::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (descriptor >= 0) {
        hand_over(descriptor);
        if (!acceptor.is_open()) return;
        continue;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) break;
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        return wait_for_resources();
      }
    }
    wait();
  }

  void hand_over(int descriptor) {
    try {
      accepted(descriptor);
    } catch (const std::exception& e) {
      // One connection less; accepting goes on.
      observability::log_error("an accepted connection could not be served", {{"what", e.what()}});
    }
  }

  void wait_for_resources() {
    if (const auto now = Clock::now(); now - last_warning >= kWarnEvery) {
      last_warning = now;
      observability::log_warn("out of file descriptors, accepting pauses", {});
    }
    pause.expires_after(kPause);
    pause.async_wait([self = shared_from_this()](const boost::system::error_code& ec) {
      if (!ec && self->acceptor.is_open()) self->take_batch();
    });
  }
};

Listener::Listener(IoThread& thread, const std::string& host, std::uint16_t port)
    : state_(std::make_shared<State>(thread)) {
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  auto& acceptor = state_->acceptor;
  try {
    const auto address = asio::ip::make_address(bracketed ? host.substr(1, host.size() - 2) : host);
    const asio::ip::tcp::endpoint endpoint(address, port);
    acceptor.open(endpoint.protocol());
    acceptor.set_option(asio::socket_base::reuse_address(true));
    acceptor.bind(endpoint);
    acceptor.native_non_blocking(true);
    acceptor.listen(4096);
  } catch (const boost::system::system_error& e) {
    throw std::runtime_error("cannot listen on " + host + ":" + std::to_string(port) + ": " +
                             e.code().message());
  }
}

Listener::~Listener() {
  close();
}

void Listener::start(Accepted accepted) {
  state_->accepted = std::move(accepted);
  state_->wait();
}

void Listener::close() {
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
  state_->pause.cancel();
}

std::uint16_t Listener::port() const {
  return state_->acceptor.local_endpoint().port();
}

}  // namespace smg::net
