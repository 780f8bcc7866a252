#include "gateway/client_server.hpp"

#include <future>

#include <smg/observability/log.hpp>

namespace smg::gateway {
namespace {

/// Runs `work` on a loop and waits for its end.
void run_on(net::IoThread& thread, const std::function<void()>& work) {
  std::promise<void> done;
  thread.post([&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

std::unique_ptr<net::TlsServer> make_tls(const config::Listen& settings) {
  if (settings.tls_cert_path.empty()) return nullptr;
  return std::make_unique<net::TlsServer>(
      net::TlsServerSettings{settings.tls_cert_path, settings.tls_key_path});
}

}  // namespace

ClientServer::ClientServer(net::IoThreads& threads, const config::Listen& settings,
                           http::RequestHandler& handler)
    : threads_(threads),
      tls_(make_tls(settings)),
      listener_(threads[0], settings.host, settings.port) {
  for (std::size_t i = 0; i < threads.size(); ++i) {
    shards_.push_back(
        std::make_unique<http::ServerShard>(threads[i], settings, handler, tls_.get()));
  }
}

void ClientServer::reload_tls() noexcept {
  if (!tls_) return;
  try {
    tls_->reload();
    observability::log_info("TLS certificate reloaded", {});
  } catch (const std::exception& e) {
    observability::log_error("the TLS certificate was not reloaded, the old one stays",
                             {{"reason", e.what()}});
  }
}

void ClientServer::start() {
  listener_.start([this](int descriptor) { hand_over(descriptor); });
}

void ClientServer::hand_over(int descriptor) {
  std::size_t least = 0;
  for (std::size_t i = 1; i < shards_.size(); ++i) {
    if (shards_[i]->connections() < shards_[least]->connections()) least = i;
  }
  http::ServerShard& shard = *shards_[least];
  shard.expect_one();
  if (least == 0) {
    shard.take(descriptor);
  } else {
    threads_[least].post([&shard, descriptor] { shard.take(descriptor); });
  }
}

void ClientServer::close_listener() {
  run_on(threads_[0], [this] { listener_.close(); });
}

void ClientServer::drain() {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    run_on(threads_[i], [&shard = *shards_[i]] { shard.drain(); });
  }
}

bool ClientServer::wait_until_idle(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  const auto is_idle = [](const auto& shard) { return shard->connections() == 0; };
  while (!std::all_of(shards_.begin(), shards_.end(), is_idle)) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

void ClientServer::abort_all() {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    run_on(threads_[i], [&shard = *shards_[i]] { shard.abort_all(); });
  }
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    std::promise<void> ended;
    threads_[i].post(
        [&shard = *shards_[i], &ended] { shard.when_ended([&ended] { ended.set_value(); }); });
    ended.get_future().wait();
  }
}

}  // namespace smg::gateway
