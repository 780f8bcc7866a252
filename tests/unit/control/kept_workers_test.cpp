#include <filesystem>

#include <unistd.h>

#include "control/state_file.hpp"
#include "unit/control/registry_fixture.hpp"

namespace smg::control {
namespace {

/// A registry with a state file.
class KeptWorkersTest : public WorkerRegistryTest {
 protected:
  static constexpr const char* kId = "01a22aa0-4b32-70d1-8cec-c303fb238eb0";

  KeptWorkersTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "smg-kept-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    config_.fleet.state_file = (directory_ / "workers.json").string();
  }
  ~KeptWorkersTest() override {
    stop();
    std::filesystem::remove_all(directory_);
  }

  /// What an earlier process has left.
  void keep(const std::string& more) {
    const auto spec = parse_worker_spec(R"({"url":")" + worker_.url() + "\"" + more + "}");
    ASSERT_EQ(replace_file(config_.fleet.state_file, write_state({{{kId}, *spec}})), std::nullopt);
  }

  /// What this one leaves.
  std::vector<SavedWorker> left() {
    stop();
    return load_state(config_.fleet.state_file);
  }

  std::filesystem::path directory_;
};

TEST_F(KeptWorkersTest, ComeBackUnderTheirIdsWithTheirSpecs) {
  keep(R"(,"priority":7,"api_key":"its-own")");
  start();
  const auto page = until(std::string("/workers/") + kId, R"("status":"ready")").body;
  EXPECT_NE(page.find(R"("priority":7)"), std::string::npos) << page;
  EXPECT_NE(worker_.seen().back().find("Bearer its-own"), std::string::npos);
  const auto workers = left();
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_EQ(workers.front().ids, std::vector<std::string>{kId});
}

TEST_F(KeptWorkersTest, BeatTheFlagsOfTheirUrl) {
  keep(R"(,"priority":7)");
  config_.fleet.worker_urls = {worker_.url()};
  start();
  until(std::string("/workers/") + kId, R"("priority":7)");
  until("/workers", R"("total":1)");
}

TEST_F(KeptWorkersTest, WaitForTheirEngineHoweverLongItTakes) {
  keep("");
  config_.fleet.startup_timeout = config::Seconds(0);
  worker_.answer("/health", 503);
  start();
  while (worker_.seen().empty()) std::this_thread::yield();
  worker_.answer("/health", 200);
  until(std::string("/workers/") + kId, R"("status":"ready")");
}

TEST_F(KeptWorkersTest, AreThoseOfTheApi) {
  config_.fleet.worker_urls = {"http://127.0.0.1:1"};
  start();
  const std::string page = add(R"(,"cost":2)");
  until(page, R"("status":"ready")");
  EXPECT_EQ(call(http::Method::Patch, page, R"({"priority":9})").status, 202);
  const auto workers = left();
  ASSERT_EQ(workers.size(), 1U) << "not the one of the flags";
  EXPECT_EQ("/workers/" + workers.front().ids.front(), page);
  EXPECT_EQ(workers.front().spec.priority, 9U);
  EXPECT_EQ(workers.front().spec.cost, 2.0);
}

TEST_F(KeptWorkersTest, AreInTheFileWhenTheyAreAccepted) {
  worker_.answer("/health", 503);
  start();
  const std::string page = add();
  EXPECT_EQ(load_state(config_.fleet.state_file).size(), 1U);
  EXPECT_EQ(call(http::Method::Delete, page).status, 202);
  EXPECT_EQ(load_state(config_.fleet.state_file).size(), 0U);
}

TEST_F(KeptWorkersTest, ARemovedOneIsForgotten) {
  keep("");
  start();
  const std::string page = std::string("/workers/") + kId;
  until(page, R"("status":"ready")");
  EXPECT_EQ(call(http::Method::Delete, page).status, 202);
  EXPECT_TRUE(left().empty());
}

TEST_F(KeptWorkersTest, ADamagedFileIsAnErrorAtTheStart) {
  std::filesystem::create_directory(config_.fleet.state_file);
  EXPECT_THROW(WorkerRegistry(config_, metrics_, threads_, pools_, fleet_), std::runtime_error);
}

}  // namespace
}  // namespace smg::control
