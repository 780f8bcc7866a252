#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "relay/minimax_text.hpp"

namespace smg::relay::minimax {

/// What a payload is to the re-slicer.
enum class EventKind : std::uint8_t {
  Malformed,       ///< not a JSON object, or with a string that is no Unicode text
  SeveralChoices,  ///< more than one, or one with another index than 0
  NoChoice,        ///< not exactly one object
  Whole,           ///< has something beside its text that cannot be taken apart from it
  Mergeable,
};

/// What the re-slicer knows of a member.
enum class MemberPart : std::uint8_t {
  Other,
  Standard,  ///< of every chunk: `id`, `model` and so on
  Choices,
  Delta,
  FinishReason,
  Usage,
  Error,
};

/// One member of an object: text of the payload, so that numbers and blanks stay as they are.
struct Member {
  std::string_view key;    ///< without its quotes, escapes as they are written
  std::string_view value;  ///< all of it
  MemberPart part = MemberPart::Other;

  [[nodiscard]] bool is_null() const noexcept { return value == "null"; }
};

/// One element of `tool_calls`.
struct ToolCall {
  std::string_view index;        ///< as it is written; empty: absent or null
  std::string_view arguments;    ///< inside of the string, escapes as they are written
  std::vector<Member> members;   ///< not null, except `index` and `function`
  std::vector<Member> function;  ///< of `function`, not null, except `arguments`
  bool has_function = false;
  bool starts = false;     ///< has an `id` or the function's `name`
  bool has_other = false;  ///< has a member beside `type` in the two lists
};

/// A chat completion chunk, read once. Views of the payload.
class ChatEvent {
 public:
  /// Reads `payload`, behind which `readable - payload.size()` further bytes can be read: at least
  /// 64. What it held before is gone.
  EventKind read(std::string_view payload, std::size_t readable);

  /// All members, in order; the value of `choices` is of no use.
  [[nodiscard]] const std::vector<Member>& members() const noexcept { return members_; }
  /// All members of the choice, in order; the value of `delta` is of no use.
  [[nodiscard]] const std::vector<Member>& choice() const noexcept { return choice_; }
  /// Delta fields that are not null and not merged, in order.
  [[nodiscard]] const std::vector<Member>& extras() const noexcept { return extras_; }
  [[nodiscard]] const std::vector<ToolCall>& calls() const noexcept { return calls_; }
  /// The values of reasoning_content, reasoning and content, by TextField, like `arguments`.
  [[nodiscard]] const std::array<std::string_view, 3>& texts() const noexcept { return texts_; }

  /// Value of the delta's `role`; empty: absent or null.
  [[nodiscard]] std::string_view role() const noexcept { return role_; }
  /// A tool call begins with it.
  [[nodiscard]] bool starts_call() const noexcept;
  /// The delta has news beside texts and a role.
  [[nodiscard]] bool has_extras() const noexcept;
  /// Has a `finish_reason`, a `usage` or an `error`, which follow the text.
  [[nodiscard]] bool has_closing() const noexcept { return finishes_ || has_usage_ || has_error_; }

 private:
  friend class EventReader;

  void clear();
  [[nodiscard]] EventKind kind() const noexcept;

  std::vector<Member> members_;
  std::vector<Member> choice_;
  std::vector<Member> extras_;
  std::vector<ToolCall> calls_;
  std::array<std::string_view, 3> texts_;
  std::string_view role_;

  std::size_t elements_ = 0;  // of `choices`
  bool has_choice_ = false;   // an object is among them
  bool has_delta_ = false;    // it has an object `delta`
  bool other_index_ = false;
  bool whole_ = false;
  bool finishes_ = false;
  bool has_usage_ = false;
  bool has_error_ = false;
};

}  // namespace smg::relay::minimax
