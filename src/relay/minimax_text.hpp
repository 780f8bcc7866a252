#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace smg::relay::minimax {

/// The delta fields whose text is merged.
enum class TextField : std::uint8_t { ReasoningContent, Reasoning, Content, Arguments };

[[nodiscard]] constexpr std::string_view name_of(TextField field) noexcept {
  constexpr std::string_view kNames[] = {"reasoning_content", "reasoning", "content", "arguments"};
  return kNames[static_cast<std::size_t>(field)];
}

/// What a run of text belongs to: a field, and for arguments the tool call.
struct Slot {
  TextField field = TextField::Content;
  std::string call;  ///< the `index` of the tool call as it is written; empty: it has none

  bool operator==(const Slot&) const = default;
};

/// Characters are Unicode scalar values.
inline constexpr std::size_t kLongestSlice = 160;
inline constexpr std::size_t kEnoughText = 80;
inline constexpr std::size_t kShortestTail = 5;

/// The length of the next slice, in characters, when `held` are there and some must go: as many as
/// allowed, but no tail shorter than kShortestTail stays.
[[nodiscard]] constexpr std::size_t slice_length(std::size_t held) noexcept {
  if (held <= kLongestSlice) return held;
  return held - kLongestSlice >= kShortestTail ? kLongestSlice : held - kShortestTail;
}

/// The text that waits to be sliced. One slot at a time: before text of another comes in, this one
/// must be empty, which keeps the order of the stream.
class PendingText {
 public:
  [[nodiscard]] std::size_t characters() const noexcept { return characters_; }
  [[nodiscard]] const Slot& slot() const noexcept { return slot_; }

  /// `text` is UTF-8. If text is there, `slot` must be its slot.
  void add(const Slot& slot, std::string_view text);

  /// Takes the next slice; valid until the next add().
  [[nodiscard]] std::string_view take_slice() noexcept;

 private:
  Slot slot_;
  std::string text_;
  std::size_t taken_ = 0;  // bytes of text_ that have left
  std::size_t characters_ = 0;
};

}  // namespace smg::relay::minimax
