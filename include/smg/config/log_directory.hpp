#pragma once

#include <optional>
#include <string>

namespace smg::config {

/// Why no log file could be made in `path`, or nullopt. Reads the file system, changes nothing: a
/// directory that does not exist yet is judged by its nearest ancestor that does.
[[nodiscard]] std::optional<std::string> log_directory_problem(const std::string& path);

}  // namespace smg::config
