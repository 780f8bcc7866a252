#include "control/export_rule.hpp"
#include "control/otlp_json.hpp"
#include "control/trace_queue.hpp"
#include "control/worker_facts.hpp"
#include <smg/config/otlp_endpoint.hpp>
#include <smg/control/trace_exporter.hpp>
#include <smg/net/io_thread.hpp>
#include <smg/observability/log.hpp>
#include <smg/upstream/fetch.hpp>

namespace smg::control {
namespace {

using std::chrono::milliseconds;
using Batch = std::vector<observability::RequestTracePtr>;

/// In spans.
constexpr std::size_t kQueueCapacity = 8192;
constexpr std::size_t kBatchSpans = 512;
/// How long a span waits for others.
constexpr net::Duration kInterval = std::chrono::seconds(1);
constexpr net::Duration kTimeout = std::chrono::seconds(5);
constexpr std::size_t kResponseLimit = 64 * 1024;
/// Where collectors by default take OTLP over gRPC.
constexpr std::uint16_t kGrpcPort = 4317;

std::shared_ptr<upstream::HostPool> open_pool(net::IoThreads& threads, net::TlsClient& tls,
                                              const std::string& endpoint) {
  upstream::PoolSettings settings;
  settings.connect_timeout = std::chrono::duration_cast<config::Seconds>(kTimeout);
  return std::make_shared<upstream::HostPool>(
      threads, tls, origin_of(config::parse_otlp_endpoint(endpoint).value()), settings);
}

std::string reason_of(const Result<upstream::FetchedResponse>& response) {
  if (response) return "status " + std::to_string(response->status);
  const bool is_abort = response.error().code == ErrorCode::Aborted;
  return is_abort ? "no answer before the gateway's end" : response.error().message;
}

std::uint64_t spans_of(const Batch& batch) {
  std::uint64_t spans = 0;
  for (const auto& trace : batch) spans += trace->span_count();
  return spans;
}

}  // namespace

/// The exporter's thread and the coroutine on it. All but `submit`, `start` and `stop` is that
/// thread's.
class TraceExporter::Sender {
 public:
  Sender(const config::Tracing& settings, net::TlsClient& tls, observability::Metrics& metrics)
      : endpoint_(settings.otlp_endpoint),
        metrics_(metrics),
        threads_(1, "smg-traces-"),
        pool_(open_pool(threads_, tls, endpoint_)),
        wake_(home().executor()),
        hurry_(home().executor()),
        patience_over_(home().deadlines(), [this] { abort_.abort(); }) {
    metrics_.count_spans_exported(0);
    for (const auto reason : {"queue_full", "unreachable", "rejected", "shutdown"}) {
      metrics_.count_spans_dropped(reason, 0);
    }
  }

  void start();
  void submit(observability::RequestTracePtr trace);
  void count_lost(std::uint64_t spans) { metrics_.count_spans_dropped("queue_full", spans); }
  void stop(milliseconds patience);

 private:
  [[nodiscard]] net::IoThread& home() noexcept { return threads_[0]; }
  [[nodiscard]] net::Task<> run();
  [[nodiscard]] net::Task<> send_waiting();
  [[nodiscard]] net::Task<> send(Batch batch);
  [[nodiscard]] net::Task<ExportVerdict> post(std::string document, std::uint64_t spans);
  void leave(milliseconds patience);
  void note(bool delivered, std::string_view reason);

