#include "gateway/inflight_ages.hpp"

#include <optional>

#include <gtest/gtest.h>

#include "support/run_on.hpp"

namespace smg::gateway {
namespace {

using std::chrono::seconds;

TEST(InflightAges, AgesFallBetweenTheBounds) {
  InflightAges::Counts counts{};
  for (const int age : {0, 30, 31, 86400, 86401}) InflightAges::count(counts, seconds(age));
  EXPECT_EQ(counts, (InflightAges::Counts{2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}));
}

TEST(InflightAges, ShowsWhatIsInServiceOnAllThreads) {
  test::Loops loops(2);
  observability::Metrics metrics({1.0}, "test");
  InflightAges ages(loops.threads);
  std::optional<InflightAges::Entry> entries[3];
  const auto enter = [&](std::size_t thread, std::size_t number, seconds age) {
    test::call_on(loops[thread], [&] {
      entries[number].emplace(ages, loops[thread], loops[thread].deadlines().now() - age);
    });
  };
  const auto shows = [&](const std::string& line) {
    for (std::size_t i = 0; i < loops.threads.size(); ++i) {
      // As if the time had come; the next look is armed behind it.
      auto& deadlines = loops[i].deadlines();
      test::call_on(loops[i], [&] { deadlines.advance(deadlines.now() + seconds(20)); });
    }
    ages.show(metrics);
    const auto text = metrics.exposition();
    return text.find("smg_http_inflight_request_age_count{" + line + "\n") != std::string::npos;
  };
  enter(0, 0, seconds(0));
  enter(0, 1, seconds(100));
  enter(1, 2, seconds(100));
  EXPECT_TRUE(shows(R"(gt="0",le="30"} 1)"));
  EXPECT_TRUE(shows(R"(gt="60",le="180"} 2)"));
  test::call_on(loops[0], [&] { entries[1].reset(); });
  EXPECT_TRUE(shows(R"(gt="60",le="180"} 1)"));
  test::call_on(loops[0], [&] { entries[0].reset(); });
  test::call_on(loops[1], [&] { entries[2].reset(); });
  EXPECT_TRUE(shows(R"(gt="60",le="180"} 0)"));
  EXPECT_TRUE(shows(R"(gt="0",le="30"} 0)"));
}

}  // namespace
}  // namespace smg::gateway
