#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

namespace smg::observability {

/// Values of labels, in the order of their names.
using LabelValues = std::initializer_list<std::string_view>;

/// The values of one series in one piece of memory. They are short, so that calls of memcmp or
/// std::hash would take longer than what these do.
class LabelKey {
 public:
  explicit LabelKey(LabelValues values) : hash_(hash_of(values)) {
    for (const std::string_view value : values) {
      const auto size = static_cast<std::uint32_t>(value.size());
      packed_.append(reinterpret_cast<const char*>(&size), sizeof size).append(value);
    }
  }

  /// `values`: as many as those of the key.
  [[nodiscard]] bool matches(LabelValues values) const noexcept {
    const char* at = packed_.data();
    for (const std::string_view value : values) {
      if (load<std::uint32_t>(at) != value.size()) return false;
      at += sizeof(std::uint32_t);
      if (!same_bytes(at, value.data(), value.size())) return false;
      at += value.size();
    }
    return true;
  }

  [[nodiscard]] bool operator==(const LabelKey&) const noexcept = default;

  [[nodiscard]] std::size_t hash() const noexcept { return hash_; }

  [[nodiscard]] static std::size_t hash_of(LabelValues values) noexcept {
    std::uint64_t hash = 0;
    for (const std::string_view value : values) {
      const char* at = value.data();
      std::size_t left = value.size();
      hash = mixed(hash, left);
      for (; left > 8; at += 8, left -= 8) hash = mixed(hash, load<std::uint64_t>(at));
      hash = mixed(hash, word_of(at, left));
    }
    return hash;
  }

 private:
  template <class Word>
  [[nodiscard]] static Word load(const char* from) noexcept {
    Word word;
    std::memcpy(&word, from, sizeof word);
    return word;
  }

  /// A text of up to 8 bytes, each of them once or twice: equal for equal texts of one size only.
  [[nodiscard]] static std::uint64_t word_of(const char* text, std::size_t size) noexcept {
    if (size >= 4) {
      const std::uint64_t end = load<std::uint32_t>(text + size - 4);
      return end << 32U | load<std::uint32_t>(text);
    }
    if (size == 0) return 0;
    const std::uint32_t middle = load<std::uint8_t>(text + size / 2);
    const std::uint32_t last = load<std::uint8_t>(text + size - 1);
    return last << 16U | middle << 8U | load<std::uint8_t>(text);
  }

  [[nodiscard]] static bool same_bytes(const char* left, const char* right,
                                       std::size_t size) noexcept {
    using std::uint32_t, std::uint64_t;
    if (size >= 8) {
      for (std::size_t i = 0; i + 8 < size; i += 8) {
        if (load<uint64_t>(left + i) != load<uint64_t>(right + i)) return false;
      }
      return load<uint64_t>(left + size - 8) == load<uint64_t>(right + size - 8);
    }
    if (size >= 4) {
      return load<uint32_t>(left) == load<uint32_t>(right) &&
             load<uint32_t>(left + size - 4) == load<uint32_t>(right + size - 4);
    }
    for (std::size_t i = 0; i < size; ++i) {
      if (left[i] != right[i]) return false;
    }
    return true;
  }

  [[nodiscard]] static std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) noexcept {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
    return hash ^ hash >> 32U;
  }

  std::size_t hash_;
  std::string packed_;  ///< each value behind its size
};

}  // namespace smg::observability
