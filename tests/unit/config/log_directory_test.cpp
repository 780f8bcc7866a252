#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include <smg/config/log_directory.hpp>

namespace smg::config {
namespace {

class LogDirectory : public testing::Test {
 protected:
  LogDirectory() {
    root_ =
        std::filesystem::path(testing::TempDir()) /
        ("smg_log_directory_" + std::to_string(testing::UnitTest::GetInstance()->random_seed()) +
         "_" + std::to_string(getpid()));
    std::filesystem::create_directory(root_);
    std::ofstream(root_ / "file") << "x";
  }
  ~LogDirectory() override { std::filesystem::remove_all(root_); }

  std::filesystem::path root_;
};

TEST_F(LogDirectory, MayExistOrBeMadeLater) {
  EXPECT_EQ(log_directory_problem(root_), std::nullopt);
  EXPECT_EQ(log_directory_problem(root_ / "a" / "b"), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(root_ / "a"));
}

TEST_F(LogDirectory, CannotBeAFileOrBelowOne) {
  EXPECT_NE(log_directory_problem(root_ / "file"), std::nullopt);
  EXPECT_NE(log_directory_problem(root_ / "file" / "logs"), std::nullopt);
}

}  // namespace
}  // namespace smg::config
