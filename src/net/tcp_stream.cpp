#include <cerrno>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <smg/net/tcp_stream.hpp>

namespace smg::net {
namespace {

using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable_t<Executor>{});

void set_no_delay(int descriptor) noexcept {
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

IoResult outcome(ssize_t n) noexcept {
  if (n >= 0) return {IoResult::Status::Done, static_cast<std::size_t>(n), 0};
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {IoResult::Status::WouldBlock, 0, 0};
  return {IoResult::Status::Failed, 0, errno};
}

/// What pending waits share with the stream: they may end after it is gone.
struct SocketState {
  explicit SocketState(Socket s) : socket(std::move(s)) {}
  Socket socket;
  StreamObserver* observer = nullptr;
  bool awaiting_read = false;
  bool awaiting_write = false;
  bool awaiting_failure = false;
};

class TcpStream final : public ByteStream {
 public:
  explicit TcpStream(Socket socket) : state_(std::make_shared<SocketState>(std::move(socket))) {
    boost::system::error_code ignored;
    state_->socket.native_non_blocking(true, ignored);
    set_no_delay(state_->socket.native_handle());
  }

  ~TcpStream() override { close(); }

  void observe(StreamObserver* observer) noexcept override { state_->observer = observer; }

  IoResult read(std::span<char> into) noexcept override {
    ssize_t n = 0;
    do {
      n = ::recv(state_->socket.native_handle(), into.data(), into.size(), 0);
    } while (n < 0 && errno == EINTR);
    if (n == 0 && !into.empty()) return {IoResult::Status::End, 0, 0};
    return outcome(n);
  }

  IoResult write(std::span<const iovec> from) noexcept override {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(from.data());
    message.msg_iovlen = from.size();
    ssize_t n = 0;
    do {
      n = ::sendmsg(state_->socket.native_handle(), &message, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return outcome(n);
  }

  void await_readable() override {
    if (std::exchange(state_->awaiting_read, true)) return;
    state_->socket.async_wait(Socket::wait_read,
                              [state = state_](const boost::system::error_code& ec) {
                                state->awaiting_read = false;
                                if (ec != asio::error::operation_aborted && state->observer) {
                                  state->observer->on_readable();
                                }
                              });
  }

  void await_writable() override {
    if (std::exchange(state_->awaiting_write, true)) return;
    state_->socket.async_wait(Socket::wait_write,
                              [state = state_](const boost::system::error_code& ec) {
                                state->awaiting_write = false;
                                if (ec != asio::error::operation_aborted && state->observer) {
                                  state->observer->on_writable();
                                }
                              });
  }

  void await_failure() override {
    if (std::exchange(state_->awaiting_failure, true)) return;
    state_->socket.async_wait(Socket::wait_error,
                              [state = state_](const boost::system::error_code& ec) {
                                state->awaiting_failure = false;
                                if (ec != asio::error::operation_aborted && state->observer) {
                                  state->observer->on_readable();
                                }
                              });
  }

  bool peer_closed() noexcept override {
    pollfd failure{state_->socket.native_handle(), 0, 0};
    if (::poll(&failure, 1, 0) == 1 && (failure.revents & (POLLERR | POLLHUP)) != 0) return true;
    char byte = 0;
    const ssize_t n = ::recv(state_->socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  }

  void shutdown_write() noexcept override { ::shutdown(state_->socket.native_handle(), SHUT_WR); }

  void close() noexcept override {
    state_->observer = nullptr;
    boost::system::error_code ignored;
    state_->socket.close(ignored);
  }

  void reset_on_close() noexcept override {
    const linger at_once{1, 0};
    ::setsockopt(state_->socket.native_handle(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }

  int release() noexcept override {
    state_->observer = nullptr;
    try {
      return state_->socket.release();
    } catch (const boost::system::system_error&) {
      return -1;
    }
  }

 private:
  std::shared_ptr<SocketState> state_;
};

GatewayError connect_error(const boost::system::error_code& ec) {
  switch (ec.value()) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case EADDRNOTAVAIL:
      return fail(ErrorCode::LocalResources, "The gateway has run out of sockets");
    case ETIMEDOUT: return fail(ErrorCode::UpstreamTimeout, "Timed out connecting to the worker");
    default:
      return fail(ErrorCode::UpstreamConnect, "Failed to connect to the worker: " + ec.message());
  }
}

/// Shared by the connecting coroutine and whatever may give it up: a deadline or an abort.
struct ConnectAttempt {
  explicit ConnectAttempt(IoThread& thread)
      : resolver(thread.executor()), socket(thread.executor()) {}
  asio::ip::basic_resolver<asio::ip::tcp, Executor> resolver;
  Socket socket;
  bool timed_out = false;
  bool given_up = false;

  void cancel() {
    given_up = true;
    boost::system::error_code ignored;
    resolver.cancel();
    socket.close(ignored);
  }
};

Task<Result<std::vector<asio::ip::tcp::endpoint>>> resolve(ConnectAttempt& attempt,
                                                           const std::string& host,
                                                           std::uint16_t port) {
  std::vector<asio::ip::tcp::endpoint> endpoints;
  boost::system::error_code not_literal;
  const auto address = asio::ip::make_address(host, not_literal);
  if (!not_literal) {
    endpoints.emplace_back(address, port);
    co_return endpoints;
  }
  const std::string service = std::to_string(port);
  auto [ec, found] = co_await attempt.resolver.async_resolve(
      host, service, asio::ip::resolver_base::numeric_service, kAwait);
  if (ec) {
    co_return fail(ErrorCode::UpstreamConnect,
                   "Failed to resolve the worker's host: " + ec.message());
  }
  for (const auto& entry : found) endpoints.push_back(entry.endpoint());
  co_return endpoints;
}

/// Connects to the first endpoint that answers.
Task<Result<>> connect_first(ConnectAttempt& attempt,
                             const std::vector<asio::ip::tcp::endpoint>& endpoints) {
  boost::system::error_code last = asio::error::host_not_found;
  for (const auto& endpoint : endpoints) {
    boost::system::error_code ec;
    attempt.socket.close(ec);
    attempt.socket.open(endpoint.protocol(), ec);
    if (ec) co_return connect_error(ec);
    auto [failed] = co_await attempt.socket.async_connect(endpoint, kAwait);
    if (!failed) co_return Result<>();
    last = failed;
    // Giving up may meet a failure already on its way: the next endpoint would be tried unguarded.
    if (attempt.given_up) break;
  }
  co_return connect_error(last);
}

}  // namespace

std::unique_ptr<ByteStream> adopt_tcp(IoThread& thread, int descriptor) {
  Socket socket(thread.executor());
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  boost::system::error_code ec;
  socket.assign(address.ss_family == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(),
                descriptor, ec);
  if (ec) {
    ::close(descriptor);
    return nullptr;
  }
  return std::make_unique<TcpStream>(std::move(socket));
}

Task<Result<std::unique_ptr<ByteStream>>> connect_tcp(IoThread& thread, std::string host,
                                                      std::uint16_t port, Duration timeout,
                                                      AbortSwitch& abort) {
  if (abort.aborted()) co_return fail(ErrorCode::Aborted);
  ConnectAttempt attempt(thread);
  Deadline deadline(thread.deadlines(), [&attempt] {
    attempt.timed_out = true;
    attempt.cancel();
  });
  deadline.arm(timeout);
  abort.set([&attempt] { attempt.cancel(); });
  auto endpoints = co_await resolve(attempt, host, port);
  Result<> connected = endpoints ? Result<>() : Result<>(endpoints.error());
  if (endpoints && !attempt.given_up) {
    connected = co_await connect_first(attempt, *endpoints);
  }
  abort.clear();
  if (abort.aborted()) co_return fail(ErrorCode::Aborted);
  if (attempt.timed_out) {
    co_return fail(ErrorCode::UpstreamTimeout, "Timed out connecting to the worker");
  }
  if (!connected) co_return connected.error();
  co_return std::unique_ptr<ByteStream>(std::make_unique<TcpStream>(std::move(attempt.socket)));
}

}  // namespace smg::net
