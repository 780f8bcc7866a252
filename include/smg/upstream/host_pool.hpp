#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <smg/config/gateway_config.hpp>
#include <smg/net/tls_client.hpp>
#include <smg/upstream/upstream_exchange.hpp>

namespace smg::upstream {

class H1UpstreamConnection;
class H2Hub;

/// The connection settings of a worker: the flags, with its `http_pool` block over them (the page,
/// "Connection Pools"). `timeout_secs` is a limit of each request and not of a connection.
struct PoolSettings {
  config::Seconds idle_timeout{3};  ///< 0: idle connections are kept for ever
  std::uint64_t max_idle = 500;     ///< idle connections kept per host
  config::Seconds connect_timeout{10};
  bool http2 = false;  ///< HTTP/2 with prior knowledge, chosen when the worker registered

  bool operator==(const PoolSettings&) const = default;
};

/// Where a worker listens.
struct Origin {
  std::string host;  ///< IPv6 literals without brackets
  std::uint16_t port = 80;
  std::string authority;  ///< the Host value: brackets as needed, port unless it is the default
  bool tls = false;       ///< an https:// worker

  bool operator==(const Origin&) const = default;
};

/// Connections that are open at a moment.
struct ConnectionTotals {
  std::size_t idle = 0;
  std::size_t in_use = 0;  ///< HTTP/2: by one stream or many

  ConnectionTotals& operator+=(const ConnectionTotals& other) noexcept {
    idle += other.idle;
    in_use += other.in_use;
    return *this;
  }
};

/// Whether an idle connection will do. Not for what is sent again: the worker that closed the one
/// it was sent on is likely to have closed the others.
enum class Reuse : bool { No, Yes };

/// The connections to one host under one set of settings, shared by all io threads. Of HTTP/1.1
/// connections each thread keeps its own idle ones and takes them without a lock; a thread that has
/// none left takes over one of another thread's before it opens a new one. HTTP/2 goes through an
/// H2Hub.
class HostPool : public std::enable_shared_from_this<HostPool> {
 public:
  /// `tls` is what https:// origins are spoken to with, and must outlive the pool.
  HostPool(net::IoThreads& threads, net::TlsClient& tls, Origin origin, PoolSettings settings);
  ~HostPool();
  HostPool(const HostPool&) = delete;
  HostPool& operator=(const HostPool&) = delete;

  /// An idle connection, or a new one. Errors: as of net::connect_tcp.
  [[nodiscard]] net::Task<Result<UpstreamExchangePtr>> open(net::IoThread& thread,
                                                            net::AbortSwitch& abort,
                                                            Reuse reuse = Reuse::Yes);

  /// As `open`, if it need not wait: an idle connection of this thread, or a stream; else null.
  [[nodiscard]] UpstreamExchangePtr try_open(net::IoThread& thread);

  /// Closes all idle connections, and the others behind their exchanges. From any thread.
  void retire();

  /// From any thread; its own threads go on meanwhile, so it is exact only while they are at rest.
  [[nodiscard]] ConnectionTotals totals() const noexcept;

  [[nodiscard]] bool retired() const noexcept { return retired_.load(std::memory_order_relaxed); }
  [[nodiscard]] const Origin& origin() const noexcept { return origin_; }
  [[nodiscard]] const PoolSettings& settings() const noexcept { return settings_; }

 private:
  friend class H1UpstreamConnection;
  using Connection = std::unique_ptr<H1UpstreamConnection>;

  /// The idle connections of one thread, the last used last. The counts are written by that thread
  /// alone, and read by others.
  struct alignas(64) Shard {
    std::vector<Connection> idle;
    std::atomic<std::size_t> count{0};
    std::atomic<std::size_t> open{0};  ///< connections of the thread, idle or not
  };

  [[nodiscard]] Connection take_idle(net::IoThread& thread);
  [[nodiscard]] net::Task<Connection> take_over(net::IoThread& thread, net::AbortSwitch& abort);
  void put_back(Connection connection);
  void drop_idle(H1UpstreamConnection& connection);
  void close_all_idle(net::IoThread& thread);
  void count_open(net::IoThread& thread, std::ptrdiff_t change) noexcept;
  [[nodiscard]] Connection remove(Shard& shard, std::size_t index);

  net::IoThreads& threads_;
  net::TlsClient& tls_;
  const Origin origin_;
  const PoolSettings settings_;
  std::vector<Shard> shards_;
  const std::shared_ptr<H2Hub> h2_;  ///< null with HTTP/1.1
  std::atomic<std::size_t> idle_total_{0};
  std::atomic<bool> retired_{false};
};

/// All pools, by host and settings: workers with the same of both share one.
class PoolDirectory {
 public:
  /// Throws std::runtime_error for TLS files that cannot be used.
  PoolDirectory(net::IoThreads& threads, const net::TlsClientSettings& tls)
      : threads_(threads), tls_(tls) {}

  /// The pool for these settings, made if there is none. From any thread.
  [[nodiscard]] std::shared_ptr<HostPool> find_or_create(const Origin& origin,
                                                         const PoolSettings& settings);

  /// What all pools have open to each host, by HTTP version; the pools of former settings, and of
  /// hosts that are no longer asked for, count for as long as something holds them.
  struct HostTotals {
    Origin origin;
    ConnectionTotals http1;
    ConnectionTotals http2;
  };
  [[nodiscard]] std::vector<HostTotals> totals() const;

  /// Retires every pool: for the end of the process.
  void retire_all();

  [[nodiscard]] net::TlsClient& tls() noexcept { return tls_; }

 private:
  net::IoThreads& threads_;
  net::TlsClient tls_;
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<HostPool>> pools_;
};

}  // namespace smg::upstream
