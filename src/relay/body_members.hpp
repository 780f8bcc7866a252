#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relay/json_walk.hpp"
#include <smg/relay/request_body.hpp>

namespace smg::relay {

/// A field of an object that something looks for.
struct BodyMember {
  std::size_t name = 0;  ///< index among the names looked for
  ByteRange whole;       ///< from its key's quote to its value's end
  ByteRange value;
  json::Shape shape = json::kInvalid;
  bool others_before = false;  ///< a field that nothing looks for stands before it
};

/// The fields of a document's object that something looks for, in order.
struct BodyMembers {
  std::vector<BodyMember> found;
  std::size_t inside = 0;         ///< offset behind the object's opening brace
  std::size_t closing_brace = 0;  ///< its offset
  bool has_others = false;        ///< there are fields that nothing looks for

  /// The last one of this name, which is the one that counts for most readers; nullptr: none.
  [[nodiscard]] const BodyMember* last(std::size_t name) const noexcept;
};

/// Collects them on a walk over the fields of the document's object.
class MemberCollector {
 public:
  /// `body` is the document; at most 32 `names`, which outlive this object.
  MemberCollector(std::string_view body, std::span<const std::string_view> names);

  /// Notes the field if its name, without escapes, is looked for; then its value is walked to its
  /// end. False: it is not valid JSON.
  [[nodiscard]] bool note(std::string_view name, json::JsonField& field, json::JsonWalk& walk);

  [[nodiscard]] BodyMembers take() noexcept { return std::move(members_); }

 private:
  const std::string_view body_;
  const std::span<const std::string_view> names_;
  BodyMembers members_;
};

/// The part of `body` that a value takes up which `walk` has just finished.
[[nodiscard]] ByteRange range_of(std::string_view body, json::JsonValue& value);

/// Changes of such fields. Every field of a name is changed alike: a second one must not say
/// something else.
class MemberEdits {
 public:
  /// Both outlive this object.
  MemberEdits(std::string_view body, const BodyMembers& members) : body_(body), members_(members) {}

  void remove(std::size_t name) noexcept { removed_ |= 1U << name; }

  /// Gives the fields of this name another value; false: there are none.
  bool replace(std::size_t name, std::string_view json);

  /// Adds `"key":value` behind all others.
  void append(std::string_view field);

  /// The splices that do all this; call once.
  [[nodiscard]] std::vector<BodySplice> take();

 private:
  [[nodiscard]] bool is_removed(const BodyMember& member) const noexcept {
    return (removed_ >> member.name & 1U) != 0;
  }
  [[nodiscard]] ByteRange cut_of(const BodyMember& member, bool kept_before) const noexcept;

  const std::string_view body_;
  const BodyMembers& members_;
  std::uint32_t removed_ = 0;
  std::vector<BodySplice> splices_;
  std::string appended_;
};

}  // namespace smg::relay
