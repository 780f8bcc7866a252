#include "gateway/gateway.hpp"

#include <thread>

#include <smg/observability/log.hpp>

namespace smg::gateway {
namespace {

using std::chrono::milliseconds;

/// How long the last traces may take on their way, of the grace period.
constexpr milliseconds kTracePatience{1000};

unsigned thread_count(unsigned configured) {
  return configured != 0 ? configured : std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

Gateway::Gateway(const config::GatewayConfig& config)
    : config_(config),
      metrics_(config.observability.duration_buckets, SMG_VERSION),
      threads_(thread_count(config.listen.io_threads)),
      pools_(threads_, {config.upstream.ca_cert_paths, config.upstream.client_cert_path,
                        config.upstream.client_key_path}),
      fleet_(threads_),
      registry_(config, metrics_, threads_, pools_, fleet_),
      discovery_(config.discovery, metrics_, registry_),
      admin_(config, registry_),
      tokens_(config, threads_, pools_),
      traces_(config.tracing, pools_, metrics_),
      relay_(config, metrics_, fleet_),
      admission_(config.admission, threads_, metrics_),
      ages_(threads_),
      lifecycle_(config, metrics_, admission_, ages_, relay_, admin_, tokens_, traces_),
      server_(threads_, config.listen, lifecycle_),
      ops_(config, metrics_, threads_, admin_, [this] {
        registry_.show_metrics();
        ages_.show(metrics_);
      }) {}

Gateway::~Gateway() {
  discovery_.stop();
  ops_.stop();
  threads_.stop();
}

void Gateway::start() {
  server_.start();
  threads_.start();
  ops_.start();
  registry_.start();
  discovery_.start();
  tokens_.start();
  traces_.start();
  observability::log_info("listening", {{"host", config_.listen.host},
                                        {"port", static_cast<std::uint64_t>(server_.port())},
                                        {"io_threads", static_cast<std::uint64_t>(threads_.size())},
                                        {"version", SMG_VERSION}});
}

/// Lets everything go on, so that load balancers can notice that this gateway is leaving.
void Gateway::settle(milliseconds length, const std::function<bool()>& hurry) {
  const auto end = std::chrono::steady_clock::now() + length;
  while (std::chrono::steady_clock::now() < end && !hurry()) {
    std::this_thread::sleep_for(milliseconds(5));
  }
}

void Gateway::shut_down(const std::function<bool()>& hurry) {
  const milliseconds grace = config_.listen.shutdown_grace_period;
  const milliseconds settling = std::min(grace / 2, milliseconds(5000));
  admin_.set_draining();
  observability::log_info("shutting down", {{"grace_ms", grace.count()}});
  settle(settling, hurry);
  server_.close_listener();
  server_.drain();
  const auto end = std::chrono::steady_clock::now() + (grace - settling);
  bool idle = server_.wait_until_idle(milliseconds(0));
  while (!idle && std::chrono::steady_clock::now() < end && !hurry()) {
    idle = server_.wait_until_idle(milliseconds(5));
  }
  if (!idle) observability::log_warn("the grace period is over, cutting off what still runs", {});
  server_.abort_all();
  stop_workers();
  if (!hurry()) {
    traces_.stop(
        std::clamp(std::chrono::duration_cast<milliseconds>(end - std::chrono::steady_clock::now()),
                   milliseconds(0), kTracePatience));
  }
  ops_.stop();
}

void Gateway::stop_workers() {
  discovery_.stop();
  net::run_until_idle(threads_[0], [this] {
    threads_[0].tasks().spawn(registry_.stop());
    threads_[0].tasks().spawn(tokens_.stop());
  });
  pools_.retire_all();
  for (std::size_t i = 0; i < threads_.size(); ++i) net::run_until_idle(threads_[i]);
}

}  // namespace smg::gateway
