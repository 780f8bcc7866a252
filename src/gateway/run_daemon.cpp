#include <malloc.h>
#include <signal.h>

#include "gateway/echo_worker.hpp"
#include "gateway/gateway.hpp"
#include "gateway/service_notify.hpp"
#include <smg/gateway/run_daemon.hpp>
#include <smg/observability/log.hpp>

namespace smg::gateway {
namespace {

/// Large bodies, and the chunks queued for slow clients, are mapped: they go back to the system
/// when they are freed, instead of growing the heap.
constexpr int kMapFromBytes = 64 * 1024;

sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

/// The signals that the main thread takes: besides those, the one to read files again. It ends
/// nothing, also where there is nothing to read.
sigset_t all_signals() {
  sigset_t signals = stop_signals();
  sigaddset(&signals, SIGHUP);
  return signals;
}

/// Whether a second SIGINT has come: an impatient user at a terminal. Further SIGTERMs change
/// nothing.
bool interrupted_again() {
  const sigset_t signals = stop_signals();
  const timespec now{0, 0};
  return sigtimedwait(&signals, nullptr, &now) == SIGINT;
}

void serve_until_told(const config::GatewayConfig& config) {
  Gateway gateway(config);
  gateway.start();
  notify_service_manager("READY=1");
  const sigset_t signals = all_signals();
  int which = SIGHUP;
  while (which == SIGHUP) {
    sigwait(&signals, &which);
    if (which == SIGHUP) gateway.reload();
  }
  notify_service_manager("STOPPING=1");
  bool hurried = false;
  gateway.shut_down([&] { return hurried = hurried || (which == SIGINT && interrupted_again()); });
}

}  // namespace

int run_daemon(const config::GatewayConfig& config, const DaemonOptions& options) {
  // No other thread runs yet. NOLINTNEXTLINE(concurrency-mt-unsafe)
  ::mallopt(M_MMAP_THRESHOLD, kMapFromBytes);
  ::signal(SIGPIPE, SIG_IGN);
  // Blocked before any thread starts, and taken by the main thread alone.
  const sigset_t signals = all_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  observability::init_logging(config.observability);
  config::GatewayConfig effective = config;
  std::unique_ptr<EchoBackend> echo;
  if (options.echo_backend) {
    echo = std::make_unique<EchoBackend>(2);
    effective.fleet.worker_urls = echo->urls();
  }
  serve_until_told(effective);
  echo.reset();
  observability::shutdown_logging();
  return 0;
}

}  // namespace smg::gateway
