#include <future>
#include <set>

#include "control/call_pauses.hpp"
#include "control/kubernetes_client.hpp"
#include "control/pod_fleet.hpp"
#include "control/worker_spec.hpp"
#include <smg/control/service_discovery.hpp>
#include <smg/control/worker_registry.hpp>
#include <smg/observability/log.hpp>
#include <smg/observability/metrics.hpp>

namespace smg::control {
namespace {

/// The API server ends each watch after a time between these; at random, so that the watches of
/// many gateways do not end together.
constexpr std::chrono::seconds kShortestWatch(240);
constexpr std::chrono::seconds kLongestWatch(300);
/// A watch that has lasted for this long was worth its while, even if nothing happened. More than
/// it takes to give up connecting.
constexpr net::Duration kLongEnough = std::chrono::seconds(15);
/// Also without news: a worker that was removed for its health, or by hand, is wanted again.
constexpr net::Duration kPeriod = std::chrono::seconds(5);
constexpr net::Duration kShortPeriod = std::chrono::milliseconds(250);
constexpr int kMostPages = 1000;
constexpr int kGone = 410;

std::chrono::seconds watch_length(double draw) {
  const auto spread = static_cast<double>((kLongestWatch - kShortestWatch).count());
  return kShortestWatch + std::chrono::seconds(static_cast<std::int64_t>(spread * draw));
}

GatewayError failed(std::string why) {
  return fail(ErrorCode::UpstreamBodyFailed, std::move(why));
}

}  // namespace

/// All of it runs on the own thread, but for the constructor, `start` and `stop`.
class ServiceDiscovery::Session {
 public:
  Session(const config::Discovery& settings, observability::Metrics& metrics,
          WorkerRegistry& registry)
      : metrics_(metrics.discovery()),
        registry_(registry),
        client_(settings, threads_),
        reader_(settings),
        scope_(threads_[0]),
        news_(threads_[0].executor()),
        tasks_(threads_[0].executor()) {}

  void start();
  void stop();

 private:
  [[nodiscard]] net::Task<> follow_pods();
  [[nodiscard]] net::Task<Result<>> list();
  [[nodiscard]] net::Task<Result<>> watch();
  [[nodiscard]] bool take_event(std::string_view line, std::optional<GatewayError>& error);
  [[nodiscard]] GatewayError refusal(const upstream::FetchedResponse& response);
  void report(std::string_view call, const GatewayError& error);

  [[nodiscard]] net::Task<> keep_fleet();
  [[nodiscard]] bool adjust_fleet();
  [[nodiscard]] bool add(const DiscoveryPlan::Registration& registration);
  void report_refusal(const std::string& url, const ControlError& error);

