#include "relay/body_members.hpp"

#include <algorithm>

namespace smg::relay {
namespace {

constexpr bool is_space(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

constexpr std::size_t end_of(const ByteRange& range) noexcept {
  return range.offset + range.length;
}

}  // namespace

const BodyMember* BodyMembers::last(std::size_t name) const noexcept {
  const auto newest = std::find_if(found.rbegin(), found.rend(),
                                   [&](const BodyMember& member) { return member.name == name; });
  return newest == found.rend() ? nullptr : &*newest;
}

MemberCollector::MemberCollector(std::string_view body, std::span<const std::string_view> names)
    : body_(body), names_(names) {
  members_.inside = std::min(body.find('{'), body.size() - 1) + 1;
  members_.closing_brace = json::without_trailing_space(body).size() - 1;
}

bool MemberCollector::note(std::string_view name, json::JsonField& field, json::JsonWalk& walk) {
  const auto known = std::find(names_.begin(), names_.end(), name);
  if (known == names_.end()) {
    members_.has_others = true;
    return true;
  }
  if (!walk.finish(field.value)) return false;
  BodyMember member;
  member.name = static_cast<std::size_t>(known - names_.begin());
  member.value = range_of(body_, field.value);
  member.whole.offset = static_cast<std::size_t>(field.key.data() - body_.data()) - 1;
  member.whole.length = end_of(member.value) - member.whole.offset;
  member.shape = field.value.shape;
  member.others_before = members_.has_others;
  members_.found.push_back(member);
  return true;
}

ByteRange range_of(std::string_view body, json::JsonValue& value) {
  ByteRange range{static_cast<std::size_t>(value.text.data() - body.data()), value.text.size()};
  if (value.shape != json::kArray && value.shape != json::kObject) return range;
  // The walk stands at what follows the container; at the end of the document, nothing does.
  const char* behind = nullptr;
  const bool at_end = value.cursor.current_location().get(behind) != simdjson::SUCCESS;
  const auto end = at_end ? body.size() : static_cast<std::size_t>(behind - body.data());
  range.length = json::without_trailing_space(body.substr(range.offset, end - range.offset)).size();
  return range;
}

bool MemberEdits::replace(std::size_t name, std::string_view json) {
  bool any = false;
  for (const BodyMember& member : members_.found) {
    if (member.name != name) continue;
    splices_.push_back({member.value, std::string(json)});
    any = true;
  }
  return any;
}

void MemberEdits::append(std::string_view field) {
  if (!appended_.empty()) appended_ += ',';
  appended_ += field;
}

/// A field goes together with the comma before it, or, at the front, with the one behind it.
ByteRange MemberEdits::cut_of(const BodyMember& member, bool kept_before) const noexcept {
  std::size_t end = end_of(member.whole);
  if (kept_before) {
    std::size_t comma = member.whole.offset - 1;
    while (is_space(body_[comma])) --comma;
    return {comma, end - comma};
  }
  std::size_t next = end;
  while (is_space(body_[next])) ++next;
  if (body_[next] == ',') end = next + 1;
  return {members_.inside, end - members_.inside};
}

std::vector<BodySplice> MemberEdits::take() {
  std::vector<BodySplice> cuts;
  bool any_kept = false;
  for (const BodyMember& member : members_.found) {
    if (!is_removed(member)) {
      any_kept = true;
      continue;
    }
    const ByteRange cut = cut_of(member, any_kept || member.others_before);
    // All at the front begin at the same place: the last one has the others in it.
    if (!cuts.empty() && cuts.back().where.offset == cut.offset) cuts.pop_back();
    cuts.push_back({cut, {}});
  }
  splices_.insert(splices_.end(), cuts.begin(), cuts.end());
  if (!appended_.empty()) {
    const bool needs_comma = any_kept || members_.has_others;
    splices_.push_back(
        {{members_.closing_brace, 0}, needs_comma ? "," + appended_ : std::move(appended_)});
  }
  return std::move(splices_);
}

}  // namespace smg::relay
