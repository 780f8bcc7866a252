#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <smg/observability/metrics.hpp>

namespace smg::observability {
namespace {

constexpr std::string_view kUrl = "http://10.0.0.1:8000";

[[nodiscard]] bool has_line(const std::string& exposition, const std::string& line) {
  return exposition.find("\n" + line + "\n") != std::string::npos;
}

[[nodiscard]] std::string gauge(const std::string& name, int value, std::string_view url = kUrl) {
  return "smg_worker_" + name + "{worker=\"" + std::string(url) + "\"} " + std::to_string(value);
}

class WorkerSeriesTest : public testing::Test {
 protected:
  [[nodiscard]] bool shows(const std::string& line) const {
    return has_line(metrics.exposition(), line);
  }
  [[nodiscard]] bool mentions(std::string_view text) const {
    return metrics.exposition().find(text) != std::string::npos;
  }

  Metrics metrics{{1}, "1"};
};

TEST_F(WorkerSeriesTest, GaugesAreThereFromTheStart) {
  const auto series = metrics.open_worker_series(kUrl);
  for (const char* name : {"requests_active", "health", "http2", "cb_state",
                           "cb_consecutive_failures", "cb_consecutive_successes"}) {
    EXPECT_TRUE(shows(gauge(name, 0))) << name;
    EXPECT_TRUE(mentions(std::string("# TYPE smg_worker_") + name + " gauge\n")) << name;
    EXPECT_TRUE(mentions(std::string("# HELP smg_worker_") + name + " ")) << name;
  }
  EXPECT_FALSE(mentions("smg_worker_cb_transitions_total"));
  EXPECT_FALSE(mentions("smg_worker_cb_outcomes_total"));
}

struct SetCase {
  const char* name;
  void (*set)(WorkerSeries&);
  std::string line;
};

TEST_F(WorkerSeriesTest, EachEventMovesItsSeries) {
  const std::string url(kUrl);
  const SetCase cases[] = {
      {"active", [](WorkerSeries& s) { s.request_began(); }, gauge("requests_active", 1)},
      {"ended", [](WorkerSeries& s) { s.request_ended(); }, gauge("requests_active", 0)},
      {"health", [](WorkerSeries& s) { s.set_health(true); }, gauge("health", 1)},
      {"http2", [](WorkerSeries& s) { s.set_http2(true); }, gauge("http2", 1)},
      {"open", [](WorkerSeries& s) { s.set_circuit_state(CircuitState::Open); },
       gauge("cb_state", 1)},
      {"half_open", [](WorkerSeries& s) { s.set_circuit_state(CircuitState::HalfOpen); },
       gauge("cb_state", 2)},
      {"failures", [](WorkerSeries& s) { s.set_consecutive_failures(7); },
       gauge("cb_consecutive_failures", 7)},
      {"successes", [](WorkerSeries& s) { s.set_consecutive_successes(8); },
       gauge("cb_consecutive_successes", 8)},
      {"transition",
       [](WorkerSeries& s) {
         s.count_circuit_transition(CircuitState::HalfOpen, CircuitState::Closed);
       },
       R"(smg_worker_cb_transitions_total{from="half_open",to="closed",worker=")" + url + "\"} 1"},
      {"success", [](WorkerSeries& s) { s.count_circuit_outcome(true); },
       R"(smg_worker_cb_outcomes_total{outcome="success",worker=")" + url + "\"} 1"},
      {"failure", [](WorkerSeries& s) { s.count_circuit_outcome(false); },
       R"(smg_worker_cb_outcomes_total{outcome="failure",worker=")" + url + "\"} 1"},
  };
  const auto series = metrics.open_worker_series(kUrl);
  for (const auto& c : cases) {
    EXPECT_FALSE(shows(c.line)) << c.name;
    c.set(*series);
    EXPECT_TRUE(shows(c.line)) << c.name;
  }
}