  const std::string endpoint_;
  observability::Metrics& metrics_;
  net::IoThreads threads_;
  const std::shared_ptr<upstream::HostPool> pool_;
  TraceQueue queue_{kQueueCapacity, kBatchSpans};
  net::Gate wake_;   ///< there is something to send
  net::Gate hurry_;  ///< no more pauses between failures
  net::AbortSwitch abort_;
  net::Deadline patience_over_;
  bool leaving_ = false;
  bool given_up_ = false;  ///< while leaving: the collector has failed
  bool failing_ = false;
  bool running_ = false;  ///< of `start` and `stop`
};

void TraceExporter::Sender::start() {
  running_ = true;
  if (pool_->origin().port == kGrpcPort) {
    observability::log_warn(
        "traces are sent as OTLP over HTTP, usually to port 4318, not over gRPC",
        {{"endpoint", endpoint_}});
  }
  threads_.start();
  home().post([this] { home().tasks().spawn(run()); });
}

void TraceExporter::Sender::submit(observability::RequestTracePtr trace) {
  const std::uint64_t spans = trace->span_count();
  switch (queue_.put(std::move(trace))) {
    case TraceQueue::Put::Queued: return;
    case TraceQueue::Put::BatchReady: return home().post([this] { wake_.open(); });
    case TraceQueue::Put::Full: return count_lost(spans);
  }
}

void TraceExporter::Sender::stop(milliseconds patience) {
  if (!std::exchange(running_, false)) return;
  net::run_until_idle(home(), [this, patience] { leave(patience); });
  pool_->retire();
  net::run_until_idle(home());
  threads_.stop();
}

void TraceExporter::Sender::leave(milliseconds patience) {
  leaving_ = true;
  if (patience > milliseconds(0)) {
    patience_over_.arm(patience);
  } else {
    abort_.abort();
  }
  wake_.open();
  hurry_.open();
}

net::Task<> TraceExporter::Sender::run() {
  while (!leaving_) {
    co_await net::sleep_or_wake(home(), wake_, kInterval);
    co_await send_waiting();
  }
  // What came while the last were sent.
  co_await send_waiting();
  patience_over_.disarm();
}

net::Task<> TraceExporter::Sender::send_waiting() {
  for (;;) {
    Batch batch = queue_.take();
    if (batch.empty()) co_return;
    if (given_up_) {
      metrics_.count_spans_dropped("shutdown", spans_of(batch));
    } else {
      co_await send(std::move(batch));
    }
  }
}

net::Task<> TraceExporter::Sender::send(Batch batch) {
  const std::uint64_t spans = spans_of(batch);
  const std::string document = encode_otlp(batch, SMG_VERSION);
  batch.clear();
  for (unsigned failures = 0;;) {
    const auto verdict = co_await post(document, spans);
    if (verdict == ExportVerdict::Accepted) co_return;
    if (verdict == ExportVerdict::Refused) {
      metrics_.count_spans_dropped("rejected", spans);
      co_return;
    }
    ++failures;
    if (leaving_ || failures == kMostExports) {
      given_up_ = leaving_;
      metrics_.count_spans_dropped(leaving_ ? "shutdown" : "unreachable", spans);
      co_return;
    }
    co_await net::sleep_or_wake(home(), hurry_, export_backoff(failures));
  }
}

/// Sends a batch once, and counts it if the collector takes it.
net::Task<ExportVerdict> TraceExporter::Sender::post(std::string document, std::uint64_t spans) {
  upstream::FetchRequest request;
  request.method = "POST";
  request.target = "/v1/traces";
  request.content_type = "application/json";
  request.body = std::move(document);
  const auto response =
      co_await upstream::fetch(home(), pool_, std::move(request), kTimeout, kResponseLimit, abort_);
  const auto verdict = judge_export(response);
  if (verdict == ExportVerdict::Accepted) {
    const auto rejected = std::min(spans, response ? rejected_spans(response->body) : 0);
    metrics_.count_spans_exported(spans - rejected);
    metrics_.count_spans_dropped("rejected", rejected);
    note(true, {});
  } else {
    note(false, reason_of(response));
  }
  co_return verdict;
}

/// Logs when it starts to fail and when it works again, not each failure.
void TraceExporter::Sender::note(bool delivered, std::string_view reason) {
  if (failing_ != delivered) return;
  failing_ = !delivered;
  if (delivered) {
    observability::log_info("traces reach the collector again", {{"endpoint", endpoint_}});
  } else {
    observability::log_warn("traces cannot be delivered",
                            {{"endpoint", endpoint_}, {"reason", reason}});
  }
}

TraceExporter::TraceExporter(const config::Tracing& settings, upstream::PoolDirectory& pools,
                             observability::Metrics& metrics) {
  if (settings.enabled) sender_ = std::make_unique<Sender>(settings, pools.tls(), metrics);
}

TraceExporter::~TraceExporter() {
  stop(milliseconds(0));
}

void TraceExporter::start() {
  if (sender_) sender_->start();
}

void TraceExporter::submit(observability::RequestTracePtr trace) noexcept {
  const std::uint64_t spans = trace->span_count();
  try {
    sender_->submit(std::move(trace));
  } catch (const std::exception&) {
    // No memory for the queue: the trace is lost, the request is not.
    sender_->count_lost(spans);
  }
}

void TraceExporter::stop(milliseconds patience) {
  if (sender_) sender_->stop(patience);
}

}  // namespace smg::control
