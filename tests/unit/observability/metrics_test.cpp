#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <smg/observability/metrics.hpp>

namespace smg::observability {
namespace {

using namespace std::chrono_literals;

const std::vector<double> kBounds{0.5, 2};

/// The lines of an exposition that are samples, by everything before the value.
[[nodiscard]] std::map<std::string, std::string> samples(const std::string& exposition) {
  std::map<std::string, std::string> found;
  std::istringstream lines(exposition);
  for (std::string line; std::getline(lines, line);) {
    const auto blank = line.rfind(' ');
    if (line.empty() || line[0] == '#') continue;
    EXPECT_TRUE(found.emplace(line.substr(0, blank), line.substr(blank + 1)).second) << line;
  }
  return found;
}

/// The families of an exposition: the names of its TYPE lines with their types.
[[nodiscard]] std::map<std::string, std::string> types(const std::string& exposition) {
  std::map<std::string, std::string> found;
  std::istringstream lines(exposition);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, keyword, name, type;
    words >> hash >> keyword >> name >> type;
    if (hash == "#" && keyword == "TYPE") found[name] = type;
  }
  return found;
}

/// The names of the labels of a sample, but for that of buckets.
[[nodiscard]] std::set<std::string> labels_of(const std::string& series) {
  static const std::regex kLabel(R"((\w+)=")");
  std::set<std::string> found;
  for (std::sregex_iterator match(series.begin(), series.end(), kLabel), end; match != end;
       ++match) {
    found.insert((*match)[1]);
  }
  found.erase("le");
  return found;
}

/// What `metrics` says of a family; fails the test if that is nothing.
[[nodiscard]] MetricFacts facts_of(const Metrics& metrics, const std::string& family) {
  for (const auto& facts : metrics.metrics()) {
    if (facts.name == family) return facts;
  }
  ADD_FAILURE() << "not described: " << family;
  return {};
}

struct EventCase {
  std::string name;
  std::function<void(Metrics&)> event;
  std::string family;
  std::string type;
  std::string series;
  std::string value;
};

void PrintTo(const EventCase& c, std::ostream* out) {
  *out << c.name;
}

class MetricsEvent : public testing::TestWithParam<EventCase> {};

TEST_P(MetricsEvent, MakesItsSeriesAtTheFirstSample) {
  const EventCase& c = GetParam();
  Metrics metrics(kBounds, "1");
  EXPECT_FALSE(types(metrics.exposition()).contains(c.family));
  c.event(metrics);
  const std::string exposition = metrics.exposition();
  EXPECT_EQ(types(exposition)[c.family], c.type);
  EXPECT_NE(exposition.find("# HELP " + c.family + " "), std::string::npos);
  const auto found = samples(exposition);
  ASSERT_TRUE(found.contains(c.series)) << exposition;
  EXPECT_EQ(found.at(c.series), c.value);

  const MetricFacts facts = facts_of(metrics, c.family);
  EXPECT_EQ(facts.type, c.type);
  EXPECT_EQ(std::set(facts.labels.begin(), facts.labels.end()), labels_of(c.series));
}

const RouterLabels kRouter{"m", "chat", true};
const std::string kBackend = R"(connection_mode="http",router_type="http",backend_type="regular")";

INSTANTIATE_TEST_SUITE_P(
    All, MetricsEvent,
    testing::Values(
        EventCase{"http_requests", [](Metrics& m) { m.count_http_request("GET", "/w/{id}"); },
                  "smg_http_requests_total", "counter",
                  R"(smg_http_requests_total{method="GET",path="/w/{id}"})", "1"},
        EventCase{"http_responses", [](Metrics& m) { m.count_http_response("/x", 404, ""); },
                  "smg_http_responses_total", "counter",
                  R"(smg_http_responses_total{error_code="",path="/x",status_code="404"})", "1"},
        EventCase{"http_durations", [](Metrics& m) { m.observe_http_duration("GET", "/x", 1s); },
                  "smg_http_request_duration_seconds", "histogram",
                  R"(smg_http_request_duration_seconds_bucket{method="GET",path="/x",le="2"})",
                  "1"},
        EventCase{"http_active",
                  [](Metrics& m) {
                    m.http_request_began();
                    m.http_request_began();
                    m.http_request_ended();
                  },
                  "smg_http_connections_active", "gauge", "smg_http_connections_active", "1"},
        EventCase{"router_requests", [](Metrics& m) { m.count_router_request(kRouter); },
                  "smg_router_requests_total", "counter",
                  "smg_router_requests_total{" + kBackend +
                      R"(,endpoint="chat",model="m",streaming="true"})",
                  "1"},
        EventCase{"router_durations", [](Metrics& m) { m.observe_router_duration(kRouter, 250ms); },
                  "smg_router_request_duration_seconds", "histogram",
                  "smg_router_request_duration_seconds_sum{" + kBackend +
                      R"(,endpoint="chat",model="m"})",
                  "0.25"},
        EventCase{
            "ttft", [](Metrics& m) { m.observe_ttft(kRouter, 3s); }, "smg_router_ttft_seconds",
            "histogram",
            "smg_router_ttft_seconds_bucket{" + kBackend + R"(,endpoint="chat",model="m",le="2"})",
            "0"},
        EventCase{"router_errors", [](Metrics& m) { m.count_router_error(kRouter, "timeout"); },
                  "smg_router_request_errors_total", "counter",
                  "smg_router_request_errors_total{" + kBackend +
                      R"(,endpoint="chat",error_type="timeout",model="m"})",
                  "1"},
        EventCase{"upstream_responses", [](Metrics& m) { m.count_upstream_response(502, "c"); },
                  "smg_router_upstream_responses_total", "counter",
                  R"(smg_router_upstream_responses_total{router_type="http",error_code="c",)"
                  R"(status_code="502"})",
                  "1"},
        EventCase{"body_paths", [](Metrics& m) { m.count_body_path("streamed", "r"); },
                  "smg_router_request_body_path_total", "counter",
                  R"(smg_router_request_body_path_total{path="streamed",reason="r"})", "1"},
        EventCase{"released_bytes",
                  [](Metrics& m) {
                    m.add_released_bytes(0);
                    EXPECT_FALSE(types(m.exposition())
                                     .contains("smg_router_request_buffers_released_early_"
                                               "bytes_total"));
                    m.add_released_bytes(1048576);
                    m.add_released_bytes(1);
                  },
                  "smg_router_request_buffers_released_early_bytes_total", "counter",
                  "smg_router_request_buffers_released_early_bytes_total", "1048577"},
        EventCase{"spans_exported", [](Metrics& m) { m.count_spans_exported(3); },
                  "smg_trace_spans_exported_total", "counter", "smg_trace_spans_exported_total",
                  "3"},
        EventCase{"spans_dropped", [](Metrics& m) { m.count_spans_dropped("queue_full", 2); },
                  "smg_trace_spans_dropped_total", "counter",
                  R"(smg_trace_spans_dropped_total{reason="queue_full"})", "2"},
        EventCase{"spans_shown", [](Metrics& m) { m.count_spans_dropped("shutdown", 0); },
                  "smg_trace_spans_dropped_total", "counter",
                  R"(smg_trace_spans_dropped_total{reason="shutdown"})", "0"},
        EventCase{"send_retries", [](Metrics& m) { m.count_send_retry(); },
                  "smg_router_upstream_send_retries_total", "counter",
                  R"(smg_router_upstream_send_retries_total{router_type="http"})", "1"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Worker, MetricsEvent,
    testing::Values(
        EventCase{"selections",
                  [](Metrics& m) { m.count_worker_selection("decode", "m", "random"); },
                  "smg_worker_selection_total", "counter",
                  R"(smg_worker_selection_total{connection_mode="http",model="m",)"
                  R"(policy="random",worker_type="decode"})",
                  "1"},
        EventCase{"worker_errors",
                  [](Metrics& m) { m.count_worker_error("regular", "backend_error"); },
                  "smg_worker_errors_total", "counter",
                  R"(smg_worker_errors_total{connection_mode="http",)"
                  R"(error_type="backend_error",worker_type="regular"})",
                  "1"},
        EventCase{"health_checks", [](Metrics& m) { m.count_health_check("regular", false); },
                  "smg_worker_health_checks_total", "counter",
                  R"(smg_worker_health_checks_total{result="failure",worker_type="regular"})", "1"},
        EventCase{"retries", [](Metrics& m) { m.count_retry("prefill", "chat"); },
                  "smg_worker_retries_total", "counter",
                  R"(smg_worker_retries_total{endpoint="chat",worker_type="prefill"})", "1"},
        EventCase{
            "retries_exhausted", [](Metrics& m) { m.count_retries_exhausted("regular", "chat"); },
            "smg_worker_retries_exhausted_total", "counter",
            R"(smg_worker_retries_exhausted_total{endpoint="chat",worker_type="regular"})", "1"},
        EventCase{"backoffs", [](Metrics& m) { m.observe_retry_backoff(2, 60ms); },
                  "smg_worker_retry_backoff_seconds", "histogram",
                  R"(smg_worker_retry_backoff_seconds_bucket{attempt="2",le="0.075"})", "1"},
        EventCase{"pool_sizes",
                  [](Metrics& m) {
                    m.set_worker_pool_size("regular", "m", 3);
                    m.set_worker_pool_size("regular", "m", 0);
                  },
                  "smg_worker_pool_size", "gauge",
                  R"(smg_worker_pool_size{connection_mode="http",model="m",worker_type="regular"})",
                  "0"},
        EventCase{"pd_ttft", [](Metrics& m) { m.observe_pd_ttft("m", "sglang", 60ms); },
                  "smg_pd_ttft_seconds", "histogram",
                  R"(smg_pd_ttft_seconds_sum{backend_type="pd",model="m",runtime="sglang"})",
                  "0.06"},
        EventCase{"pd_prefill", [](Metrics& m) { m.observe_pd_prefill("m", "vllm", 60ms); },
                  "smg_pd_prefill_duration_seconds", "histogram",
                  R"(smg_pd_prefill_duration_seconds_sum{backend_type="pd",model="m",)"
                  R"(runtime="vllm"})",
                  "0.06"},
        EventCase{"kv_transfers", [](Metrics& m) { m.count_kv_transfer("nixl"); },
                  "smg_pd_kv_connector_mode_total", "counter",
                  R"(smg_pd_kv_connector_mode_total{mode="nixl"})", "1"},
        EventCase{"kv_failures", [](Metrics& m) { m.count_kv_transfer_failure(); },
                  "smg_pd_kv_transfer_failures_total", "counter",
                  "smg_pd_kv_transfer_failures_total", "1"}),
    [](const auto& info) { return info.param.name; });

TEST(Metrics, NewRegistryHoldsOnlyTheProcessItself) {
  Metrics metrics(kBounds, "1.2.3");
  const auto found = samples(metrics.exposition());
  for (const auto& [series, value] : found) {
    EXPECT_TRUE(series.starts_with("process_") || series.starts_with("smg_process_") ||
                series.starts_with("smg_build_info"))
        << series;
  }
  EXPECT_EQ(found.at(R"(smg_build_info{version="1.2.3"})"), "1");
  EXPECT_GT(std::stod(found.at("smg_process_resident_bytes")), 4096.0);
}

TEST(Metrics, DescribesTheSeriesOfWorkersToo) {
  Metrics metrics(kBounds, "1");
  const auto worker = metrics.open_worker_series("http://w");
  worker->count_circuit_transition(CircuitState::Closed, CircuitState::Open);
  worker->count_circuit_outcome(true);
  worker->set_connections(UpstreamProtocol::Http1, {.idle = 1, .in_use = 1}, true);
  for (const auto& [series, value] : samples(metrics.exposition())) {
    const MetricFacts facts = facts_of(metrics, series.substr(0, series.find('{')));
    EXPECT_EQ(std::set(facts.labels.begin(), facts.labels.end()), labels_of(series)) << series;
  }
}

TEST(Metrics, EqualLabelsShareASeriesAndOthersDoNot) {
  Metrics metrics(kBounds, "1");
  // "a" "bc" and "ab" "c" differ, though joined they are the same text.
  for (int i = 0; i < 3; ++i) metrics.count_body_path("a", "bc");
  metrics.count_body_path("ab", "c");
  const auto found = samples(metrics.exposition());
  EXPECT_EQ(found.at(R"(smg_router_request_body_path_total{path="a",reason="bc"})"), "3");
  EXPECT_EQ(found.at(R"(smg_router_request_body_path_total{path="ab",reason="c"})"), "1");
}

TEST(Metrics, FamiliesGrowPastTheirFirstTable) {
  Metrics metrics(kBounds, "1");
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 500; ++i) metrics.count_retry("regular", "endpoint-" + std::to_string(i));
  }
  const auto found = samples(metrics.exposition());
  for (int i = 0; i < 500; ++i) {
    const std::string series = R"(smg_worker_retries_total{endpoint="endpoint-)" +
                               std::to_string(i) + R"(",worker_type="regular"})";
    ASSERT_TRUE(found.contains(series)) << series;
    EXPECT_EQ(found.at(series), "2");
  }
}

