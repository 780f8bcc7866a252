#pragma once

#include <functional>

#include <smg/http/client_exchange.hpp>

namespace smg::gateway {

/// A client that has sent a head and nothing else, and may leave.
class WaitingClient final : public http::ClientExchange {
 public:
  explicit WaitingClient(net::IoThread& thread) : thread_(thread) {}

  /// On the client's thread.
  void leave() {
    gone_ = true;
    if (on_gone_) std::exchange(on_gone_, nullptr)();
  }

  const http::RequestHead& head() const noexcept override { return head_; }
  net::IoThread& thread() noexcept override { return thread_; }
  net::Task<> arrival() override { co_return; }
  std::optional<Result<std::size_t>> try_read_body(std::span<char>) override {
    return fail(ErrorCode::Aborted);
  }
  bool body_ready() const noexcept override { return false; }
  bool body_ended() const noexcept override { return false; }
  void cancel_read() noexcept override {}
  void write_head(const http::ClientResponse&, http::BodyLength) override {}
  void flush() override {}
  void write_body(std::string_view, bool) override {}
  bool queue_full() const noexcept override { return false; }
  bool behind() const noexcept override { return false; }
  net::Task<bool> wait_for_room() override { co_return !gone_; }
  bool drained() const noexcept override { return !gone_; }
  net::Task<bool> wait_until_drained() override { co_return !gone_; }
  bool head_written() const noexcept override { return false; }
  bool gone() const noexcept override { return gone_; }
  void on_gone(std::function<void()> callback) override { on_gone_ = std::move(callback); }
  void abort() noexcept override { leave(); }
  std::uint64_t bytes_received() const noexcept override { return 0; }
  std::uint64_t bytes_sent() const noexcept override { return 0; }

 private:
  net::IoThread& thread_;
  http::RequestHead head_;
  std::function<void()> on_gone_;
  bool gone_ = false;
};

}  // namespace smg::gateway
