#include "observability/label_key.hpp"

#include <cstring>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace smg::observability {
namespace {

/// A text that ends where its memory does, so that AddressSanitizer sees a look beyond it.
class TightText {
 public:
  explicit TightText(std::string_view text)
      : size_(text.size()), bytes_(std::make_unique<char[]>(size_)) {
    std::memcpy(bytes_.get(), text.data(), size_);
  }

  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.get(), size_}; }
  [[nodiscard]] char& operator[](std::size_t i) noexcept { return bytes_[i]; }

 private:
  std::size_t size_;
  std::unique_ptr<char[]> bytes_;
};

TEST(LabelKey, EveryByteOfATextOfAnySizeCounts) {
  const std::string alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
  for (std::size_t size = 0; size <= alphabet.size(); ++size) {
    TightText text(std::string_view(alphabet).substr(0, size));
    const LabelKey key({"x", text.view(), "y"});
    EXPECT_TRUE(key.matches({"x", text.view(), "y"})) << size;
    EXPECT_EQ(LabelKey::hash_of({"x", text.view(), "y"}), key.hash()) << size;
    for (std::size_t i = 0; i < size; ++i) {
      text[i] ^= 1;
      EXPECT_FALSE(key.matches({"x", text.view(), "y"})) << i << " of " << size;
      EXPECT_NE(LabelKey::hash_of({"x", text.view(), "y"}), key.hash()) << i << " of " << size;
      text[i] ^= 1;
    }
  }
}

TEST(LabelKey, TellsValuesApartThatAreOneTextWhenJoined) {
  const struct {
    LabelValues left;
    LabelValues right;
  } cases[] = {
      {{"a", "bc"}, {"ab", "c"}},
      {{"", "a"}, {"a", ""}},
      {{"chat", "chats"}, {"chatc", "hats"}},
      {{std::string_view("\0", 1), ""}, {"", std::string_view("\0", 1)}},
      {{"12345678", "9"}, {"123456789", ""}},
  };
  for (const auto& [left, right] : cases) {
    EXPECT_FALSE(LabelKey(left).matches(right)) << *left.begin();
    EXPECT_FALSE(LabelKey(right).matches(left)) << *left.begin();
    EXPECT_FALSE(LabelKey(left) == LabelKey(right)) << *left.begin();
    EXPECT_NE(LabelKey::hash_of(left), LabelKey::hash_of(right)) << *left.begin();
  }
}

TEST(LabelKey, NoValuesMatchNoValues) {
  EXPECT_TRUE(LabelKey({}).matches({}));
  EXPECT_TRUE(LabelKey({}) == LabelKey({}));
}

}  // namespace
}  // namespace smg::observability