TEST(Metrics, LabelValuesAreEscaped) {
  Metrics metrics(kBounds, "1");
  metrics.count_retry("regular", "a\"b\\c\nd");
  EXPECT_TRUE(samples(metrics.exposition())
                  .contains(R"(smg_worker_retries_total{endpoint="a\"b\\c\nd",)"
                            R"(worker_type="regular"})"));
}

TEST(Metrics, HistogramsAreCumulativeWithTheChosenBounds) {
  Metrics metrics(kBounds, "1");
  for (const auto elapsed : {100ms, 500ms, 1000ms, 5000ms}) {
    metrics.observe_http_duration("GET", "/x", elapsed);
  }
  const auto found = samples(metrics.exposition());
  const std::string name = "smg_http_request_duration_seconds";
  const std::string labels = R"(method="GET",path="/x")";
  EXPECT_EQ(found.at(name + "_bucket{" + labels + R"(,le="0.5"})"), "2");
  EXPECT_EQ(found.at(name + "_bucket{" + labels + R"(,le="2"})"), "3");
  EXPECT_EQ(found.at(name + "_bucket{" + labels + R"(,le="+Inf"})"), "4");
  EXPECT_EQ(found.at(name + "_count{" + labels + "}"), "4");
  EXPECT_EQ(found.at(name + "_sum{" + labels + "}"), "6.6");
}

