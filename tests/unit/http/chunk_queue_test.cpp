#include "http/chunk_queue.hpp"

#include <gtest/gtest.h>

namespace smg::http {
namespace {

constexpr std::size_t kMaxChunks = ClientExchange::kMaxQueuedChunks;
constexpr std::size_t kMaxBytes = ClientExchange::kMaxQueuedBytes;

void add(ChunkQueue& queue, std::string_view bytes) {
  queue.add(bytes.size()).append(bytes);
}

TEST(ChunkQueue, TakesBytesAcrossChunks) {
  ChunkQueue queue;
  for (const auto* chunk : {"first", "second", "third"}) add(queue, chunk);
  EXPECT_FALSE(queue.take(2));
  EXPECT_EQ(queue[0], "rst");
  EXPECT_EQ(queue[1], "second");
  EXPECT_TRUE(queue.take(3 + 6 + 1));
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(queue[0], "hird");
  EXPECT_TRUE(queue.take(4));
  EXPECT_TRUE(queue.empty());
}

TEST(ChunkQueue, IsFullOf32Chunks) {
  ChunkQueue queue;
  for (std::size_t i = 0; i < kMaxChunks; ++i) {
    EXPECT_FALSE(queue.full());
    add(queue, "ab");
  }
  EXPECT_TRUE(queue.full());
  EXPECT_FALSE(queue.take(1));
  EXPECT_TRUE(queue.full());
  EXPECT_TRUE(queue.take(1));
  EXPECT_FALSE(queue.full());
}

TEST(ChunkQueue, IsFullOf256KiBInFewer) {
  ChunkQueue queue;
  add(queue, std::string(kMaxBytes - 1, 'x'));
  EXPECT_FALSE(queue.full());
  add(queue, "x");
  EXPECT_TRUE(queue.full());
  // The first chunk counts until it is gone.
  EXPECT_FALSE(queue.take(kMaxBytes - 2));
  EXPECT_TRUE(queue.full());
  EXPECT_TRUE(queue.take(1));
  EXPECT_FALSE(queue.full());
}

TEST(ChunkQueue, IsAsNewBehindClear) {
  ChunkQueue queue;
  add(queue, std::string(kMaxBytes, 'x'));
  EXPECT_FALSE(queue.take(1));
  queue.clear();
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.full());
  add(queue, "abc");
  EXPECT_EQ(queue[0], "abc");
}

}  // namespace
}  // namespace smg::http
