#include "http/h1_server_connection.hpp"
#include "http/h2_server_connection.hpp"
#include <smg/http/server_shard.hpp>
#include <smg/net/tcp_stream.hpp>

namespace smg::http {
namespace {

constexpr std::chrono::seconds kHandshakeTimeout{10};

}  // namespace

ServerShard::ServerShard(net::IoThread& thread, const config::Listen& settings,
                         RequestHandler& handler, net::TlsServer* tls)
    : thread_(thread),
      settings_(settings),
      handler_(handler),
      tls_(tls),
      tasks_(thread.executor()) {}

ServerShard::~ServerShard() = default;

void ServerShard::take(int descriptor) {
  auto stream = net::adopt_tcp(thread_, descriptor);
  if (!stream) {
    count_.fetch_sub(1, std::memory_order_relaxed);
  } else if (tls_ != nullptr) {
    tasks_.spawn(shake_hands(std::move(stream)));
  } else {
    start(std::move(stream));
  }
}

void ServerShard::start(std::unique_ptr<net::ByteStream> stream) {
  auto connection = std::make_unique<H1ServerConnection>(thread_, settings_, std::move(stream));
  if (draining_) connection->drain();
  H1ServerConnection& first = *connection;
  connections_.push_front(std::move(connection));
  tasks_.spawn(serve(connections_.begin(), first));
}

/// A handshake under way, and the count of its connection for as long as nothing else has it.
class ServerShard::Handshake {
 public:
  explicit Handshake(ServerShard& shard)
      : shard_(shard), place_(shard.handshakes_.emplace(shard.handshakes_.end())) {
    if (shard.draining_) place_->abort();
  }
  ~Handshake() {
    shard_.handshakes_.erase(place_);
    if (!succeeded_) shard_.count_.fetch_sub(1, std::memory_order_relaxed);
  }
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;

  [[nodiscard]] net::AbortSwitch& abort() noexcept { return *place_; }
  void succeed() noexcept { succeeded_ = true; }

 private:
  ServerShard& shard_;
  const std::list<net::AbortSwitch>::iterator place_;
  bool succeeded_ = false;
};

net::Task<> ServerShard::shake_hands(std::unique_ptr<net::ByteStream> stream) {
  Handshake handshake(*this);
  auto secured =
      co_await tls_->accept(thread_, std::move(stream), kHandshakeTimeout, handshake.abort());
  if (!secured || handshake.abort().aborted()) co_return;
  start(std::move(secured));
  handshake.succeed();
}

void ServerShard::give_up_handshakes() {
  for (auto& handshake : handshakes_) handshake.abort();
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
  give_up_handshakes();
  for (auto& connection : connections_) connection->drain();
}

void ServerShard::abort_all() {
  give_up_handshakes();
  for (auto& connection : connections_) connection->abort();
}

}  // namespace smg::http
