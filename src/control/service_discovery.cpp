#include <algorithm>
#include <set>

#include "control/pod_follower.hpp"
#include "control/worker_spec.hpp"
#include <smg/control/service_discovery.hpp>
#include <smg/control/worker_registry.hpp>
#include <smg/observability/log.hpp>
#include <smg/observability/metrics.hpp>

namespace smg::control {
namespace {

/// Also without news: a worker that was removed for its health, or by hand, is wanted again.
constexpr net::Duration kPeriod = std::chrono::seconds(5);
constexpr net::Duration kShortPeriod = std::chrono::milliseconds(250);
}  // namespace

/// All of it runs on the own thread, but for the constructor, `start` and `stop`.
class ServiceDiscovery::Session {
 public:
  Session(const config::Discovery& settings, observability::Metrics& metrics,
          WorkerRegistry& registry)
      : metrics_(metrics.discovery()),
        registry_(registry),
        client_(settings, threads_),
        scope_(threads_[0]),
        news_(threads_[0].executor()) {
    using routing::WorkerRole;
    const PodSource source{settings, client_, metrics_, scope_, news_};
    for (const auto& [selector, role] :
         {std::pair{&settings.selector, WorkerRole::Regular},
          std::pair{&settings.prefill_selector, WorkerRole::Prefill},
          std::pair{&settings.decode_selector, WorkerRole::Decode}}) {
      if (!selector->empty()) {
        followers_.push_back(std::make_unique<PodFollower>(source, *selector, role));
      }
    }
  }

  void start();
  void stop();

 private:
  [[nodiscard]] net::Task<> keep_fleet();
  [[nodiscard]] std::map<std::string, PodFacts> wanted() const;
  [[nodiscard]] bool adjust_fleet();
  [[nodiscard]] bool add(const DiscoveryPlan::Registration& registration);
  void report_refusal(const std::string& url, const ControlError& error);

  observability::DiscoveryMetrics& metrics_;
  WorkerRegistry& registry_;
  net::IoThreads threads_{1, "smg-pods-"};
  KubernetesClient client_;
  CancelScope scope_;
  net::Gate news_;  ///< of the pods
  std::vector<std::unique_ptr<PodFollower>> followers_;
  std::set<std::string> refused_;  ///< URLs that the registry does not take
  bool started_ = false;
};

void ServiceDiscovery::Session::start() {
  started_ = true;
  threads_.start();
  threads_[0].post([this] {
    for (auto& follower : followers_) threads_[0].tasks().spawn(follower->run());
    threads_[0].tasks().spawn(keep_fleet());
  });
}

void ServiceDiscovery::Session::stop() {
  if (!std::exchange(started_, false)) return;
  net::run_until_idle(threads_[0], [this] {
    scope_.cancel();
    news_.open();
  });
  client_.close();
  net::run_until_idle(threads_[0]);
  threads_.stop();
}

// ---- what becomes of it -------------------------------------------------------------------------

net::Task<> ServiceDiscovery::Session::keep_fleet() {
  while (!scope_.cancelled()) {
    const bool finished = adjust_fleet();
    co_await net::sleep_or_wake(threads_[0], news_, finished ? kPeriod : kShortPeriod);
  }
}

/// Of a pod that several selectors find, the first has it.
std::map<std::string, PodFacts> ServiceDiscovery::Session::wanted() const {
  std::map<std::string, PodFacts> workers;
  for (const auto& follower : followers_) workers.merge(follower->fleet().workers());
  return workers;
}

/// False: not everything could be done now.
bool ServiceDiscovery::Session::adjust_fleet() {
  // A pod that changes from one selector's to another's must not be taken for one that has left.
  if (!std::ranges::all_of(followers_, [](const auto& f) { return f->listed(); })) return true;
  const auto began = net::Clock::now();
  const auto wanted = this->wanted();
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
  const PodFacts& pod = registration.pod;
  spec.role = pod.role;
  spec.bootstrap_port = pod.bootstrap_port;
  spec.kv_connector = pod.kv_connector;
  spec.kv_engine_id = pod.kv_engine_id;
  spec.pod = pod;
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