  observability::DiscoveryMetrics& metrics_;
  WorkerRegistry& registry_;
  net::IoThreads threads_{1, "smg-pods-"};
  KubernetesClient client_;
  PodReader reader_;
  PodFleet fleet_;
  CancelScope scope_;
  net::Gate news_;  ///< of the pods
  net::TaskGroup tasks_;
  std::string version_;            ///< the next watch goes on from there; empty: a list is due
  std::uint64_t events_ = 0;       ///< of the present watch
  bool listed_ = false;            ///< `fleet_` knows all pods
  std::string last_failure_;       ///< reported
  std::set<std::string> refused_;  ///< URLs that the registry does not take
  bool started_ = false;
};

void ServiceDiscovery::Session::start() {
  started_ = true;
  threads_.start();
  threads_[0].post([this] {
    tasks_.spawn(follow_pods());
    tasks_.spawn(keep_fleet());
  });
}

void ServiceDiscovery::Session::stop() {
  if (!std::exchange(started_, false)) return;
  std::promise<void> idle;
  threads_[0].post([&] {
    scope_.cancel();
    news_.open();
    tasks_.when_idle([&] {
      client_.close();
      // Behind what that has posted.
      threads_[0].post([&idle] { idle.set_value(); });
    });
  });
  idle.get_future().wait();
  threads_.stop();
}

// ---- what the API server says -------------------------------------------------------------------

net::Task<> ServiceDiscovery::Session::follow_pods() {
  CallPauses pauses;
  while (!scope_.cancelled()) {
    const bool lists = version_.empty();
    const auto began = net::Clock::now();
    Result<> ended;
    events_ = 0;
    if (lists) {
      ended = co_await list();
    } else {
      ended = co_await watch();
    }
    if (scope_.cancelled()) co_return;
    if (!ended) report(lists ? "list" : "watch", ended.error());
    // A list alone is no success: without a watch behind it there would be one after the other.
    if (lists && ended) continue;
    const bool worth_it = events_ > 0 || (!lists && net::Clock::now() - began >= kLongEnough);
    const auto pause = pauses.after(ended.has_value(), worth_it, relay::random_draw());
    if (pause > net::Duration::zero()) co_await scope_.sleep(pause);
  }
}

net::Task<Result<>> ServiceDiscovery::Session::list() {
  std::vector<Pod> pods;
  std::string next;
  for (int pages = 0; pages < kMostPages; ++pages) {
    auto response = co_await client_.list(scope_, next);
    if (!response) co_return response.error();
    if (response->status != 200) co_return refusal(*response);
    auto page = reader_.read_page(response->body);
    if (!page) co_return page.error();
    std::move(page->pods.begin(), page->pods.end(), std::back_inserter(pods));
    next = std::move(page->next);
    if (!next.empty()) continue;
    observability::log_info("pods listed", {{"pods", pods.size()}, {"version", page->version}});
    fleet_.replace(std::move(pods));
    version_ = std::move(page->version);
    listed_ = true;
    last_failure_.clear();
    news_.open();
    co_return Result<>();
  }
  co_return failed("The list of pods has no end");
}

net::Task<Result<>> ServiceDiscovery::Session::watch() {
  std::optional<GatewayError> error;
  auto response = co_await client_.watch(
      scope_, version_, watch_length(relay::random_draw()),
      [this, &error](std::string_view line) { return take_event(line, error); });
  // From an error that the API server tells of, no watch goes on.
  if (error || (response && response->status == kGone)) version_.clear();
  if (error) co_return *error;
  if (!response) co_return response.error();
  if (response->status != 200) co_return refusal(*response);
  co_return Result<>();
}

bool ServiceDiscovery::Session::take_event(std::string_view line,
                                           std::optional<GatewayError>& error) {
  auto event = reader_.read_event(line);
  if (!event) {
    error = event.error();
    return false;
  }
  if (event->kind == PodEvent::Kind::Error) {
    error = failed("status " + std::to_string(event->code) + ": " + event->message);
    return false;
  }
  ++events_;
  last_failure_.clear();
  version_ = event->version;
  if (fleet_.apply(*event)) news_.open();
  return true;
}

GatewayError ServiceDiscovery::Session::refusal(const upstream::FetchedResponse& response) {
  return failed("status " + std::to_string(response.status) + ": " +
                reader_.read_refusal(response.body));
}

/// The same failure again and again is told of once.
void ServiceDiscovery::Session::report(std::string_view call, const GatewayError& error) {
  metrics_.count_failure(call);
  const bool again = error.message == last_failure_;
  last_failure_ = error.message;
  observability::log(again ? observability::LogLevel::Debug : observability::LogLevel::Warn,
                     "the API server cannot be asked for pods",
                     {{"call", call}, {"reason", error.message}});
}

// ---- what becomes of it -------------------------------------------------------------------------

net::Task<> ServiceDiscovery::Session::keep_fleet() {
  while (!scope_.cancelled()) {
    const bool finished = !listed_ || adjust_fleet();
    co_await net::sleep_or_wake(threads_[0], news_, finished ? kPeriod : kShortPeriod);
  }
}

/// False: not everything could be done now.
bool ServiceDiscovery::Session::adjust_fleet() {
  const auto began = net::Clock::now();
  const auto wanted = fleet_.workers();
  const auto plan = plan_discovery(wanted, registry_.pod_workers());
  metrics_.set_workers(wanted.size());
  std::erase_if(refused_, [&](const std::string& url) { return !wanted.contains(url); });
  std::size_t removed = 0;
  for (const auto& worker : plan.removals) {
    if (!registry_.remove(worker.id)) continue;
    metrics_.count_deregistration();
    ++removed;
  }
  std::size_t added = 0;
  bool finished = !plan.unfinished;
  for (const auto& registration : plan.registrations) {
    const bool accepted = add(registration);
    added += accepted ? 1 : 0;
    finished = finished && (accepted || refused_.contains(registration.url));
  }
  if (added + removed > 0) {
    metrics_.observe_sync(net::Clock::now() - began);
    observability::log_info("the fleet follows its pods",
                            {{"workers", wanted.size()}, {"added", added}, {"removed", removed}});
  }
  return finished;
}

/// False: not accepted, for good if the URL is in `refused_`.
bool ServiceDiscovery::Session::add(const DiscoveryPlan::Registration& registration) {
  auto url = config::parse_worker_url(registration.url);
  if (!url) return false;
  WorkerSpec spec;
  spec.url = std::move(*url);
  spec.pod = registration.pod;
  const auto accepted = registration.id.empty()
                            ? registry_.add(std::move(spec))
                            : registry_.replace(registration.id, std::move(spec));
  if (accepted) {
    refused_.erase(registration.url);
    metrics_.count_registration("success");
    return true;
  }
  // A full queue, and another change of the same worker, are over soon.
  const auto& error = accepted.error();
  if (error.status != 503 && registration.id.empty()) report_refusal(registration.url, error);
  return false;
}

void ServiceDiscovery::Session::report_refusal(const std::string& url, const ControlError& error) {
  if (!refused_.insert(url).second) return;
  metrics_.count_registration(error.status == 409 ? "duplicate" : "failed");
  observability::log_warn("a pod's worker cannot be added",
                          {{"worker", url}, {"reason", error.message}});
}

// ---- the outside --------------------------------------------------------------------------------

ServiceDiscovery::ServiceDiscovery(const config::Discovery& settings,
                                   observability::Metrics& metrics, WorkerRegistry& registry)
    : session_(settings.enabled ? std::make_unique<Session>(settings, metrics, registry)
                                : nullptr) {}

ServiceDiscovery::~ServiceDiscovery() = default;

void ServiceDiscovery::start() {
  if (session_) session_->start();
}

void ServiceDiscovery::stop() {
  if (session_) session_->stop();
}

}  // namespace smg::control