TEST(Metrics, ThreadsLoseNoEventWhileOthersScrape) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  constexpr int kEndpoints = 40;
  Metrics metrics(kBounds, "1");
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&metrics] {
      for (int i = 0; i < kRounds; ++i) {
        metrics.count_retry("regular", "e" + std::to_string(i % kEndpoints));
        metrics.observe_ttft({"m", "chat", true}, 1s);
        metrics.http_request_began();
        metrics.http_request_ended();
      }
    });
  }
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(metrics.exposition().empty());
  for (auto& thread : threads) thread.join();
  const auto found = samples(metrics.exposition());
  for (int i = 0; i < kEndpoints; ++i) {
    EXPECT_EQ(found.at(R"(smg_worker_retries_total{endpoint="e)" + std::to_string(i) +
                       R"(",worker_type="regular"})"),
              std::to_string(kThreads * kRounds / kEndpoints));
  }
  EXPECT_EQ(
      found.at("smg_router_ttft_seconds_count{" + kBackend + R"(,endpoint="chat",model="m"})"),
      std::to_string(kThreads * kRounds));
  EXPECT_EQ(found.at("smg_http_connections_active"), "0");
}

void count_and_observe(Metrics& metrics, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    metrics.count_send_retry();
    metrics.observe_http_duration("GET", "/x", i % 2 == 0 ? 250ms : 1s);
  }
}

