#pragma once

#include <memory>
#include <string>

#include <openssl/ssl.h>

#include <smg/net/byte_stream.hpp>
#include <smg/net/io_thread.hpp>

namespace smg::net {

struct FreeSsl {
  void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
};
using SslPtr = std::unique_ptr<SSL, FreeSsl>;

/// TLS over a byte stream. OpenSSL works on memory: ciphertext is moved here, as far as the stream
/// below reads and takes it, so that readiness means the same on both.
class TlsStream final : public ByteStream, private StreamObserver {
 public:
  /// `ssl` is set to connect or accept, and has no BIO yet.
  TlsStream(IoThread& thread, SslPtr ssl, std::unique_ptr<ByteStream> below);
  ~TlsStream() override;

  /// Goes on with the handshake. Done: it has succeeded. WouldBlock: call again behind
  /// `on_readable`.
  [[nodiscard]] IoResult handshake() noexcept;
  [[nodiscard]] SSL& ssl() noexcept { return *ssl_; }

  // ByteStream
  void observe(StreamObserver* observer) noexcept override;
  IoResult read(std::span<char> into) noexcept override;
  IoResult write(std::span<const iovec> from) noexcept override;
  void await_readable() override;
  void await_writable() override;
  void await_failure() override { below_->await_failure(); }
  void await_end() override { below_->await_end(); }
  bool quiet() noexcept override;
  bool peer_closed() noexcept override;
  bool peer_ended() noexcept override { return below_->peer_ended(); }
  void shutdown_write() noexcept override;
  void close() noexcept override;
  void reset_on_close() noexcept override { below_->reset_on_close(); }
  int release() noexcept override { return -1; }

 private:
  // StreamObserver
  void on_readable() override;
  void on_writable() override;

  [[nodiscard]] IoResult fill() noexcept;
  [[nodiscard]] bool flush() noexcept;
  [[nodiscard]] IoResult failure(int code) noexcept;

  IoThread& thread_;
  SslPtr ssl_;
  std::unique_ptr<ByteStream> below_;
  StreamObserver* observer_ = nullptr;
  std::string outgoing_;  ///< ciphertext that the stream below has not taken
  std::size_t outgoing_offset_ = 0;
  bool below_ended_ = false;
  bool failed_ = false;
  std::shared_ptr<TlsStream*> self_;  ///< for messages that may arrive behind the stream's end
};

/// The reason at the top of OpenSSL's error queue, which is emptied.
[[nodiscard]] std::string last_tls_error();

}  // namespace smg::net
