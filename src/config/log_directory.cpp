#include <filesystem>
#include <system_error>

#include <unistd.h>

#include <smg/config/log_directory.hpp>

namespace smg::config {

std::optional<std::string> log_directory_problem(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  auto existing = fs::absolute(path, error);
  if (error) return error.message();
  while (!fs::exists(existing, error)) {
    // "Not a directory" above it, or no permission to look: no parent can be asked instead.
    if (error) return existing.string() + ": " + error.message();
    if (existing == existing.root_path()) break;
    existing = existing.parent_path();
  }
  if (!fs::is_directory(existing, error)) return existing.string() + " is not a directory";
  if (access(existing.c_str(), W_OK | X_OK) != 0) return existing.string() + " is not writable";
  return std::nullopt;
}

}  // namespace smg::config
