#include <array>
#include <cctype>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <smg/observability/request_id.hpp>

namespace smg::observability {
namespace {

TEST(RequestId, IsThePrefixAnd24LettersAndDigits) {
  for (const std::string_view prefix : {"chatcmpl-", "msg_", ""}) {
    const std::string id = make_request_id(prefix);
    EXPECT_TRUE(id.starts_with(prefix)) << id;
    EXPECT_EQ(id.size(), prefix.size() + 24) << id;
    for (const char c : id.substr(prefix.size())) {
      EXPECT_NE(std::isalnum(static_cast<unsigned char>(c)), 0) << id;
    }
  }
}

TEST(RequestId, UsesTheWholeAlphabetAtEveryPlace) {
  std::array<std::set<char>, 24> seen;
  for (int i = 0; i < 5000; ++i) {
    const std::string id = make_request_id("");
    for (std::size_t place = 0; place < seen.size(); ++place) seen[place].insert(id[place]);
  }
  for (const auto& characters : seen) EXPECT_EQ(characters.size(), 62U);
}

TEST(RequestId, IsUniqueAcrossThreads) {
  std::mutex mutex;
  std::set<std::string> ids;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        const std::string id = make_request_id("req-");
        const std::lock_guard lock(mutex);
        ids.insert(id);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(ids.size(), 4000U);
}

TEST(RequestId, OnlyPrintableAsciiIsAcceptable) {
  using namespace std::string_view_literals;
  const struct {
    std::string_view id;
    bool acceptable;
  } cases[] = {{"", false},     {"a", true},        {"Case Kept", true}, {"a\tb", true},
               {" ~", true},    {"caf\xe9", false}, {"\xc3\xa9", false}, {"a\nb", false},
               {"a\rb", false}, {"\0"sv, false},    {"\x7f", false},     {"\x1b[0m", false}};
  for (const auto& c : cases) EXPECT_EQ(acceptable_request_id(c.id), c.acceptable) << c.id;
}

TEST(RequestId, IsClippedAt256) {
  EXPECT_EQ(clip_request_id("short"), "short");
  EXPECT_EQ(clip_request_id(std::string(256, 'a')).size(), 256U);
  EXPECT_EQ(clip_request_id(std::string(5000, 'a')).size(), 256U);
}

}  // namespace
}  // namespace smg::observability
