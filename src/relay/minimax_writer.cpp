#include "relay/minimax_writer.hpp"

#include <algorithm>
#include <utility>

#include <smg/base/text.hpp>

namespace smg::relay::minimax {
namespace {

constexpr bool in_envelope(MemberPart part) noexcept {
  return part == MemberPart::Standard || part == MemberPart::Other;
}

void append_key(std::string& out, std::string_view key) {
  out += '"';
  out += key;
  out += "\":";
}

void append_member(std::string& out, const Member& member) {
  append_key(out, member.key);
  out += member.value;
  out += ',';
}

/// Ends a list or object whose elements each have a comma behind them.
void close(std::string& out, char bracket) {
  if (out.back() == ',') {
    out.back() = bracket;
  } else {
    out += bracket;
  }
}

void append_call(std::string& out, const ToolCall& call) {
  out += '{';
  if (!call.index.empty()) append_member(out, {"index", call.index});
  for (const Member& member : call.members) append_member(out, member);
  if (call.has_function) {
    out += "\"function\":{";
    for (const Member& member : call.function) append_member(out, member);
    close(out, '}');
  }
  close(out, '}');
}

/// The members of a delta that are not merged, a comma behind each.
void append_extras(std::string& out, const ChatEvent& event) {
  for (const Member& member : event.extras()) append_member(out, member);
  if (std::ranges::none_of(event.calls(), &ToolCall::has_other)) return;
  out += "\"tool_calls\":[";
  for (const ToolCall& call : event.calls()) {
    if (!call.has_other) continue;
    append_call(out, call);
    out += ',';
  }
  close(out, ']');
  out += ',';
}

/// What an event built from another one has of it.
struct Selection {
  bool role = false;
  bool extras = false;
  bool closing = false;  ///< finish_reason, usage, error
};

void append_delta(std::string& out, const ChatEvent& event, Selection selection) {
  out += '{';
  if (selection.role) append_member(out, {"role", event.role()});
  if (selection.extras) append_extras(out, event);
  close(out, '}');
}

void append_choice(std::string& out, const ChatEvent& event, Selection selection) {
  bool has_delta = false;
  bool has_finish_reason = false;
  out += "[{";
  for (const Member& member : event.choice()) {
    if (member.part == MemberPart::Delta) {
      if (std::exchange(has_delta, true)) continue;
      append_key(out, member.key);
      append_delta(out, event, selection);
      out += ',';
    } else if (member.part == MemberPart::FinishReason && !selection.closing) {
      if (!std::exchange(has_finish_reason, true)) append_member(out, {member.key, "null"});
    } else {
      has_finish_reason = has_finish_reason || member.part == MemberPart::FinishReason;
      append_member(out, member);
    }
  }
  if (!has_finish_reason) append_member(out, {"finish_reason", "null"});
  close(out, '}');
  out += ']';
}

void append_event(std::string& out, const ChatEvent& event, Selection selection) {
  bool has_choices = false;
  out += "data: {";
  for (const Member& member : event.members()) {
    if (member.part == MemberPart::Choices) {
      if (std::exchange(has_choices, true)) continue;
      append_key(out, member.key);
      append_choice(out, event, selection);
      out += ',';
    } else if (in_envelope(member.part) || selection.closing) {
      append_member(out, member);
    }
  }
  close(out, '}');
  out += "\n\n";
}

}  // namespace

Envelope::News Envelope::update(const ChatEvent& event) {
  next_.clear();
  for (const Member& member : event.members()) {
    if (in_envelope(member.part)) append_member(next_, member);
  }
  const bool first = !std::exchange(used_, true);
  if (next_ == text_) return News::None;

  bool news = false;
  std::vector<std::string> other;
  for (const Member& member : event.members()) {
    if (member.part != MemberPart::Other || member.is_null()) continue;
    news = news || !knows(member.key);
    other.emplace_back(member.key);
  }
  other_ = std::move(other);
  text_.swap(next_);
  if (!news) return News::None;
  return first ? News::InFirstEvent : News::SinceLastEvent;
}

bool Envelope::knows(std::string_view key) const noexcept {
  return std::ranges::find(other_, key) != other_.end();
}

void write_slice(std::string& out, std::string_view envelope, const Slot& slot,
                 std::string_view text) {
  out += "data: {";
  out += envelope;
  out += R"("choices":[{"index":0,"delta":{)";
  if (slot.field == TextField::Arguments) {
    out += R"("tool_calls":[{)";
    if (!slot.call.empty()) append_member(out, {"index", slot.call});
    out += R"("function":{"arguments":")";
  } else {
    append_key(out, name_of(slot.field));
    out += '"';
  }
  text::append_json_escaped(out, text);
  out += slot.field == TextField::Arguments ? R"("}}]},)" : R"("},)";
  out += "\"finish_reason\":null}]}\n\n";
}

void write_start(std::string& out, const ChatEvent& event, bool with_role) {
  append_event(out, event, {.role = with_role, .extras = true, .closing = false});
}

void write_rest(std::string& out, const ChatEvent& event, bool with_extras) {
  append_event(out, event, {.role = false, .extras = with_extras, .closing = true});
}

}  // namespace smg::relay::minimax
