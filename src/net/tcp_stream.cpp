#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/descriptor_reserve.hpp"
#include "net/loopback.hpp"
#include <smg/net/pipe.hpp>
#include <smg/net/tcp_stream.hpp>

namespace smg::net {
namespace {

void set_no_delay(int descriptor) noexcept {
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

IoResult outcome(ssize_t n) noexcept {
  if (n >= 0) return {IoResult::Status::Done, static_cast<std::size_t>(n), 0};
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {IoResult::Status::WouldBlock, 0, 0};
  return {IoResult::Status::Failed, 0, errno};
}

std::size_t size_of(std::span<const iovec> pieces) noexcept {
  std::size_t size = 0;
  for (const iovec& piece : pieces) size += piece.iov_len;
  return size;
}

/// Remembers the edges that the poller reports: what is known not to be possible is not tried, and
/// asking for readiness costs nothing.
class TcpStream final : public ByteStream, private Watched {
 public:
  /// Takes over the descriptor. `connected`: not still connecting.
  TcpStream(IoThread& thread, int descriptor, bool connected) noexcept
      : poller_(thread.poller()), descriptor_(descriptor), writable_(connected) {}

  ~TcpStream() override {
    if (destroyed_ != nullptr) *destroyed_ = true;
    close();
  }

  /// False: the poller does not take the descriptor.
  [[nodiscard]] bool watch() noexcept {
    return poller_.add(descriptor_, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, *this);
  }

  void observe(StreamObserver* observer) noexcept override { observer_ = observer; }

  IoResult read(std::span<char> into) noexcept override {
    if (!readable_) return {IoResult::Status::WouldBlock, 0, 0};
    ssize_t n = 0;
    do {
      n = ::recv(descriptor_, into.data(), into.size(), 0);
    } while (n < 0 && errno == EINTR);
    if (n == 0 && !into.empty()) return {IoResult::Status::End, 0, 0};
    const IoResult result = outcome(n);
    // A read that is not full took all there was; only an end or a failure may stand behind it.
    if (result.status == IoResult::Status::WouldBlock ||
        (result.bytes < into.size() && !ending_ && result.status == IoResult::Status::Done)) {
      readable_ = false;
    }
    return result;
  }

  IoResult write(std::span<const iovec> from) noexcept override { return send(from, 0); }

  bool can_splice() const noexcept override { return true; }

  IoResult splice_into(Pipe& pipe, std::size_t most) noexcept override {
    if (!readable_) return {IoResult::Status::WouldBlock, 0, 0};
    const ssize_t n = splice(descriptor_, pipe.write_end(), most);
    if (n == 0 && most > 0) return {IoResult::Status::End, 0, 0};
    const IoResult result = outcome(n);
    // A short one may be the pipe's limit: only this says that the socket is empty.
    if (result.status == IoResult::Status::WouldBlock) readable_ = false;
    return result;
  }

  IoResult splice_from(Pipe& pipe, std::size_t bytes) noexcept override {
    if (!writable_) return {IoResult::Status::WouldBlock, 0, 0};
    const IoResult result = outcome(splice(pipe.read_end(), descriptor_, bytes));
    if (result.status == IoResult::Status::WouldBlock) writable_ = false;
    return result;
  }

  IoResult write_before_splice(std::span<const iovec> from) noexcept override {
    return send(from, MSG_MORE);
  }

  void await_readable() override {
    read_awaited_ = true;
    if (readable_) tell_later();
  }

  void await_writable() override {
    write_awaited_ = true;
    if (writable_) tell_later();
  }

  void await_end() override {
    end_awaited_ = true;
    if (ending_) tell_later();
  }

  bool quiet() noexcept override {
    char byte = 0;
    const ssize_t n = ::recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    // The poller may not have said so yet; and a read that was just full had left it open.
    readable_ = n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    return !readable_;
  }

  bool was_quiet() noexcept override {
    const bool told = readable_ || ending_ || poller_.has_news_of(*this);
    return (!told && poller_.looked_just_now()) || quiet();
  }

  bool peer_ended() noexcept override { return ending_; }

  bool has_undelivered() noexcept override {
    int bytes = 0;
    return ::ioctl(descriptor_, SIOCOUTQ, &bytes) == 0 && bytes > 0;
  }

  void shutdown_write() noexcept override { ::shutdown(descriptor_, SHUT_WR); }

  void close() noexcept override {
    observer_ = nullptr;
    if (descriptor_ < 0) return;
    poller_.forget(*this);
    ::close(std::exchange(descriptor_, -1));
  }

  void reset_on_close() noexcept override {
    const linger at_once{1, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }

  int release() noexcept override {
    observer_ = nullptr;
    if (descriptor_ >= 0) poller_.remove(descriptor_, *this);
    return std::exchange(descriptor_, -1);
  }

  /// 0, or the errno value with which the attempt to connect ended.
  [[nodiscard]] int connect_failure() const noexcept {
    int failure = 0;
    socklen_t size = sizeof failure;
    ::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &failure, &size);
    return failure;
  }

 private:
  IoResult send(std::span<const iovec> from, int flags) noexcept {
    if (!writable_) return {IoResult::Status::WouldBlock, 0, 0};
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(from.data());
    message.msg_iovlen = from.size();
    ssize_t n = 0;
    do {
      n = ::sendmsg(descriptor_, &message, MSG_NOSIGNAL | flags);
    } while (n < 0 && errno == EINTR);
    const IoResult result = outcome(n);
    if (result.status == IoResult::Status::WouldBlock ||
        (result.status == IoResult::Status::Done && result.bytes < size_of(from))) {
      writable_ = false;
    }
    return result;
  }

  /// More always follows: a chunk's end at least. A closed peer gives EPIPE, for SIGPIPE is blocked
  /// on io threads.
  static ssize_t splice(int from, int to, std::size_t bytes) noexcept {
    ssize_t n = 0;
    do {
      n = ::splice(from, nullptr, to, nullptr, bytes,
                   SPLICE_F_MOVE | SPLICE_F_NONBLOCK | SPLICE_F_MORE);
    } while (n < 0 && errno == EINTR);
    return n;
  }

  void on_events(std::uint32_t events) override {
    constexpr std::uint32_t kFailed = EPOLLERR | EPOLLHUP;
    if ((events & (kFailed | EPOLLRDHUP)) != 0) ending_ = true;
    if ((events & (kFailed | EPOLLRDHUP | EPOLLIN)) != 0) readable_ = true;
    if ((events & (kFailed | EPOLLOUT)) != 0) writable_ = true;
    if (events == 0) told_later_ = false;
    if (writable_ && std::exchange(write_awaited_, false) && !tell_writable()) return;
    const bool read_due = readable_ && read_awaited_;
    const bool end_due = ending_ && end_awaited_;
    if (!read_due && !end_due) return;
    if (read_due) read_awaited_ = false;
    if (end_due) end_awaited_ = false;
    if (observer_ != nullptr) observer_->on_readable();
  }

  /// False: the observer destroyed this stream.
  bool tell_writable() {
    if (observer_ == nullptr) return true;
    bool destroyed = false;
    destroyed_ = &destroyed;
    struct Told {
      TcpStream& stream;
      const bool& destroyed;
      ~Told() {
        if (!destroyed) stream.destroyed_ = nullptr;
      }
    } const told{*this, destroyed};
    observer_->on_writable();
    return !destroyed;
  }

  /// What is possible already is told from the loop, never from within a method of the stream.
  void tell_later() {
    if (descriptor_ >= 0 && !std::exchange(told_later_, true)) poller_.defer(*this);
  }

  Poller& poller_;
  StreamObserver* observer_ = nullptr;
  bool* destroyed_ = nullptr;  ///< set while the observer is being told
  int descriptor_;
  bool readable_ = true;
  bool writable_;
  bool ending_ = false;  ///< an end or a failure is there, perhaps behind unread bytes
  bool read_awaited_ = false;
  bool write_awaited_ = false;
  bool end_awaited_ = false;
  bool told_later_ = false;
};

GatewayError connect_error(int failure) {
  switch (failure) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case EADDRNOTAVAIL:
      return fail(ErrorCode::LocalResources, "The gateway has run out of sockets");
    case ETIMEDOUT: return fail(ErrorCode::UpstreamTimeout, "Timed out connecting to the worker");
    default:
      return fail(ErrorCode::UpstreamConnect,
                  "Failed to connect to the worker: " + std::generic_category().message(failure));
  }
}

/// Wakes the connecting coroutine: for the socket, the resolver, a deadline or an abort.
struct ConnectAttempt final : StreamObserver {
  explicit ConnectAttempt(IoThread& on) : thread(on), gate(on.executor()) {}
  void on_readable() override {}
  void on_writable() override {
    answered = true;
    gate.open_and_resume();
  }
  void give_up() {
    given_up = true;
    gate.open();
  }

