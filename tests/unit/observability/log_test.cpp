#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include <smg/observability/access_log.hpp>
#include <smg/observability/audit_log.hpp>
#include <smg/observability/log.hpp>

namespace smg::observability {
namespace {

namespace fs = std::filesystem;

/// Each test logs into a directory of its own; what it logged is read back after shutdown.
class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "smg_log_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    testing::internal::CaptureStdout();
  }

  void TearDown() override {
    shutdown_logging();
    if (capturing_) testing::internal::GetCapturedStdout();
    fs::remove_all(root_);
  }

  void start(LogLevel level, bool json = false) {
    config::Observability settings;
    settings.log_level = level;
    settings.log_json = json;
    settings.log_dir = directory();
    init_logging(settings);
  }

  /// Ends logging; what went to the file, with the times cut off.
  [[nodiscard]] std::vector<std::string> logged() {
    shutdown_logging();
    std::vector<std::string> lines;
    for (const auto& entry : fs::directory_iterator(directory())) {
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) lines.push_back(line.substr(20));
    }
    return lines;
  }

  [[nodiscard]] std::string captured() {
    capturing_ = false;
    return testing::internal::GetCapturedStdout();
  }

  [[nodiscard]] std::string directory() const { return (root_ / "made" / "here").string(); }

  fs::path root_;
  bool capturing_ = true;
};

using Lines = std::vector<std::string>;

TEST_F(LogTest, LevelFilters) {
  const struct {
    LogLevel level;
    Lines shown;
  } cases[] = {{LogLevel::Debug, {"DEBUG d", " INFO i", " WARN w", "ERROR e"}},
               {LogLevel::Info, {" INFO i", " WARN w", "ERROR e"}},
               {LogLevel::Warn, {" WARN w", "ERROR e"}},
               {LogLevel::Error, {"ERROR e"}}};
  for (const auto& c : cases) {
    start(c.level);
    for (const auto level : {LogLevel::Debug, LogLevel::Info, LogLevel::Warn, LogLevel::Error}) {
      EXPECT_EQ(log_enabled(level), level >= c.level);
    }
    log_debug("d");
    log_info("i");
    log_warn("w");
    log_error("e");
    EXPECT_EQ(logged(), c.shown);
    fs::remove_all(directory());
  }
}

TEST_F(LogTest, StandardOutputGetsTheSameLinesWithoutColours) {
  start(LogLevel::Info);
  log_info("hello", {{"n", 1}});
  const Lines lines = logged();
  ASSERT_EQ(lines, Lines{" INFO hello n=1"});
  const std::string out = captured();
  ASSERT_GT(out.size(), 20U);
  EXPECT_EQ(out.substr(20), lines[0] + "\n");
}

TEST_F(LogTest, FileIsNamedByTheDay) {
  start(LogLevel::Info);
  log_info("hello");
  shutdown_logging();
  const auto entry = *fs::directory_iterator(directory());
  const std::string name = entry.path().filename().string();
  ASSERT_EQ(name.size(), std::string("smg.2026-11-30.log").size());
  EXPECT_TRUE(name.starts_with("smg.2"));
  EXPECT_TRUE(name.ends_with(".log"));
}

TEST_F(LogTest, FileIsContinuedAfterARestart) {
  start(LogLevel::Info);
  log_info("first");
  start(LogLevel::Info);
  log_info("second");
  EXPECT_EQ(logged(), (Lines{" INFO first", " INFO second"}));
}

TEST_F(LogTest, UnusableDirectoryIsAnError) {
  std::ofstream(root_ / "made") << "a file, not a directory";
  EXPECT_THROW(start(LogLevel::Info), std::runtime_error);
  EXPECT_FALSE(log_enabled(LogLevel::Error));
}

TEST_F(LogTest, NothingIsWrittenBeforeOrAfter) {
  log_error("before");
  start(LogLevel::Debug);
  shutdown_logging();
  log_error("after");
  EXPECT_EQ(logged(), Lines{});
}

TEST_F(LogTest, ThreadsDoNotMixTheirLines) {
  start(LogLevel::Info);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 500; ++i) log_info("x", {{"thread", t}, {"i", i}});
    });
  }
  for (auto& thread : threads) thread.join();
  Lines lines = logged();
  ASSERT_EQ(lines.size(), 2000U);
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(std::unique(lines.begin(), lines.end()), lines.end());
  for (const auto& line : lines) EXPECT_TRUE(line.starts_with(" INFO x thread=")) << line;
}

TEST_F(LogTest, AccessRecordHasItsFieldsButNoQuery) {
  AccessRecord record;
  record.method = "POST";
  record.path = "/v1/chat/completions?api_key=secret#x";
  record.status = 200;
  record.latency = std::chrono::microseconds(44);
  record.request_id = "the id";
  record.worker = "http://w:1";
  record.bytes_in = 10;
  record.bytes_out = 20;
  record.streamed = true;
  record.http_version = "HTTP/1.1";
  start(LogLevel::Info);
  write_access(record, false);
  record.worker = "";
  record.streamed = false;
  write_access(record, false);
  const std::string common =
      " INFO request finished method=POST path=/v1/chat/completions version=HTTP/1.1 status=200 "
      "latency_us=44 request_id=\"the id\" body=";
  EXPECT_EQ(logged(), (Lines{common + "streamed bytes_in=10 bytes_out=20 worker=http://w:1",
                             common + "buffered bytes_in=10 bytes_out=20"}));
}

TEST_F(LogTest, InventedMethodsAndPathsAreCut) {
  const std::string method(5000, 'M');
  const std::string path = "/" + std::string(5000, 'p');
  AccessRecord record;
  record.method = method;
  record.path = path;
  record.request_id = path;
  start(LogLevel::Info);
  write_access(record, false);
  const Lines lines = logged();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_LT(lines[0].size(), 1200U);
}

TEST_F(LogTest, AnAuditRecordNamesWhoDidWhat) {
  AuditRecord record;
  record.time = std::chrono::system_clock::time_point(std::chrono::milliseconds(1700000000042));
  record.principal = "key-1";
  record.auth_method = "api_key";
  record.role = "admin";
  record.method = "DELETE";
  record.path = "/workers/7?token=secret";
  record.resource = "/workers/{worker_id}";
  record.allowed = true;
  record.request_id = "id";
  start(LogLevel::Info);
  write_audit(record);
  record.allowed = false;
  record.details = "Admin role required";
  write_audit(record);
  const Lines lines = logged();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0],
            " INFO control_plane_audit timestamp=2023-11-14T22:13:20.042Z principal=key-1 "
            "auth_method=api_key role=admin method=DELETE path=/workers/7 "
            "resource=/workers/{worker_id} outcome=success request_id=id details=\"\"");
  EXPECT_NE(lines[1].find("outcome=denied request_id=id details=\"Admin role required\""),
            std::string::npos);
}

TEST(AccessLevel, FollowsTheStatus) {
  const struct {
    int status;
    bool is_probe;
    LogLevel level;
  } cases[] = {
      {0, false, LogLevel::Info},    {200, false, LogLevel::Info}, {399, false, LogLevel::Info},
      {400, false, LogLevel::Warn},  {499, false, LogLevel::Warn}, {500, false, LogLevel::Error},
      {599, false, LogLevel::Error}, {200, true, LogLevel::Debug}, {503, true, LogLevel::Debug}};
  for (const auto& c : cases) EXPECT_EQ(access_level(c.status, c.is_probe), c.level) << c.status;
}

}  // namespace
}  // namespace smg::observability
