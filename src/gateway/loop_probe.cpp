#include "gateway/loop_probe.hpp"

namespace smg::gateway {
namespace {

constexpr std::chrono::seconds kInterval{1};

}  // namespace

LoopProbe::LoopProbe(net::IoThread& own, net::IoThreads& probed, observability::Metrics& metrics)
    : probed_(probed), metrics_(metrics), next_(own.deadlines(), [this] { ask(); }) {
  for (std::size_t i = 0; i < probed.size(); ++i) {
    asked_.push_back(std::make_shared<std::atomic<bool>>(false));
  }
}

void LoopProbe::start() {
  next_.arm(kInterval);
}

void LoopProbe::ask() {
  next_.arm(kInterval);
  for (std::size_t i = 0; i < probed_.size(); ++i) {
    // A loop that is stuck is asked once, and answers with all of its delay.
    if (asked_[i]->exchange(true)) continue;
    probed_[i].post([asked = asked_[i], &metrics = metrics_, index = probed_[i].index(),
                     since = net::Clock::now()] {
      metrics.observe_loop_delay(index, net::Clock::now() - since);
      asked->store(false);
    });
  }
}

}  // namespace smg::gateway
