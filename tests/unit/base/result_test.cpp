#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <smg/base/result.hpp>

namespace smg {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return fail(ErrorCode::JsonRange, "odd");
  return number / 2;
}

TEST(Result, HoldsAValue) {
  const auto result = half(6);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result.has_value());
  EXPECT_EQ(*result, 3);
  EXPECT_EQ(result.value(), 3);
}

TEST(Result, HoldsAnError) {
  const auto result = half(7);
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.has_error());
  EXPECT_EQ(result.error().code, ErrorCode::JsonRange);
  EXPECT_EQ(result.error().message, "odd");
  EXPECT_EQ(result.error().retry_after_seconds, 0);
}

TEST(Result, ValueOfAnErrorIsABugThatShows) {
  const auto result = half(7);
  try {
    static_cast<void>(result.value());
    FAIL() << "value() of an error returned";
  } catch (const std::logic_error& bug) {
    EXPECT_NE(std::string(bug.what()).find("odd"), std::string::npos);
  }
}

TEST(Result, MayHoldNothingOrAMoveOnlyValue) {
  const Result<> done;
  EXPECT_TRUE(done);
  const Result<> failed = fail(ErrorCode::Aborted);
  EXPECT_FALSE(failed);
  Result<std::unique_ptr<int>> owned = std::make_unique<int>(5);
  const auto taken = std::move(*owned);
  EXPECT_EQ(*taken, 5);
}

TEST(Result, PassesAnErrorOnToAnotherType) {
  const Result<std::string> other = half(7).error();
  EXPECT_EQ(other.error().message, "odd");
}

}  // namespace
}  // namespace smg
