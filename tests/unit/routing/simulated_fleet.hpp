#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <smg/observability/metrics.hpp>
#include <smg/routing/selection.hpp>
#include <smg/routing/worker_table.hpp>

namespace smg::routing {

/// Workers without connections, all serving the model `m`, and a worker table of them.
class SimulatedFleet {
 public:
  /// Worker i has the URL http://10.0.0.{i+1}:8000 and the id `id-{i}`.
  explicit SimulatedFleet(std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) add(i);
    build(nullptr);
  }

  /// The same with a policy in charge, and so its ring.
  SimulatedFleet(std::size_t size, std::shared_ptr<Policy> policy) {
    for (std::size_t i = 0; i < size; ++i) add(i);
    build(std::move(policy));
  }

  [[nodiscard]] Worker& operator[](std::size_t i) const { return *workers_[i]; }
  [[nodiscard]] std::vector<Worker*> all() const { return without({}); }
  [[nodiscard]] std::vector<Worker*> without(const std::vector<std::size_t>& numbers) const {
    std::vector<Worker*> rest;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (std::find(numbers.begin(), numbers.end(), i) == numbers.end()) {
        rest.push_back(workers_[i].get());
      }
    }
    return rest;
  }

  /// The number of a worker, or -1 of none.
  [[nodiscard]] int number_of(const Worker* worker) const {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i].get() == worker) return static_cast<int>(i);
    }
    return -1;
  }

  /// From now on, `count` more requests are in flight at the worker.
  void add_load(std::size_t number, int count) {
    for (int i = 0; i < count; ++i) {
      in_flight_.push_back(std::make_unique<LoadGuard>(*workers_[number]));
    }
  }
  void end_requests() { in_flight_.clear(); }

  [[nodiscard]] const WorkerTable& table() const { return *table_; }
  [[nodiscard]] const ModelPool& pool() const { return *table_->find("m"); }

  /// By the whole way of a request; `avoid`: the serials of workers that have failed it.
  [[nodiscard]] Result<std::unique_ptr<Selection>> select(
      RoutingRequest request, TimePoint now = {}, std::span<const std::uint32_t> avoid = {}) const {
    return select_worker(*table_, pool(), request, avoid, now);
  }

 private:
  class FirstPolicy final : public Policy {
   public:
    Worker* pick(std::span<Worker* const> eligible, const RoutingRequest&) override {
      return eligible.front();
    }
    std::string_view name() const noexcept override { return "first"; }
  };

  void add(std::size_t i) {
    WorkerFacts facts;
    facts.id = "id-" + std::to_string(i);
    facts.url = "http://10.0.0." + std::to_string(i + 1) + ":8000";
    facts.models = {{"m", {}}};
    auto series = metrics_.open_worker_series(facts.url);
    workers_.push_back(std::make_shared<Worker>(std::move(facts), nullptr, std::move(series)));
    workers_.back()->set_status(WorkerStatus::Ready);
  }

  void build(std::shared_ptr<Policy> policy) {
    if (!policy) policy = std::make_shared<FirstPolicy>();
    std::map<std::string, ModelPool, std::less<>> pools;
    pools["m"] = ModelPool{"m", all(), policy};
    pools[""] = ModelPool{"", all(), policy};
    table_.emplace(workers_, std::move(pools), std::map<std::string, std::string, std::less<>>{});
  }

  observability::Metrics metrics_{{1.0}, "test"};
  std::vector<WorkerPtr> workers_;
  std::optional<WorkerTable> table_;
  std::vector<std::unique_ptr<LoadGuard>> in_flight_;
};

/// FNV-1a over the bytes given, to compare many placements at once.
class Checksum {
 public:
  void add(int byte) { value_ = (value_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3; }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

/// A moment, in seconds after an arbitrary one.
[[nodiscard]] inline TimePoint at_second(int seconds) {
  return TimePoint(std::chrono::hours(1)) + std::chrono::seconds(seconds);
}

}  // namespace smg::routing
