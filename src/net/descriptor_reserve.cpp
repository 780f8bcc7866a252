#include "net/descriptor_reserve.hpp"

#include <algorithm>
#include <climits>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace smg::net {
namespace {

/// Enough for a scraper and a few probes at once, each on a connection of its own.
constexpr std::uint64_t kReserve = 16;

}  // namespace

int first_reserved_descriptor(std::uint64_t limit) noexcept {
  const std::uint64_t first = limit - std::min(kReserve, limit / 8);
  return static_cast<int>(std::min<std::uint64_t>(first, INT_MAX));
}

int first_reserved_descriptor() noexcept {
  static const int first = [] {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? first_reserved_descriptor(limit.rlim_cur)
                                                   : INT_MAX;
  }();
  return first;
}

bool only_reserved_descriptors_left(int any) noexcept {
  const int lowest_free = ::fcntl(any, F_DUPFD_CLOEXEC, 0);
  if (lowest_free < 0) return true;
  ::close(lowest_free);
  return lowest_free >= first_reserved_descriptor();
}

}  // namespace smg::net
