#pragma once

#include <cstdint>

namespace smg::net {

/// From which number on descriptors are kept for the probe and metrics ports, under a limit of so
/// many for the process. A new descriptor has the lowest free number: one from here on means that
/// nearly all are in use.
[[nodiscard]] int first_reserved_descriptor(std::uint64_t limit) noexcept;

/// The same under the limit that the process started with (RLIMIT_NOFILE).
[[nodiscard]] int first_reserved_descriptor() noexcept;

/// Whether the next descriptor to be opened would be a reserved one. `any`: an open descriptor.
[[nodiscard]] bool only_reserved_descriptors_left(int any) noexcept;

}  // namespace smg::net
