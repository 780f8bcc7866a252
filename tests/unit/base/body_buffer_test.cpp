#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <smg/base/body_buffer.hpp>

namespace smg {
namespace {

TEST(BodyBuffer, BeginsEmptyAndWithoutMemory) {
  const BodyBuffer buffer;
  EXPECT_EQ(buffer.view(), "");
  EXPECT_EQ(buffer.size(), 0U);
  EXPECT_EQ(buffer.capacity(), 0U);
}

TEST(BodyBuffer, PrepareGivesRoomBehindTheBytes) {
  BodyBuffer buffer;
  buffer.append("abc");
  const auto room = buffer.prepare(5);
  ASSERT_GE(room.size(), 5U);
  EXPECT_EQ(room.data(), buffer.view().data() + 3);
  std::memcpy(room.data(), "defgh", 5);
  EXPECT_EQ(buffer.view(), "abc") << "prepared room is not part of the body";
  buffer.commit(2);
  EXPECT_EQ(buffer.view(), "abcde");
}

TEST(BodyBuffer, PrepareOfRoomThatIsThereMovesNothing) {
  BodyBuffer buffer;
  buffer.reserve_behind(100);
  const char* const before = buffer.prepare(1).data();
  const auto capacity = buffer.capacity();
  EXPECT_GE(capacity, 100U);
  buffer.append(std::string(60, 'x'));
  buffer.reserve_behind(capacity - 60);
  EXPECT_EQ(buffer.capacity(), capacity);
  EXPECT_EQ(buffer.view().data(), before);
}

TEST(BodyBuffer, GrowthAtLeastDoubles) {
  BodyBuffer buffer;
  buffer.append(std::string(1000, 'x'));
  const auto before = buffer.capacity();
  buffer.reserve_behind(before - buffer.size() + 1);
  EXPECT_GE(buffer.capacity(), 2 * before);
}

TEST(BodyBuffer, HoldsWhatWasAppendedInAnyPieces) {
  std::minstd_rand random(7);
  std::string expected;
  BodyBuffer buffer;
  for (int i = 0; i < 2000; ++i) {
    const std::string piece(random() % 700, static_cast<char>('a' + i % 26));
    expected += piece;
    buffer.append(piece);
  }
  EXPECT_EQ(buffer.view(), expected);
}

TEST(BodyBuffer, EmptyAppendsAndRoomsAreHarmless) {
  BodyBuffer buffer;
  buffer.append({});
  buffer.reserve_behind(0);
  buffer.commit(0);
  EXPECT_EQ(buffer.view(), "");
  buffer.append("a");
  buffer.append({});
  EXPECT_EQ(buffer.view(), "a");
}

TEST(BodyBuffer, ReleaseGivesTheMemoryBackAndLeavesItUsable) {
  BodyBuffer buffer;
  buffer.append("abc");
  buffer.release();
  EXPECT_EQ(buffer.size(), 0U);
  EXPECT_EQ(buffer.capacity(), 0U);
  buffer.release();
  buffer.append("de");
  EXPECT_EQ(buffer.view(), "de");
}

TEST(BodyBuffer, MemoryOfALargeBodyServesTheNextOne) {
  BodyBuffer first;
  first.append(std::string(200'000, 'x'));
  const char* const memory = first.view().data();
  first.release();
  BodyBuffer second;
  second.reserve_behind(150'000);
  EXPECT_EQ(second.prepare(1).data(), memory);
  EXPECT_EQ(second.size(), 0U);
  BodyBuffer third;
  third.reserve_behind(150'000);
  EXPECT_NE(third.prepare(1).data(), memory) << "it has one owner";
}

TEST(BodyBuffer, KeepsNoMoreThanAMebibyteForTheNext) {
  {
    BodyBuffer huge;
    huge.append(std::string(1024 * 1024 + 1, 'x'));
    std::vector<BodyBuffer> many(20);
    for (auto& body : many) body.append(std::string(100'000, 'x'));
  }
  std::vector<BodyBuffer> next(20);
  std::size_t kept = 0;
  for (auto& body : next) {
    body.reserve_behind(64 * 1024);
    if (body.capacity() > 64 * 1024) kept += body.capacity();
  }
  EXPECT_GT(kept, 0U);
  EXPECT_LE(kept, 1024U * 1024U);
}

TEST(BodyBuffer, MovesWithoutCopying) {
  BodyBuffer first;
  first.append("abc");
  const char* const bytes = first.view().data();
  BodyBuffer second(std::move(first));
  EXPECT_EQ(second.view(), "abc");
  EXPECT_EQ(second.view().data(), bytes);
  BodyBuffer third;
  third.append("old");
  third = std::move(second);
  EXPECT_EQ(third.view(), "abc");
  BodyBuffer& same = third;
  third = std::move(same);
  EXPECT_EQ(third.view(), "abc");
}

}  // namespace
}  // namespace smg