const std::string kDuration = "smg_http_request_duration_seconds";
const std::string kPathLabels = R"(method="GET",path="/x")";
const std::string kSendRetries = R"(smg_router_upstream_send_retries_total{router_type="http"})";

TEST(Metrics, NothingCountedDecreasesBetweenScrapes) {
  constexpr int kThreads = 3;
  constexpr int kRounds = 20000;
  const std::string never_less[] = {kSendRetries, kDuration + "_sum{" + kPathLabels + "}",
                                    kDuration + "_count{" + kPathLabels + "}",
                                    kDuration + "_bucket{" + kPathLabels + R"(,le="0.5"})"};
  Metrics metrics(kBounds, "1");
  count_and_observe(metrics, 2);  // so that all series are there
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      count_and_observe(metrics, kRounds);
      --running;
    });
  }
  std::map<std::string, double> before;
  const auto scrape = [&] {
    const auto found = samples(metrics.exposition());
    for (const auto& series : never_less) {
      const double value = std::stod(found.at(series));
      EXPECT_GE(value, before[series]) << series;
      before[series] = value;
    }
  };
  std::thread other([&] {
    while (running > 0) static_cast<void>(metrics.exposition());
  });
  while (running > 0) scrape();
  for (auto& thread : threads) thread.join();
  other.join();
  scrape();
  constexpr double kEvents = kThreads * kRounds + 2;
  EXPECT_EQ(before[never_less[0]], kEvents);
  EXPECT_EQ(before[never_less[1]], kEvents / 2 * 1.25);
  EXPECT_EQ(before[never_less[2]], kEvents);
  EXPECT_EQ(before[never_less[3]], kEvents / 2);
}

