#include "net/tls_stream.hpp"

#include <cerrno>

#include <openssl/bio.h>
#include <openssl/err.h>

namespace smg::net {
namespace {

using Status = IoResult::Status;

constexpr std::size_t kRecordBytes = 16 * 1024;

/// Bytes in several places, taken from the front a record at a time.
class Pieces {
 public:
  explicit Pieces(std::span<const iovec> pieces) noexcept : pieces_(pieces) {}

  /// The next bytes, up to a record. Small pieces are gathered in `record` to share one.
  [[nodiscard]] std::span<const char> front(std::span<char, kRecordBytes> record) const noexcept {
    std::size_t size = 0;
    std::size_t skip = offset_;
    for (const iovec& piece : pieces_) {
      const std::span<const char> bytes(static_cast<const char*>(piece.iov_base) + skip,
                                        piece.iov_len - skip);
      skip = 0;
      if (size == 0 && bytes.size() >= record.size()) return bytes.first(record.size());
      const auto part = bytes.first(std::min(bytes.size(), record.size() - size));
      std::copy(part.begin(), part.end(), record.data() + size);
      size += part.size();
      if (size == record.size()) break;
    }
    return record.first(size);
  }

  void advance(std::size_t bytes) noexcept {
    offset_ += bytes;
    while (!pieces_.empty() && offset_ >= pieces_.front().iov_len) {
      offset_ -= pieces_.front().iov_len;
      pieces_ = pieces_.subspan(1);
    }
  }

 private:
  std::span<const iovec> pieces_;
  std::size_t offset_ = 0;
};

/// Waits for the stream to become ready, or for somebody to give up.
class HandshakeWaiter final : public StreamObserver {
 public:
  explicit HandshakeWaiter(Executor executor) : gate_(executor) {}
  void on_readable() override { gate_.open_and_resume(); }
  void on_writable() override { gate_.open_and_resume(); }
  void wake() { gate_.open(); }
  Task<> wait() { return gate_.wait(); }

 private:
  Gate gate_;
};

}  // namespace

std::string last_tls_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "connection closed";
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "TLS failure";
}

std::string alpn_list(std::span<const std::string> protocols) {
  std::string list;
  for (const std::string& protocol : protocols) {
    list += static_cast<char>(protocol.size());
    list += protocol;
  }
  return list;
}

std::string chosen_protocol(TlsStream& stream) {
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(&stream.ssl(), &chosen, &size);
  return {reinterpret_cast<const char*>(chosen), size};
}

Task<IoResult> shake_hands(IoThread& thread, TlsStream& stream, Duration timeout,
                           AbortSwitch& abort) {
  HandshakeWaiter waiter(thread.executor());
  stream.observe(&waiter);
  bool timed_out = false;
  Deadline deadline(thread.deadlines(), [&] {
    timed_out = true;
    waiter.wake();
  });
  deadline.arm(timeout);
  abort.set([&waiter] { waiter.wake(); });
  IoResult result{Status::WouldBlock};
  while (!timed_out && !abort.aborted()) {
    result = stream.handshake();
    if (result.status != Status::WouldBlock) break;
    stream.await_readable();
    co_await waiter.wait();
  }
  abort.clear();
  stream.observe(nullptr);
  co_return result;
}

TlsStream::TlsStream(IoThread& thread, SslPtr ssl, std::unique_ptr<ByteStream> below)
    : thread_(thread),
      below_(std::move(below)),
      ssl_(std::move(ssl)),
      self_(std::make_shared<TlsStream*>(this)) {
  BIO* bio = BIO_new(bio_method());
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                               SSL_MODE_RELEASE_BUFFERS);
  // As much as there is in one call, instead of each record's head and body by themselves.
  SSL_set_read_ahead(ssl_.get(), 1);
  below_->observe(this);
}

TlsStream::~TlsStream() {
  *self_ = nullptr;
}

void TlsStream::observe(StreamObserver* observer) noexcept {
  observer_ = observer;
}

// ---- what OpenSSL calls -------------------------------------------------------------------------

BIO_METHOD* TlsStream::bio_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "byte stream");
    BIO_meth_set_write(made, write_below);
    BIO_meth_set_read(made, read_below);
    BIO_meth_set_ctrl(made, control_below);
    return made;
  }();
  return method;
}

int TlsStream::write_below(BIO* bio, const char* bytes, int size) noexcept {
  auto& self = *static_cast<TlsStream*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const iovec piece{const_cast<char*>(bytes), static_cast<std::size_t>(size)};
  const IoResult sent = self.below_->write({&piece, 1});
  if (sent.status == Status::Done) return static_cast<int>(sent.bytes);
  if (sent.status == Status::WouldBlock) BIO_set_retry_write(bio);
  return -1;
}

