#include "gateway/admission_line.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace smg::gateway {
namespace {

using std::chrono::milliseconds;
using TimePoint = TokenBucket::TimePoint;

constexpr TimePoint kStart{std::chrono::hours(1)};

TEST(TokenBucketTest, TakesAndGivesBackByTheClock) {
  // In each script: `t` takes and has to succeed, `x` has to fail, `b` gives back, a number lets so
  // many milliseconds pass.
  const struct {
    std::uint64_t capacity;
    std::uint64_t per_second;
    std::string_view script;
  } cases[] = {
      {1, 0, "t x b t x"},
      {2, 0, "t t x 10000 x b t x b b t t x"},
      {1, 0, "b b t x"},                        // never more than there are
      {1, 1, "t x 999 x 1 t x"},                // running requests may exceed the capacity
      {2, 1, "t t 600 x 600 t 700 x 100 t x"},  // what a second is short of goes on counting
      {2, 1, "t 5000 t t x"},                   // a full bucket earns nothing
      {2, 1, "60000 t t x 999 x 1 t"},          // nor did it before the first request
      {3, 2, "t t t 500 t x 500 t x 1000 t t x"},
      {2, 10, "t t 99 x 1 t b t x"},
      {1, 1, "t 1000 b t x"},  // the refill came first, the permit is one too many
      {5, 3, "t t t t t 334 t x 333 t x 333 t x"},
      {4, 1000000, "t t t t 1 t t t t x"},
  };
  for (const auto& c : cases) {
    TokenBucket bucket(c.capacity, c.per_second, kStart);
    TimePoint now = kStart;
    std::string_view script = c.script;
    while (!script.empty()) {
      const auto word = script.substr(0, script.find(' '));
      const auto at = word.data() - c.script.data();
      script.remove_prefix(std::min(script.size(), word.size() + 1));
      if (word == "t" || word == "x") {
        EXPECT_EQ(bucket.take(now), word == "t") << c.script << " at " << at;
      } else if (word == "b") {
        bucket.give_back(now);
      } else {
        now += milliseconds(std::stoi(std::string(word)));
      }
    }
  }
}

TEST(TokenBucketTest, SaysWhenTheNextPermitComes) {
  for (const std::uint64_t per_second : {1U, 3U, 7U, 10U, 999U, 1000000U}) {
    TokenBucket bucket(1, per_second, kStart);
    EXPECT_FALSE(bucket.next_refill()) << "it is full";
    ASSERT_TRUE(bucket.take(kStart));
    const auto next = bucket.next_refill();
    ASSERT_TRUE(next);
    EXPECT_FALSE(bucket.take(*next - std::chrono::nanoseconds(10))) << per_second;
    EXPECT_TRUE(bucket.take(*next)) << per_second;
  }
  TokenBucket counting(1, 0, kStart);
  ASSERT_TRUE(counting.take(kStart));
  EXPECT_FALSE(counting.next_refill());
}

/// A line whose admissions are written down.
class AdmissionLineTest : public testing::Test {
 protected:
  using Arrival = AdmissionLine::Arrival;

  void open(std::uint64_t permits, std::uint64_t places, std::uint64_t per_second = 0) {
    line.emplace(TokenBucket(permits, per_second, now), places);
  }

  Arrival arrive(char name) {
    return line->arrive(now, [this, name] { admitted += name; }, tickets[name]);
  }

  /// The names of those who are admitted now, in order.
  std::string admit() {
    admitted.clear();
    for (const auto& tell : line->admit(now)) tell();
    return admitted;
  }

  TimePoint now = kStart;
  std::optional<AdmissionLine> line;
  std::map<char, AdmissionLine::Ticket> tickets;
  std::string admitted;
};

TEST_F(AdmissionLineTest, AdmitsAtOnceWhileThereArePermits) {
  open(2, 5);
  EXPECT_EQ(arrive('a'), Arrival::Admitted);
  EXPECT_EQ(arrive('b'), Arrival::Admitted);
  EXPECT_EQ(arrive('c'), Arrival::Waits);
  EXPECT_EQ(admit(), "");
}

TEST_F(AdmissionLineTest, TurnsAwayWhatHasNoPlace) {
  open(1, 0);
  EXPECT_EQ(arrive('a'), Arrival::Admitted);
  EXPECT_EQ(arrive('b'), Arrival::NoLine);
  line->give_back(now);
  EXPECT_EQ(arrive('b'), Arrival::Admitted);

  open(1, 2);
  EXPECT_EQ(arrive('a'), Arrival::Admitted);
  EXPECT_EQ(arrive('b'), Arrival::Waits);
  EXPECT_EQ(arrive('c'), Arrival::Waits);
  EXPECT_EQ(arrive('d'), Arrival::LineFull);
}

TEST_F(AdmissionLineTest, FirstComeFirstServed) {
  open(1, 9);
  EXPECT_EQ(arrive('a'), Arrival::Admitted);
  for (const char name : {'b', 'c', 'd'}) EXPECT_EQ(arrive(name), Arrival::Waits);
  line->give_back(now);
  EXPECT_EQ(arrive('e'), Arrival::Waits) << "overtakes nobody, though a permit is free";
  EXPECT_EQ(admit(), "b");
  line->give_back(now);
  line->give_back(now);
  EXPECT_EQ(admit(), "c") << "there is only one permit";
  EXPECT_FALSE(line->empty());
}

TEST_F(AdmissionLineTest, LeavingFreesThePlaceAndNothingElse) {
  open(1, 2);
  EXPECT_EQ(arrive('a'), Arrival::Admitted);
  EXPECT_EQ(arrive('b'), Arrival::Waits);
  EXPECT_EQ(arrive('c'), Arrival::Waits);
  EXPECT_TRUE(line->leave(tickets['b']));
  EXPECT_FALSE(line->leave(tickets['b']));
  EXPECT_EQ(arrive('d'), Arrival::Waits);
  EXPECT_EQ(arrive('e'), Arrival::LineFull);
  line->give_back(now);
  EXPECT_EQ(admit(), "c");
  EXPECT_FALSE(line->leave(tickets['c'])) << "it has been admitted";
  EXPECT_TRUE(line->leave(tickets['d']));
  EXPECT_TRUE(line->empty());
}

TEST_F(AdmissionLineTest, TimeAdmitsByTheRefill) {
  open(2, 9, 2);
  for (const char name : {'a', 'b'}) EXPECT_EQ(arrive(name), Arrival::Admitted);
  for (const char name : {'c', 'd', 'e', 'f'}) EXPECT_EQ(arrive(name), Arrival::Waits);
  now += milliseconds(499);
  EXPECT_EQ(admit(), "");
  now += milliseconds(1);
  EXPECT_EQ(admit(), "c");
  now += milliseconds(1000);
  EXPECT_EQ(admit(), "de");
  line->give_back(now);
  EXPECT_EQ(admit(), "f");
}

}  // namespace
}  // namespace smg::gateway
