#include "http/h1_server_connection.hpp"
#include "http/h2_server_connection.hpp"
#include <smg/http/server_shard.hpp>
#include <smg/net/tcp_stream.hpp>

namespace smg::http {

ServerShard::ServerShard(net::IoThread& thread, const config::Listen& settings,
                         RequestHandler& handler)
    : thread_(thread), settings_(settings), handler_(handler), tasks_(thread.executor()) {}

ServerShard::~ServerShard() = default;

void ServerShard::take(int descriptor) {
  auto stream = net::adopt_tcp(thread_, descriptor);
  if (!stream) {
    count_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  auto connection = std::make_unique<H1ServerConnection>(thread_, settings_, std::move(stream));
  if (draining_) connection->drain();
  H1ServerConnection& first = *connection;
  connections_.push_front(std::move(connection));
  tasks_.spawn(serve(connections_.begin(), first));
}

/// Takes a connection off its shard, however its serving ends.
class ServerShard::Departure {
 public:
  Departure(ServerShard& shard, Connections::iterator connection)
      : shard_(shard), connection_(connection) {}
  ~Departure() {
    shard_.connections_.erase(connection_);
    shard_.count_.fetch_sub(1, std::memory_order_relaxed);
  }
  Departure(const Departure&) = delete;
  Departure& operator=(const Departure&) = delete;

 private:
  ServerShard& shard_;
  Connections::iterator connection_;
};

net::Task<> ServerShard::serve(Connections::iterator connection, H1ServerConnection& first) {
  const Departure departure(*this, connection);
  co_await first.serve(handler_);
  if (auto start = first.take_http2()) {
    *connection = std::make_unique<H2ServerConnection>(thread_, settings_, std::move(start->stream),
                                                       std::move(start->input));
    if (draining_) (*connection)->drain();
    co_await (*connection)->serve(handler_);
  }
}

void ServerShard::drain() {
  draining_ = true;
  for (auto& connection : connections_) connection->drain();
}

void ServerShard::abort_all() {
  for (auto& connection : connections_) connection->abort();
}

}  // namespace smg::http
