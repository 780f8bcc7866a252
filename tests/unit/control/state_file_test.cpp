#include "control/state_file.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smg::control {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIdA = "01a22aa0-4b32-70d1-8cec-c303fb238eb0";
constexpr const char* kIdB = "01a22aa0-4b32-70d1-8cec-c303fb238eb1";

std::string one_worker(const std::string& ids, const std::string& url) {
  return R"({"ids":[)" + ids + R"(],"spec":{"url":")" + url + R"("}})";
}

std::string quoted(const std::string& text) {
  return '"' + text + '"';
}

std::string state_of(const std::string& workers, const std::string& version = "1") {
  return R"({"version":)" + version + R"(,"workers":[)" + workers + "]}";
}

TEST(SavedWorkers, ComeBackAsTheyWere) {
  const auto spec = parse_worker_spec(R"({"url":"http://h:1","models":[{"id":"m","aliases":["a"],
      "context_length":9,"model_type":["chat"]}],"runtime_type":"vllm","labels":{"zone":"\"a\""},
      "priority":7,"cost":0.1,"api_key":"canary","max_connection_attempts":3,
      "health":{"drain_settle_secs":0,"disable_health_check":true},
      "http_pool":{"timeout_secs":9,"http2":true},
      "resilience":{"max_retries":2,"jitter_factor":0.25,"capacity_status_codes":[429]},
      "load_monitor_interval_secs":4,"overload":{"waiting_requests":5,"token_usage":0.5}})");
  ASSERT_TRUE(spec) << spec.error().message;
  const std::string text = write_state({{{kIdA, kIdB}, *spec}});
  const auto read = parse_state(text);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->front().ids, (std::vector<std::string>{kIdA, kIdB}));
  EXPECT_EQ(read->front().spec.api_key, "canary");
  EXPECT_EQ(read->front().spec.overload->waiting_requests, 5U);
  EXPECT_EQ(write_state(*read), text) << "nothing is lost";
  EXPECT_TRUE(parse_state(write_state({}))->empty());
}

TEST(SavedWorkers, WhatIsDamagedIsSaidSoWithoutItsContent) {
  const std::string whole = state_of(one_worker(quoted(kIdA), "http://h:1"));
  ASSERT_TRUE(parse_state(whole));
  const struct {
    std::string text;
    std::string code;
  } cases[] = {
      {"", "STATE_DAMAGED"},
      {whole.substr(0, whole.size() - 2), "STATE_DAMAGED"},
      {"[]", "STATE_DAMAGED"},
      {"{}", "STATE_DAMAGED"},
      {R"({"version":1})", "STATE_DAMAGED"},
      {R"({"version":"1","workers":[]})", "STATE_DAMAGED"},
      {state_of("5"), "STATE_DAMAGED"},
      {state_of("{}"), "STATE_DAMAGED"},
      {state_of(one_worker("", "http://h:1")), "STATE_DAMAGED"},
      {state_of(one_worker(quoted("canary"), "http://h:1")), "STATE_DAMAGED"},
      {state_of(one_worker(quoted(kIdA), "canary")), "STATE_DAMAGED"},
      {state_of(one_worker(quoted(kIdA), "http://h") + "," + one_worker(quoted(kIdA), "http://i")),
       "STATE_DAMAGED"},
      {state_of(one_worker(quoted(kIdA), "http://h") + "," + one_worker(quoted(kIdB), "http://h")),
       "STATE_DAMAGED"},
      {state_of("", "2"), "STATE_VERSION"},
  };
  for (const auto& c : cases) {
    const auto read = parse_state(c.text);
    ASSERT_FALSE(read) << c.text;
    EXPECT_EQ(read.error().code, c.code) << c.text;
    EXPECT_FALSE(read.error().message.empty());
  }
}

class StateFileTest : public testing::Test {
 protected:
  StateFileTest() {
    std::string pattern = (fs::temp_directory_path() / "smg-state-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    path_ = (directory_ / "workers.json").string();
  }
  ~StateFileTest() override { fs::remove_all(directory_); }

  static void put(const std::string& path, std::string_view content) {
    std::ofstream(path, std::ios::binary) << content;
  }
  static std::string content_of(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path, std::ios::binary).rdbuf();
    return out.str();
  }
  [[nodiscard]] static mode_t mode_of(const std::string& path) {
    struct stat facts{};
    return ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 0777U : 0U;
  }
  /// The names in the directory, in their order.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }

  static std::vector<SavedWorker> some_worker() {
    return {{{kIdA}, *parse_worker_spec(R"({"url":"http://h:1","api_key":"secret"})")}};
  }

  fs::path directory_;
  std::string path_;
};

TEST_F(StateFileTest, OnlyItsOwnerMayReadIt) {
  put(path_, "old");
  ::chmod(path_.c_str(), 0666);
  EXPECT_EQ(replace_file(path_, "new"), std::nullopt);
  EXPECT_EQ(content_of(path_), "new");
  EXPECT_EQ(mode_of(path_), 0600U);
  EXPECT_EQ(names(), std::vector<std::string>{"workers.json"});
}

TEST_F(StateFileTest, AFailedReplacementLeavesTheOldFile) {
  put(path_, "old");
  fs::create_directory(path_ + ".new");
  EXPECT_NE(replace_file(path_, "new"), std::nullopt);
  EXPECT_EQ(content_of(path_), "old");
  EXPECT_NE(replace_file((directory_ / "none" / "x").string(), "new"), std::nullopt);
}

TEST_F(StateFileTest, NoFileMeansNoWorkers) {
  EXPECT_TRUE(load_state(path_).empty());
  EXPECT_TRUE(names().empty());
}

TEST_F(StateFileTest, ADamagedFileIsKeptAside) {
  for (const std::size_t files : {1U, 2U}) {
    put(path_, "{damaged");
    try {
      static_cast<void>(load_state(path_));
      FAIL() << "no error";
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find(path_ + ".damaged-"), std::string::npos)
          << error.what();
    }
    ASSERT_EQ(names().size(), files) << "the second one does not overwrite the first";
  }
  for (const auto& name : names()) {
    EXPECT_TRUE(name.starts_with("workers.json.damaged-")) << name;
    EXPECT_EQ(content_of((directory_ / name).string()), "{damaged");
  }
}

TEST_F(StateFileTest, AFileOfAnotherVersionStaysWhereItIs) {
  put(path_, state_of("", "2"));
  EXPECT_THROW(static_cast<void>(load_state(path_)), std::runtime_error);
  EXPECT_EQ(content_of(path_), state_of("", "2"));
}

TEST_F(StateFileTest, WhatCannotBeUsedIsAnError) {
  fs::create_directory(path_);
  EXPECT_THROW(static_cast<void>(load_state(path_)), std::runtime_error);
  EXPECT_THROW(StateFile(path_, some_worker), std::runtime_error);
  EXPECT_THROW(StateFile((directory_ / "none" / "x").string(), some_worker), std::runtime_error);
}

TEST_F(StateFileTest, TellsWhenAChangeIsWritten) {
  std::atomic<bool> has_worker{false};
  StateFile file(path_, [&] { return has_worker ? some_worker() : std::vector<SavedWorker>(); });
  const auto workers_when_told = [&] {
    std::promise<std::size_t> workers;
    file.when_written([&] { workers.set_value(load_state(path_).size()); });
    return workers.get_future().get();
  };
  EXPECT_EQ(workers_when_told(), 0U) << "nothing to wait for";
  has_worker = true;
  file.changed();
  EXPECT_EQ(workers_when_told(), 1U);
  fs::remove(path_);
  fs::create_directory(path_);
  file.changed();
  std::promise<void> told;
  file.when_written([&] { told.set_value(); });
  told.get_future().get();
  EXPECT_TRUE(fs::is_directory(path_)) << "a failure is told as well";
}

TEST_F(StateFileTest, TheLastChangeIsWrittenBeforeItGoes) {
  std::atomic<bool> has_worker{false};
  {
    StateFile file(path_, [&] { return has_worker ? some_worker() : std::vector<SavedWorker>(); });
    EXPECT_TRUE(load_state(path_).empty());
    has_worker = true;
    file.changed();
  }
  const auto workers = load_state(path_);
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_EQ(workers.front().spec.api_key, "secret");
  EXPECT_EQ(mode_of(path_), 0600U);
}

}  // namespace
}  // namespace smg::control
