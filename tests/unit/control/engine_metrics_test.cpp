#include "control/engine_metrics.hpp"

#include <gtest/gtest.h>

namespace smg::control {
namespace {

TEST(EngineMetrics, JoinsTheFamiliesOfAllWorkers) {
  EngineMetrics joined;
  const std::string text =
      "# HELP engine:reqs Requests: running\n# TYPE engine:reqs gauge\nengine:reqs{kind=\"x\"} 3\n"
      "# TYPE wait histogram\nwait_bucket{le=\"1\"} 2\nwait_count 2\n";
  joined.add("http://a:1", text);
  joined.add("http://b:2", text);
  EXPECT_EQ(joined.text(),
            "# HELP engine_reqs Requests: running\n"
            "# TYPE engine_reqs gauge\n"
            "engine_reqs{kind=\"x\",worker_addr=\"http://a:1\"} 3\n"
            "engine_reqs{kind=\"x\",worker_addr=\"http://b:2\"} 3\n"
            "# TYPE wait histogram\n"
            "wait_bucket{le=\"1\",worker_addr=\"http://a:1\"} 2\n"
            "wait_count{worker_addr=\"http://a:1\"} 2\n"
            "wait_bucket{le=\"1\",worker_addr=\"http://b:2\"} 2\n"
            "wait_count{worker_addr=\"http://b:2\"} 2\n");
}

TEST(EngineMetrics, ReadsSamplesInTheirSeveralForms) {
  struct Case {
    std::string_view line;
    std::string_view joined;
  };
  const Case cases[] = {
      {"up 1", "up{worker_addr=\"w\"} 1\n"},
      {"up 1 1700000000", "up{worker_addr=\"w\"} 1 1700000000\n"},
      {"up{} 1\r", "up{worker_addr=\"w\"} 1\n"},
      {"up{a=\"x:}\\\"{\", } 1", "up{a=\"x:}\\\"{\",worker_addr=\"w\"} 1\n"},
      {"up{a=\"x\"", ""},
      {"up", ""},
      {"<html>no metrics</html>", ""},
      {"# EOF", ""},
      {"", ""},
  };
  for (const auto& [line, expected] : cases) {
    EngineMetrics joined;
    joined.add("w", line);
    EXPECT_EQ(joined.text(), expected) << line;
  }
}

}  // namespace
}  // namespace smg::control
