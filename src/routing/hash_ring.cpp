#include "routing/hash_ring.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "routing/blake3.hpp"

namespace smg::routing {

namespace {

constexpr auto kGone = static_cast<std::uint32_t>(-1);

}  // namespace

void HashRing::add_places(std::vector<Place>& places, std::string_view name, std::uint32_t member) {
  std::string label(name);
  label += '#';
  const std::size_t stem = label.size();
  for (std::uint32_t i = 0; i < kPlacesPerMember; ++i) {
    label.resize(stem);
    label += std::to_string(i);
    places.push_back({blake3_u64(label), member});
  }
}

HashRing::HashRing(const std::vector<std::string_view>& names) : HashRing(names, HashRing()) {}

HashRing::HashRing(const std::vector<std::string_view>& names, const HashRing& similar)
    : names_(names.begin(), names.end()) {
  std::unordered_map<std::string_view, std::uint32_t> former;
  for (std::uint32_t i = 0; i < similar.names_.size(); ++i) former.emplace(similar.names_[i], i);
  std::vector<std::uint32_t> now(similar.names_.size(), kGone);
  std::vector<Place> added;
  for (std::uint32_t member = 0; member < names.size(); ++member) {
    const auto known = former.find(names[member]);
    if (known != former.end() && now[known->second] == kGone) {
      now[known->second] = member;
    } else {
      add_places(added, names[member], member);
    }
  }
  std::sort(added.begin(), added.end(), comes_before);
  std::vector<Place> kept;
  kept.reserve(similar.places_.size());
  for (const auto& [position, member] : similar.places_) {
    if (now[member] != kGone) kept.push_back({position, now[member]});
  }
  places_.resize(kept.size() + added.size());
  std::merge(kept.begin(), kept.end(), added.begin(), added.end(), places_.begin(), comes_before);
}

std::size_t HashRing::first_place(std::string_view key) const noexcept {
  const auto found =
      std::lower_bound(places_.begin(), places_.end(), blake3_u64(key),
                       [](const Place& place, std::uint64_t at) { return place.position < at; });
  return found == places_.end() ? 0 : static_cast<std::size_t>(found - places_.begin());
}

}  // namespace smg::routing
