#include "net/tls_stream.hpp"

#include <cerrno>

#include <openssl/bio.h>
#include <openssl/err.h>

namespace smg::net {
namespace {

using Status = IoResult::Status;

constexpr std::size_t kRecordBytes = 16 * 1024;

}  // namespace

std::string last_tls_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "connection closed";
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "TLS failure";
}

TlsStream::TlsStream(IoThread& thread, SslPtr ssl, std::unique_ptr<ByteStream> below)
    : thread_(thread),
      ssl_(std::move(ssl)),
      below_(std::move(below)),
      self_(std::make_shared<TlsStream*>(this)) {
  SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                               SSL_MODE_RELEASE_BUFFERS);
  below_->observe(this);
}

TlsStream::~TlsStream() {
  *self_ = nullptr;
}

void TlsStream::observe(StreamObserver* observer) noexcept {
  observer_ = observer;
}

/// Brings ciphertext from below to OpenSSL.
IoResult TlsStream::fill() noexcept {
  if (below_ended_) return {Status::End};
  char buffer[kRecordBytes + 512];
  const IoResult got = below_->read(buffer);
  if (got.status == Status::Done) {
    BIO_write(SSL_get_rbio(ssl_.get()), buffer, static_cast<int>(got.bytes));
  } else if (got.status == Status::End) {
    below_ended_ = true;
  }
  return got;
}

/// Brings ciphertext from OpenSSL to the stream below. True: nothing is left.
bool TlsStream::flush() noexcept {
  for (;;) {
    if (outgoing_offset_ == outgoing_.size()) {
      outgoing_.clear();
      outgoing_offset_ = 0;
      BIO* bio = SSL_get_wbio(ssl_.get());
      const std::size_t pending = BIO_ctrl_pending(bio);
      if (pending == 0) return true;
      outgoing_.resize(pending);
      BIO_read(bio, outgoing_.data(), static_cast<int>(pending));
    }
    const iovec piece{outgoing_.data() + outgoing_offset_, outgoing_.size() - outgoing_offset_};
    const IoResult sent = below_->write({&piece, 1});
    if (sent.status == Status::WouldBlock) {
      below_->await_writable();
      return false;
    }
    if (sent.status == Status::Failed) {
      failed_ = true;
      return true;
    }
    outgoing_offset_ += sent.bytes;
  }
}

/// What an OpenSSL call that did not succeed means; `WouldBlock` asks for more from below.
IoResult TlsStream::failure(int code) noexcept {
  switch (SSL_get_error(ssl_.get(), code)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return {Status::WouldBlock};
    case SSL_ERROR_ZERO_RETURN: return {Status::End};
    default: failed_ = true; return {Status::Failed, 0, EPROTO};
  }
}

IoResult TlsStream::handshake() noexcept {
  for (;;) {
    ERR_clear_error();
    const int code = SSL_do_handshake(ssl_.get());
    static_cast<void>(flush());
    if (failed_) return {Status::Failed, 0, EPROTO};
    if (code == 1) return {Status::Done};
    const IoResult result = failure(code);
    if (result.status != Status::WouldBlock) return result;
    const IoResult filled = fill();
    if (filled.status != Status::Done) return filled;
  }
}

IoResult TlsStream::read(std::span<char> into) noexcept {
  for (;;) {
    if (failed_) return {Status::Failed, 0, EPROTO};
    ERR_clear_error();
    std::size_t bytes = 0;
    const int code = SSL_read_ex(ssl_.get(), into.data(), into.size(), &bytes);
    static_cast<void>(flush());
    if (code == 1) return {Status::Done, bytes};
    const IoResult result = failure(code);
    if (result.status != Status::WouldBlock) return result;
    const IoResult filled = fill();
    // An end without a close_notify could be anybody's: it is a failure, not an end (RFC 8446 6.1).
    if (filled.status == Status::End) return {Status::Failed, 0, ECONNRESET};
    if (filled.status != Status::Done) return filled;
  }
}

IoResult TlsStream::write(std::span<const iovec> from) noexcept {
  if (failed_) return {Status::Failed, 0, EPIPE};
  if (!flush()) return {Status::WouldBlock};
  char record[kRecordBytes];
  std::size_t taken = 0;
  std::size_t index = 0;
  std::size_t offset = 0;
  while (index < from.size() && !failed_) {
    // Small pieces share a record.
    std::size_t size = 0;
    while (index < from.size() && size < sizeof record) {
      const auto part = std::min(from[index].iov_len - offset, sizeof record - size);
      std::copy_n(static_cast<const char*>(from[index].iov_base) + offset, part, record + size);
      size += part;
      offset += part;
      if (offset == from[index].iov_len) {
        ++index;
        offset = 0;
      }
    }
    if (size == 0) break;
    ERR_clear_error();
    std::size_t written = 0;
    if (SSL_write_ex(ssl_.get(), record, size, &written) != 1) {
      failed_ = true;
      break;
    }
    taken += written;
    // What is encrypted counts as taken; no more is, while the stream below is full.
    if (!flush()) break;
  }
  if (failed_) return {Status::Failed, 0, EPIPE};
  return {Status::Done, taken};
}

void TlsStream::await_readable() {
  if (SSL_pending(ssl_.get()) == 0 && BIO_ctrl_pending(SSL_get_rbio(ssl_.get())) == 0) {
    below_->await_readable();
    return;
  }
  // Bytes are here already; the stream below would stay silent.
  thread_.post([self = self_] {
    if (*self != nullptr && (*self)->observer_ != nullptr) (*self)->observer_->on_readable();
  });
}

void TlsStream::await_writable() {
  below_->await_writable();
}

bool TlsStream::quiet() noexcept {
  if (failed_ || SSL_pending(ssl_.get()) != 0) return false;
  if (below_->quiet()) return true;
  // It may be no more than a session ticket.
  char byte = 0;
  return read({&byte, 1}).status == Status::WouldBlock;
}

bool TlsStream::peer_closed() noexcept {
  return SSL_pending(ssl_.get()) == 0 && below_->peer_closed();
}

void TlsStream::shutdown_write() noexcept {
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  if (flush()) below_->shutdown_write();
}

void TlsStream::close() noexcept {
  observer_ = nullptr;
  if (!failed_ && SSL_is_init_finished(ssl_.get()) == 1) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    static_cast<void>(flush());
  }
  below_->close();
}

void TlsStream::on_readable() {
  if (observer_ != nullptr) observer_->on_readable();
}

void TlsStream::on_writable() {
  if (!flush()) return;
  if (observer_ != nullptr) observer_->on_writable();
}

}  // namespace smg::net
