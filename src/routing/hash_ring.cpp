#include "routing/hash_ring.hpp"

#include <algorithm>
#include <string>

#include "routing/blake3.hpp"

namespace smg::routing {

HashRing::HashRing(const std::vector<std::string_view>& names) {
  places_.reserve(names.size() * kPlacesPerMember);
  for (std::uint32_t member = 0; member < names.size(); ++member) {
    std::string label(names[member]);
    label += '#';
    const std::size_t stem = label.size();
    for (std::uint32_t i = 0; i < kPlacesPerMember; ++i) {
      label.resize(stem);
      label += std::to_string(i);
      places_.push_back({blake3_u64(label), member});
    }
  }
  std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
    return std::pair(a.position, a.member) < std::pair(b.position, b.member);
  });
}

std::size_t HashRing::first_place(std::string_view key) const noexcept {
  const auto found =
      std::lower_bound(places_.begin(), places_.end(), blake3_u64(key),
                       [](const Place& place, std::uint64_t at) { return place.position < at; });
  return found == places_.end() ? 0 : static_cast<std::size_t>(found - places_.begin());
}

}  // namespace smg::routing
