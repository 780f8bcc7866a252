#pragma once

#include <bitset>
#include <cstddef>
#include <optional>

namespace smg::routing {

/// A set of numbers of three digits, as statuses are.
class StatusSet {
 public:
  template <class Statuses>
  explicit StatusSet(const Statuses& statuses) {
    for (const int status : statuses) {
      if (is_status(status)) members_.set(static_cast<std::size_t>(status - kLeast));
    }
  }

  [[nodiscard]] bool contains(int status) const noexcept {
    return is_status(status) && members_[static_cast<std::size_t>(status - kLeast)];
  }

 private:
  static constexpr int kLeast = 100;
  static constexpr int kMost = 999;

  [[nodiscard]] static constexpr bool is_status(int number) noexcept {
    return number >= kLeast && number <= kMost;
  }

  std::bitset<kMost - kLeast + 1> members_;
};

/// The statuses of a worker's own that its breaker goes by, in place of the usual ones.
struct BreakerStatuses {
  std::optional<StatusSet> failures;
  std::optional<StatusSet> capacity;  ///< speak of overload, and so tell nothing
};

}  // namespace smg::routing
