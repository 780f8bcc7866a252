#include <memory>

#include "http/h1_server_connection.hpp"
#include "micro/allocations.hpp"
#include "micro/chat_stream.hpp"

namespace smg::bench {
namespace {

using net::IoResult;

/// A client without a socket that takes all or nothing.
class Client final : public net::ByteStream {
 public:
  bool takes = true;
  net::StreamObserver* observer = nullptr;

  void observe(net::StreamObserver* by) noexcept override { observer = by; }
  IoResult read(std::span<char>) noexcept override { return {IoResult::Status::WouldBlock}; }
  IoResult write(std::span<const iovec> from) noexcept override {
    if (!takes) return {IoResult::Status::WouldBlock};
    std::size_t bytes = 0;
    for (const iovec& piece : from) bytes += piece.iov_len;
    return {IoResult::Status::Done, bytes};
  }
  void await_readable() override {}
  void await_writable() override {}
  void await_end() override {}
  bool quiet() noexcept override { return true; }
  bool peer_ended() noexcept override { return false; }
  bool has_undelivered() noexcept override { return false; }
  void shutdown_write() noexcept override {}
  void close() noexcept override {}
  void reset_on_close() noexcept override {}
  int release() noexcept override { return -1; }
};

/// A connection in the middle of a chunked response.
struct Exchange {
  Exchange() {
    connection.write_head({200, {}}, http::BodyLength::chunked());
    connection.flush();
  }

  net::IoThread thread{0};
  config::Listen settings;
  Client* client = new Client;
  http::H1ServerConnection connection{thread, settings, std::unique_ptr<net::ByteStream>(client)};
};

/// An event for a client that keeps up: chunked coding is put around it, and nothing is kept.
void write_chunk(benchmark::State& state) {
  const std::string event = chat_event(" word");
  Exchange exchange;
  const CountAllocations count(state);
  for (auto _ : state) {
    exchange.connection.write_body(event, false);
    auto full = exchange.connection.queue_full();
    benchmark::DoNotOptimize(full);
  }
}
BENCHMARK(write_chunk);

/// A client that takes nothing until the queue of 32 chunks is full, and then everything.
void fill_and_empty_queue(benchmark::State& state) {
  const std::string chunk(static_cast<std::size_t>(state.range()), 'x');
  Exchange exchange;
  const CountAllocations count(state);
  for (auto _ : state) {
    exchange.client->takes = false;
    while (!exchange.connection.queue_full()) exchange.connection.write_body(chunk, false);
    exchange.client->takes = true;
    exchange.client->observer->on_writable();
  }
  report_bytes(state, chunk.size() * http::ClientExchange::kMaxQueuedChunks);
}
BENCHMARK(fill_and_empty_queue)->ArgName("chunk")->Arg(100)->Arg(4096);

}  // namespace
}  // namespace smg::bench
