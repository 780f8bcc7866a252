#include "upstream/h2_hub.hpp"

#include <algorithm>

#include "upstream/h2_exchange.hpp"
#include "upstream/h2_upstream_connection.hpp"
#include <smg/upstream/connect_worker.hpp>

namespace smg::upstream {

H2Hub::H2Hub(net::IoThread& home, net::TlsClient& tls, Origin origin, PoolSettings settings)
    : home_(home), tls_(tls), origin_(std::move(origin)), settings_(settings) {}

H2Hub::~H2Hub() = default;

void H2Hub::run_at_home(std::function<void()> work) {
  if (net::IoThread::current() == &home_) {
    work();
  } else {
    home_.post(std::move(work));
  }
}

H2UpstreamConnection* H2Hub::with_room() noexcept {
  for (auto& connection : connections_) {
    if (connection->has_room()) return connection.get();
  }
  return nullptr;
}

/// A further connection is opened only when those there are full by the worker's own limit.
bool H2Hub::may_open_another() const noexcept {
  if (opening_) return false;
  for (const auto& connection : connections_) {
    if (connection->has_room()) return false;
    if (!connection->is_full() && !connection->is_draining()) return false;
  }
  return true;
}

void H2Hub::start(const H2LinkPtr& link) {
  if (link->reset_by_us) return;
  if (H2UpstreamConnection* connection = with_room()) {
    connection->start(link);
    return;
  }
  waiting_.push_back(link);
  if (may_open_another()) open_connection();
}

void H2Hub::body_added(const H2LinkPtr& link) {
  if (link->connection != nullptr) {
    link->connection->body_added(link);
  } else if (link->reset_by_us && link->tell_when_sent) {
    link->tell_when_sent = false;
    deliver({link, H2StreamEvent::Kind::BodySent});
  }
}

void H2Hub::consumed(const H2LinkPtr& link, std::uint64_t bytes) {
  if (link->connection != nullptr) link->connection->consumed(link, bytes);
}

void H2Hub::cancel(const H2LinkPtr& link) {
  link->reset_by_us = true;
  if (link->connection != nullptr) {
    link->connection->cancel(link);
    return;
  }
  std::erase(waiting_, link);
  // Nobody is left to connect for.
  if (waiting_.empty() && connecting_ != nullptr) connecting_->abort();
  link->body.clear();
  if (std::exchange(link->tell_when_sent, false)) deliver({link, H2StreamEvent::Kind::BodySent});
}

void H2Hub::deliver(H2StreamEvent event) {
  net::IoThread& target = event.link->exchange_side;
  const auto shared = std::make_shared<H2StreamEvent>(std::move(event));
  target.post([shared] {
    if (shared->link->exchange != nullptr) shared->link->exchange->take(std::move(*shared));
  });
}

void H2Hub::count_open() noexcept {
  open_.store(connections_.size(), std::memory_order_relaxed);
}

void H2Hub::count_in_use(std::ptrdiff_t change) noexcept {
  in_use_.store(in_use_.load(std::memory_order_relaxed) + static_cast<std::size_t>(change),
                std::memory_order_relaxed);
}

ConnectionTotals H2Hub::totals() const noexcept {
  const std::size_t in_use = in_use_.load(std::memory_order_relaxed);
  const std::size_t open = open_.load(std::memory_order_relaxed);
  return {open - std::min(in_use, open), in_use};
}

void H2Hub::open_connection() {
  opening_ = true;
  home_.tasks().spawn(connect(shared_from_this()));
}

net::Task<> H2Hub::connect(std::shared_ptr<H2Hub> self) {
  net::AbortSwitch abort;
  connecting_ = &abort;
  auto connected =
      co_await connect_worker(home_, tls_, origin_, Offer::Http2, settings_.connect_timeout, abort);
  connecting_ = nullptr;
  opening_ = false;
  // It was given up for want of requests, and one has come since.
  if (!connected && abort.aborted() && !waiting_.empty()) co_return open_connection();
  if (!connected) {
    // While another connection serves, what waits may wait for it; one that drains takes nothing.
    const bool none_serves = std::ranges::all_of(
        connections_, [](const auto& connection) { return connection->is_draining(); });
    if (none_serves) fail_waiting(connected.error());
    co_return;
  }
  if (retired_ && waiting_.empty()) co_return;
  connections_.push_back(
      std::make_unique<H2UpstreamConnection>(*this, std::move(connected->stream)));
  count_open();
  capacity_changed();
  // A retired hub still serves what was on its way to it, and no more.
  if (retired_) retire();
}

void H2Hub::fail_waiting(const GatewayError& error) {
  for (const H2LinkPtr& link : std::exchange(waiting_, {})) {
    link->reset_by_us = true;
    H2StreamEvent event{link, H2StreamEvent::Kind::Failed};
    event.error = error;
    deliver(std::move(event));
    if (std::exchange(link->tell_when_sent, false)) deliver({link, H2StreamEvent::Kind::BodySent});
  }
}

void H2Hub::capacity_changed() {
  while (!waiting_.empty()) {
    H2UpstreamConnection* connection = with_room();
    if (connection == nullptr) break;
    const H2LinkPtr link = std::move(waiting_.front());
    waiting_.pop_front();
    connection->start(link);
  }
  if (!waiting_.empty() && may_open_another()) open_connection();
}

void H2Hub::connection_ended(H2UpstreamConnection& connection) {
  for (auto it = connections_.begin(); it != connections_.end(); ++it) {
    if (it->get() != &connection) continue;
    // Runs below a callback of the connection: it goes once that has returned.
    home_.post([ended = std::shared_ptr<H2UpstreamConnection>(std::move(*it)),
                self = shared_from_this()] {});
    connections_.erase(it);
    count_open();
    break;
  }
  capacity_changed();
}

void H2Hub::retire() {
  retired_ = true;
  if (waiting_.empty() && connecting_ != nullptr) connecting_->abort();
  // Draining may end a connection, and take it off the list.
  std::vector<H2UpstreamConnection*> all;
  for (auto& connection : connections_) all.push_back(connection.get());
  for (H2UpstreamConnection* connection : all) connection->drain();
}

}  // namespace smg::upstream
