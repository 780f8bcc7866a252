#include "net/system_trust.hpp"

#include <smg/net/thread.hpp>

namespace smg::net {

SystemTrust::~SystemTrust() {
  if (reader_.joinable()) reader_.join();
}

Task<> SystemTrust::load(SSL_CTX& context, IoThread& thread, AbortSwitch& abort) {
  // Shared with the reader, which may outlast one who waits no longer.
  const auto gate = std::make_shared<Gate>(thread.executor());
  {
    const std::lock_guard lock(mutex_);
    if (loaded()) co_return;
    waiting_.emplace_back([&thread, gate] { thread.post([gate] { gate->open_and_resume(); }); });
    if (!reader_.joinable()) {
      reader_ = start_thread("smg-trust", [this, &context] { read_into(context); });
    }
  }
  co_await wait_or_abort(*gate, abort);
}

void SystemTrust::read_into(SSL_CTX& context) {
  SSL_CTX_set_default_verify_paths(&context);
  const std::lock_guard lock(mutex_);
  loaded_.store(true, std::memory_order_release);
  for (const auto& wake : waiting_) wake();
  waiting_.clear();
}

}  // namespace smg::net