  IoThread& thread;
  Gate gate;
  bool answered = false;
  bool given_up = false;
};

Task<Result<std::vector<Endpoint>>> resolve(ConnectAttempt& attempt, const std::string& host,
                                            std::uint16_t port) {
  if (const auto literal = literal_endpoint(host, port)) co_return std::vector{*literal};
  // The answer may come when the attempt is long over.
  struct Reply {
    explicit Reply(ConnectAttempt& of) : asker(&of) {}
    ConnectAttempt* asker;
    std::optional<Result<std::vector<Endpoint>>> endpoints;
  };
  const auto reply = std::make_shared<Reply>(attempt);
  attempt.thread.resolver().resolve(host, port, [reply](Result<std::vector<Endpoint>> endpoints) {
    reply->endpoints = std::move(endpoints);
    if (reply->asker != nullptr) reply->asker->gate.open();
  });
  while (!reply->endpoints && !attempt.given_up) co_await attempt.gate.wait();
  reply->asker = nullptr;
  if (!reply->endpoints) co_return fail(ErrorCode::Aborted);
  co_return std::move(*reply->endpoints);
}

/// 0 with `stream` set, or an errno value.
Task<int> connect_one(ConnectAttempt& attempt, const Endpoint& endpoint,
                      std::unique_ptr<ByteStream>& connected) {
  const int descriptor =
      ::socket(endpoint.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) co_return errno;
  if (descriptor >= first_reserved_descriptor()) {
    ::close(descriptor);
    co_return EMFILE;
  }
  send_unpaced_over_loopback(descriptor, endpoint);
  const auto* address = reinterpret_cast<const sockaddr*>(&endpoint.address);
  const bool at_once = ::connect(descriptor, address, endpoint.size) == 0;
  const int why = at_once ? 0 : errno;
  auto stream = std::make_unique<TcpStream>(attempt.thread, descriptor, at_once);
  if (!at_once && why != EINPROGRESS) co_return why;
  set_no_delay(descriptor);
  if (!stream->watch()) co_return errno;
  if (!at_once) {
    stream->observe(&attempt);
    stream->await_writable();
    attempt.answered = false;
    while (!attempt.answered && !attempt.given_up) co_await attempt.gate.wait();
    stream->observe(nullptr);
    if (attempt.given_up) co_return ECANCELED;
    if (const int failure = stream->connect_failure(); failure != 0) co_return failure;
  }
  connected = std::move(stream);
  co_return 0;
}

/// Connects to the first endpoint that answers.
Task<Result<std::unique_ptr<ByteStream>>> connect_first(ConnectAttempt& attempt,
                                                        const std::vector<Endpoint>& endpoints) {
  int last = EHOSTUNREACH;
  std::unique_ptr<ByteStream> stream;
  for (const auto& endpoint : endpoints) {
    last = co_await connect_one(attempt, endpoint, stream);
    if (last == 0) co_return stream;
    if (attempt.given_up) break;
  }
  co_return connect_error(last);
}

}  // namespace

std::unique_ptr<ByteStream> adopt_tcp(IoThread& thread, int descriptor) {
  auto stream = std::make_unique<TcpStream>(thread, descriptor, true);
  if (!stream->watch()) return nullptr;
  return stream;
}

Task<Result<std::unique_ptr<ByteStream>>> connect_tcp(IoThread& thread, std::string host,
                                                      std::uint16_t port, Duration timeout,
                                                      AbortSwitch& abort) {
  if (abort.aborted()) co_return fail(ErrorCode::Aborted);
  ConnectAttempt attempt(thread);
  bool timed_out = false;
  Deadline deadline(thread.deadlines(), [&] {
    timed_out = true;
    attempt.give_up();
  });
  deadline.arm(timeout);
  abort.set([&attempt] { attempt.give_up(); });
  auto endpoints = co_await resolve(attempt, host, port);
  Result<std::unique_ptr<ByteStream>> connected = fail(ErrorCode::Aborted);
  if (!endpoints) {
    connected = endpoints.error();
  } else if (!attempt.given_up) {
    connected = co_await connect_first(attempt, *endpoints);
  }
  abort.clear();
  if (abort.aborted()) co_return fail(ErrorCode::Aborted);
  if (timed_out) {
    co_return fail(ErrorCode::UpstreamTimeout, "Timed out connecting to the worker");
  }
  co_return connected;
}

}  // namespace smg::net
