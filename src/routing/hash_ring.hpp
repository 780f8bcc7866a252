#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smg::routing {

/// The consistent-hash ring of a fleet (spec "consistent_hashing"): each member has 150 places, at
/// the hashes of `{name}#{0..149}`, and a key belongs to the first place at or after its own hash.
/// A key thus changes its owner only when that owner goes, or when a new member takes it.
/// Immutable.
class HashRing {
 public:
  static constexpr std::uint32_t kPlacesPerMember = 150;

  /// `names`: what tells the members apart, a worker's URL exactly as it is registered.
  explicit HashRing(const std::vector<std::string_view>& names);

  /// The same ring, made from that of a similar fleet: only places of new members are hashed and
  /// sorted.
  HashRing(const std::vector<std::string_view>& names, const HashRing& similar);

  /// The number of the first member at or after the key, clockwise, that `accepts(number)` takes;
  /// nothing if it takes none.
  template <class Accepts>
  [[nodiscard]] std::optional<std::uint32_t> owner(std::string_view key, Accepts&& accepts) const {
    const std::size_t start = first_place(key);
    for (std::size_t step = 0; step < places_.size(); ++step) {
      const std::size_t at = start + step;
      const auto member = places_[at < places_.size() ? at : at - places_.size()].member;
      if (accepts(member)) return member;
    }
    return std::nullopt;
  }

 private:
  HashRing() = default;

  struct Place {
    std::uint64_t position;
    std::uint32_t member;
  };

  static void add_places(std::vector<Place>& places, std::string_view name, std::uint32_t member);
  [[nodiscard]] static bool comes_before(const Place& a, const Place& b) noexcept {
    return std::pair(a.position, a.member) < std::pair(b.position, b.member);
  }
  [[nodiscard]] std::size_t first_place(std::string_view key) const noexcept;

  std::vector<std::string> names_;
  std::vector<Place> places_;  // by position
};

}  // namespace smg::routing