TEST(Metrics, ThreadsThatEndedAreCountedHoweverMany) {
  constexpr int kThreads = 300;  // more than have memory of their own
  Metrics metrics(kBounds, "1");
  std::barrier all_counted(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      count_and_observe(metrics, 2);
      metrics.http_request_began();
      all_counted.arrive_and_wait();
    });
  }
  for (auto& thread : threads) thread.join();
  // Requests that ended on another thread than they began on.
  for (int i = 1; i < kThreads; ++i) metrics.http_request_ended();
  const auto found = samples(metrics.exposition());
  EXPECT_EQ(found.at(kSendRetries), std::to_string(2 * kThreads));
  EXPECT_EQ(found.at(kDuration + "_count{" + kPathLabels + "}"), std::to_string(2 * kThreads));
  EXPECT_EQ(found.at(kDuration + "_sum{" + kPathLabels + "}"), "375");
  EXPECT_EQ(found.at("smg_http_connections_active"), "1");
}

TEST(Metrics, FleetGaugesAreThoseOfTheLastReadings) {
  Metrics metrics(kBounds, "1");
  const FleetReading tree{FleetGauge::CacheTreeTenants, {"m", "string"}, 2};
  const FleetReading engine{FleetGauge::EngineTokenUsage, {"http://w", "m", "0"}, 0.25};
  metrics.show_fleet({tree, engine, {FleetGauge::ManualCacheEntries, {}, 7}});
  const auto first = samples(metrics.exposition());
  EXPECT_EQ(first.at(R"(smg_cache_tree_tenants{model="m",tree="string"})"), "2");
  EXPECT_EQ(first.at(R"(smg_engine_token_usage{dp_rank="0",model="m",worker="http://w"})"), "0.25");
  EXPECT_EQ(first.at("smg_manual_policy_cache_entries"), "7");

  metrics.show_fleet({{FleetGauge::CacheTreeTenants, {"m", "string"}, 3}});
  const std::string text = metrics.exposition();
  EXPECT_EQ(samples(text).at(R"(smg_cache_tree_tenants{model="m",tree="string"})"), "3");
  EXPECT_EQ(text.find("smg_engine_token_usage"), std::string::npos);
  EXPECT_EQ(text.find("smg_manual_policy_cache_entries"), std::string::npos);
}

TEST(Metrics, TotalsCountedElsewhereAreShownAsCounters) {
  Metrics metrics(kBounds, "1");
  metrics.show_branch("manual", "vacant", 0);
  EXPECT_EQ(metrics.exposition().find("smg_manual_policy_branch_total"), std::string::npos);
  for (const std::uint64_t total : {3U, 3U, 5U}) {
    metrics.show_branch("manual", "vacant", total);
    metrics.show_branch("prefix_hash", "ring_hit", total);
    metrics.show_key_source("rid", total);
    const std::uint64_t shares[] = {total, 1};
    metrics.show_match_ratios(shares, 0.1);
  }
  const auto found = samples(metrics.exposition());
  EXPECT_EQ(found.at(R"(smg_manual_policy_branch_total{branch="vacant"})"), "5");
  EXPECT_EQ(found.at(R"(smg_prefix_hash_policy_branch_total{branch="ring_hit"})"), "5");
  EXPECT_EQ(found.at(R"(smg_routing_key_source_total{source="rid"})"), "5");
  EXPECT_EQ(found.at(R"(smg_cache_aware_match_ratio_bucket{le="0"})"), "5");
  EXPECT_EQ(found.at(R"(smg_cache_aware_match_ratio_bucket{le="0.1"})"), "6");
  EXPECT_EQ(found.at("smg_cache_aware_match_ratio_count"), "6");
  EXPECT_EQ(found.at("smg_cache_aware_match_ratio_sum"), "0.1");
}

TEST(Metrics, TellsOfDiscovery) {
  Metrics metrics(kBounds, "1");
  metrics.discovery().set_workers(3);
  metrics.discovery().count_registration("duplicate");
  metrics.discovery().count_deregistration();
  metrics.discovery().observe_sync(1ms);
  metrics.discovery().count_failure("watch");
  const auto found = samples(metrics.exposition());
  const std::string discovery = "smg_discovery_";
  const std::string source = R"({source="kubernetes")";
  EXPECT_EQ(found.at(discovery + "workers_discovered" + source + "}"), "3");
  EXPECT_EQ(found.at(discovery + "registrations_total" + source + R"(,result="duplicate"})"), "1");
  EXPECT_EQ(found.at(discovery + "deregistrations_total" + source + R"(,reason="reconciled"})"),
            "1");
  EXPECT_EQ(found.at(discovery + "sync_duration_seconds_count" + source + "}"), "1");
  EXPECT_EQ(found.at(discovery + "api_failures_total" + source + R"(,call="watch"})"), "1");
}

TEST(Metrics, TellsOfTheProcessAndItsThreads) {
  Metrics metrics(kBounds, "1");
  metrics.observe_loop_delay(1, 1ms);
  const std::uint64_t ages[std::size(kInflightAgeBounds) + 1] = {4, 0, 1};
  metrics.show_inflight_ages(ages);
  const auto found = samples(metrics.exposition());
  for (const char* name : {"smg_process_resident_bytes", "process_resident_memory_bytes",
                           "process_open_fds", "process_max_fds", "process_start_time_seconds"}) {
    EXPECT_GT(std::stod(found.at(name)), 0) << name;
  }
  EXPECT_TRUE(found.contains("process_cpu_seconds_total"));
  EXPECT_EQ(found.at(R"(smg_event_loop_delay_seconds_count{thread="1"})"), "1");
  const std::string age = "smg_http_inflight_request_age_count";
  EXPECT_EQ(found.at(age + R"({gt="0",le="30"})"), "4");
  EXPECT_EQ(found.at(age + R"({gt="60",le="180"})"), "1");
  EXPECT_EQ(found.at(age + R"({gt="86400",le="+Inf"})"), "0");
}

}  // namespace
}  // namespace smg::observability