int TlsStream::read_below(BIO* bio, char* into, int size) noexcept {
  auto& self = *static_cast<TlsStream*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const IoResult got = self.below_->read({into, static_cast<std::size_t>(size)});
  if (got.status == Status::Done) return static_cast<int>(got.bytes);
  if (got.status == Status::WouldBlock) BIO_set_retry_read(bio);
  self.below_ended_ = got.status == Status::End;
  return self.below_ended_ ? 0 : -1;
}

long TlsStream::control_below(BIO* bio, int command, long, void*) noexcept {
  if (command == BIO_CTRL_EOF) return static_cast<TlsStream*>(BIO_get_data(bio))->below_ended_;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

/// What an OpenSSL call that did not succeed means. The caller of a call that would block waits
/// for what it asked for itself; where OpenSSL wants the other thing, that is seen to here.
IoResult TlsStream::outcome(int code) noexcept {
  switch (SSL_get_error(ssl_.get(), code)) {
    case SSL_ERROR_WANT_READ: return {Status::WouldBlock};
    case SSL_ERROR_WANT_WRITE: below_->await_writable(); return {Status::WouldBlock};
    case SSL_ERROR_ZERO_RETURN: return {Status::End};
    default: break;
  }
  failed_ = true;
  // An end without a close_notify could be anybody's: it is a failure, not an end (RFC 8446 6.1).
  return {Status::Failed, 0, below_ended_ ? ECONNRESET : EPROTO};
}

// ---- ByteStream ---------------------------------------------------------------------------------

IoResult TlsStream::handshake() noexcept {
  if (failed_) return {Status::Failed, 0, EPROTO};
  ERR_clear_error();
  const int code = SSL_do_handshake(ssl_.get());
  starved_ = code != 1;
  return code == 1 ? IoResult{Status::Done} : outcome(code);
}

IoResult TlsStream::read(std::span<char> into) noexcept {
  if (failed_) return {Status::Failed, 0, EPROTO};
  std::size_t total = 0;
  do {
    ERR_clear_error();
    std::size_t bytes = 0;
    const auto room = into.subspan(total);
    const int code = SSL_read_ex(ssl_.get(), room.data(), room.size(), &bytes);
    starved_ = code != 1;
    if (code != 1) {
      const IoResult result = outcome(code);
      reads_by_writing_ = result.status == Status::WouldBlock && SSL_want_write(ssl_.get());
      // An end or a failure is met again by the next call.
      if (total == 0) return result;
      break;
    }
    total += bytes;
  } while (total < into.size() && holds_input());
  return {Status::Done, total};
}

IoResult TlsStream::write(std::span<const iovec> from) noexcept {
  if (failed_) return {Status::Failed, 0, EPIPE};
  char record[kRecordBytes];
  Pieces pieces(from);
  std::size_t taken = 0;
  for (auto next = pieces.front(record); !next.empty(); next = pieces.front(record)) {
    ERR_clear_error();
    std::size_t written = 0;
    const int code = SSL_write_ex(ssl_.get(), next.data(), next.size(), &written);
    if (code != 1) {
      const IoResult result = outcome(code);
      if (result.status != Status::WouldBlock) return {Status::Failed, 0, EPIPE};
      if (taken == 0) return result;
      break;
    }
    taken += written;
    pieces.advance(written);
  }
  return {Status::Done, taken};
}

/// Bytes from below are in OpenSSL's hands, and may be enough for a read.
bool TlsStream::holds_input() const noexcept {
  return !starved_ && SSL_has_pending(ssl_.get()) == 1;
}

void TlsStream::await_readable() {
  if (!holds_input()) return below_->await_readable();
  // The stream below would stay silent.
  thread_.post([self = self_] {
    if (*self != nullptr && (*self)->observer_ != nullptr) (*self)->observer_->on_readable();
  });
}

void TlsStream::await_writable() {
  below_->await_writable();
}

bool TlsStream::quiet() noexcept {
  if (failed_ || SSL_pending(ssl_.get()) != 0) return false;
  if (!holds_input() && below_->quiet()) return true;
  // It may be no more than a session ticket.
  char byte = 0;
  return read({&byte, 1}).status == Status::WouldBlock;
}

void TlsStream::shutdown_write() noexcept {
  ERR_clear_error();
  const int code = failed_ ? 1 : SSL_shutdown(ssl_.get());
  ending_ = code < 0 && outcome(code).status == Status::WouldBlock;
  if (!ending_) below_->shutdown_write();
}

void TlsStream::reset_on_close() noexcept {
  cut_ = true;
  below_->reset_on_close();
}

void TlsStream::close() noexcept {
  observer_ = nullptr;
  if (!failed_ && !cut_ && SSL_is_init_finished(ssl_.get()) == 1) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  below_->close();
}

void TlsStream::on_readable() {
  if (observer_ != nullptr) observer_->on_readable();
}

void TlsStream::on_writable() {
  if (ending_) shutdown_write();
  const auto self = self_;
  if (std::exchange(reads_by_writing_, false)) on_readable();
  // Whoever was told may have let the stream go.
  if (*self != nullptr && observer_ != nullptr) observer_->on_writable();
}

}  // namespace smg::net
