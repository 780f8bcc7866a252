#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "relay/minimax_event.hpp"
#include "relay/minimax_text.hpp"

namespace smg::relay::minimax {

/// The members that synthesized slices take over from the latest event: all but `choices`, `usage`
/// and `error`.
class Envelope {
 public:
  /// Members of an event, beyond those of every chunk, that the envelope did not have before.
  enum class News : std::uint8_t { None, InFirstEvent, SinceLastEvent };

  /// Takes over the envelope of `event`.
  News update(const ChatEvent& event);

  /// The members as JSON, a comma behind each.
  [[nodiscard]] std::string_view text() const noexcept { return text_; }

 private:
  [[nodiscard]] bool knows(std::string_view key) const noexcept;

  std::string text_;
  std::string next_;                // reused by update()
  std::vector<std::string> other_;  // keys that are not those of every chunk
  bool used_ = false;
};

/// Appends the event that carries one slice.
void write_slice(std::string& out, std::string_view envelope, const Slot& slot,
                 std::string_view text);

/// Appends what must precede the texts of `event`: its role unless it was sent before, delta fields
/// that are not merged, and its tool calls without their arguments.
void write_start(std::string& out, const ChatEvent& event, bool with_role);

/// Appends what must follow the texts of `event`: its `finish_reason`, `usage` and other members,
/// and unless they were in its start, delta fields and tool calls that are not merged.
void write_rest(std::string& out, const ChatEvent& event, bool with_extras);

}  // namespace smg::relay::minimax
