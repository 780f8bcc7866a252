#pragma once

#include <functional>
#include <string>
#include <thread>

namespace smg::net {

/// Starts a thread of the process: named (at most 15 characters) for who looks at it from outside,
/// and with all signals blocked, for they belong to the main thread.
[[nodiscard]] std::thread start_thread(const std::string& name, std::function<void()> run);

}  // namespace smg::net