TEST_F(WorkerSeriesTest, RemovedWorkerLeavesNothingAndItsNeighbourAll) {
  const auto kept = metrics.open_worker_series("http://kept:1");
  auto gone = metrics.open_worker_series(kUrl);
  for (WorkerSeries* series : {kept.get(), gone.get()}) {
    series->count_circuit_outcome(true);
    series->count_circuit_transition(CircuitState::Closed, CircuitState::Open);
  }
  gone.reset();
  EXPECT_FALSE(mentions(kUrl));
  EXPECT_TRUE(shows(gauge("health", 0, "http://kept:1")));
  EXPECT_TRUE(shows(R"(smg_worker_cb_outcomes_total{outcome="success",worker="http://kept:1"} 1)"));
}

TEST_F(WorkerSeriesTest, LastWorkerTakesTheFamiliesAlong) {
  metrics.open_worker_series(kUrl)->count_circuit_outcome(true);
  EXPECT_FALSE(mentions("smg_worker_"));
}

TEST_F(WorkerSeriesTest, ReopenedWorkerStartsAfresh) {
  metrics.open_worker_series(kUrl)->set_health(true);
  const auto again = metrics.open_worker_series(kUrl);
  EXPECT_TRUE(shows(gauge("health", 0)));
}

TEST_F(WorkerSeriesTest, OverlappingHandlesShareTheSeries) {
  auto former = metrics.open_worker_series(kUrl);
  former->request_began();
  former->request_began();
  auto current = metrics.open_worker_series(kUrl);
  current->request_began();
  EXPECT_TRUE(shows(gauge("requests_active", 3)));

  current->set_health(true);
  former->set_health(false);  // its word no longer counts
  EXPECT_TRUE(shows(gauge("health", 1)));

  former.reset();  // two requests were never reported as ended
  EXPECT_TRUE(shows(gauge("requests_active", 1)));
  EXPECT_TRUE(shows(gauge("health", 1)));
  current.reset();
  EXPECT_FALSE(mentions(kUrl));
}

TEST_F(WorkerSeriesTest, OutcomesOfAHandleStayAsLongAsTheUrlDoes) {
  const std::string url(kUrl);
  const auto successes = [&](int value) {
    return R"(smg_worker_cb_outcomes_total{outcome="success",worker=")" + url + "\"} " +
           std::to_string(value);
  };
  auto former = metrics.open_worker_series(kUrl);
  former->count_circuit_outcome(true);
  former->count_circuit_outcome(true);
  auto current = metrics.open_worker_series(kUrl);
  former.reset();
  EXPECT_TRUE(shows(successes(2)));
  auto next = metrics.open_worker_series(kUrl);  // counts where the former handle did
  next->count_circuit_outcome(true);
  current->count_circuit_outcome(true);
  EXPECT_TRUE(shows(successes(4)));

  next.reset();
  current.reset();
  const auto again = metrics.open_worker_series(kUrl);
  EXPECT_FALSE(mentions("smg_worker_cb_outcomes_total"));
  again->count_circuit_outcome(true);
  EXPECT_TRUE(shows(successes(1)));
}

TEST_F(WorkerSeriesTest, RetiredWorkerIsShownWhileItHasRequestsInService) {
  const auto former = metrics.open_worker_series(kUrl);
  const auto current = metrics.open_worker_series(kUrl);
  former->request_began();
  former->retire();
  EXPECT_TRUE(shows(gauge("requests_active", 1))) << "another is not retired";
  current->retire();
  EXPECT_TRUE(shows(gauge("requests_active", 1)));
  former->request_ended();
  EXPECT_FALSE(mentions(kUrl));
}

TEST_F(WorkerSeriesTest, NothingBringsBackTheSeriesOfARetiredWorker) {
  const auto retired = metrics.open_worker_series(kUrl);
  retired->count_circuit_outcome(true);
  retired->count_circuit_transition(CircuitState::Closed, CircuitState::Open);
  retired->set_connections(UpstreamProtocol::Http1, {2, 3}, true);
  retired->retire();
  EXPECT_FALSE(mentions(kUrl));
  const auto use = [](WorkerSeries& series) {
    series.request_began();
    series.set_health(true);
    series.count_circuit_outcome(true);
    series.count_circuit_outcome(false);
    series.count_circuit_transition(CircuitState::Closed, CircuitState::Open);
    series.count_circuit_transition(CircuitState::Open, CircuitState::HalfOpen);
    series.set_connections(UpstreamProtocol::Http1, {2, 3}, true);
    series.set_connections(UpstreamProtocol::Http2, {2, 3}, true);
  };
  use(*retired);
  EXPECT_FALSE(mentions(kUrl));

  const auto again = metrics.open_worker_series(kUrl);
  EXPECT_TRUE(shows(gauge("health", 0)));
  EXPECT_FALSE(mentions("smg_worker_cb_outcomes_total"));
  use(*retired);
  EXPECT_TRUE(shows(gauge("requests_active", 0)));
  use(*again);
  EXPECT_TRUE(shows(gauge("requests_active", 1)));
}

TEST_F(WorkerSeriesTest, RequestsMayEndOnAnotherThread) {
  const auto series = metrics.open_worker_series(kUrl);
  for (int i = 0; i < 3; ++i) series->request_began();
  std::thread([&] { series->request_ended(); }).join();
  EXPECT_TRUE(shows(gauge("requests_active", 2)));
}

TEST_F(WorkerSeriesTest, OlderHandleSpeaksAgainWhenTheNewerHasGone) {
  const auto former = metrics.open_worker_series(kUrl);
  metrics.open_worker_series(kUrl).reset();
  former->set_health(true);
  EXPECT_TRUE(shows(gauge("health", 1)));
}

TEST(WorkerSeries, HandleMayOutliveTheMetrics) {
  auto metrics = std::make_unique<Metrics>(std::vector<double>{1}, "1");
  const auto series = metrics->open_worker_series(kUrl);
  metrics.reset();
  series->set_health(true);
  series->count_circuit_outcome(true);
}

TEST_F(WorkerSeriesTest, WorkersComeAndGoWhileOthersCount) {
  constexpr int kRounds = 300;
  const auto lasting = metrics.open_worker_series("http://lasting:1");
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([this, &lasting] {
      for (int i = 0; i < kRounds; ++i) {
        const auto passing = metrics.open_worker_series(kUrl);  // one URL for all threads
        passing->request_began();
        passing->set_health(true);
        passing->retire();
        passing->count_circuit_outcome(false);
        passing->count_circuit_transition(CircuitState::Closed, CircuitState::Open);
        lasting->count_circuit_outcome(true);
      }
    });
  }
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(mentions("http://lasting:1"));
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(mentions(kUrl));
  EXPECT_TRUE(
      shows(R"(smg_worker_cb_outcomes_total{outcome="success",worker="http://lasting:1"} 900)"));
}

TEST_F(WorkerSeriesTest, ConnectionsShowByProtocolAndGoWithTheWorker) {
  auto series = metrics.open_worker_series(kUrl);
  EXPECT_FALSE(mentions("smg_upstream_connections"));
  series->set_connections(UpstreamProtocol::Http1, {2, 3}, true);
  series->set_connections(UpstreamProtocol::Http2, {0, 0}, false);
  const std::string worker = "worker=\"" + std::string(kUrl) + "\"";
  const std::string http1 = "{protocol=\"http1\",";
  EXPECT_TRUE(shows("smg_upstream_connections" + http1 + "state=\"idle\"," + worker + "} 2"));
  EXPECT_TRUE(shows("smg_upstream_connections" + http1 + "state=\"in_use\"," + worker + "} 3"));
  EXPECT_TRUE(shows("smg_upstream_connections_open" + http1 + worker + "} 5"));
  EXPECT_FALSE(mentions("protocol=\"http2\"")) << "never had any";

  series->set_connections(UpstreamProtocol::Http2, {0, 1}, false);
  series->set_connections(UpstreamProtocol::Http2, {0, 0}, false);
  EXPECT_TRUE(shows("smg_upstream_connections_open{protocol=\"http2\"," + worker + "} 0"));
  series.reset();
  EXPECT_FALSE(mentions("smg_upstream_connections"));
}

}  // namespace
}  // namespace smg::observability
