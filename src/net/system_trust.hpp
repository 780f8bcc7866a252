#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <openssl/ssl.h>

#include <smg/net/io_thread.hpp>

namespace smg::net {

/// The system's certificate authorities. They are put into a TLS context when the first connection
/// asks for them, by a thread of their own: to read them takes tens of milliseconds and some
/// megabytes, which a gateway without https:// workers does not pay.
class SystemTrust {
 public:
  SystemTrust() = default;
  /// Waits for the thread.
  ~SystemTrust();
  SystemTrust(const SystemTrust&) = delete;
  SystemTrust& operator=(const SystemTrust&) = delete;

  /// Whether `context` has them; nothing is verified by it before.
  [[nodiscard]] bool loaded() const noexcept { return loaded_.load(std::memory_order_acquire); }

  /// Waits until `context`, always the same, has them, or for `abort`.
  [[nodiscard]] Task<> load(SSL_CTX& context, IoThread& thread, AbortSwitch& abort);

 private:
  void read_into(SSL_CTX& context);

  std::atomic<bool> loaded_{false};
  std::mutex mutex_;
  std::vector<std::function<void()>> waiting_;
  std::thread reader_;
};

}  // namespace smg::net
