#pragma once

#include <cstdint>
#include <string_view>

namespace smg::routing {

enum class WorkerStatus : std::uint8_t { Pending, Ready, NotReady, Failed, Draining };

/// The word in `GET /workers`.
[[nodiscard]] constexpr std::string_view name_of(WorkerStatus status) noexcept {
  constexpr std::string_view kNames[] = {"pending", "ready", "not_ready", "failed", "draining"};
  return kNames[static_cast<std::size_t>(status)];
}

}  // namespace smg::routing
