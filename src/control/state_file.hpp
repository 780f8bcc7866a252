#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "control/saved_workers.hpp"

namespace smg::control {

/// Puts `content` in the place of the file at `path`, so that a crash leaves the old or the new
/// one: written aside, synchronised, renamed. Only the owner may read it. Why that failed; nothing
/// if it did not.
[[nodiscard]] std::optional<std::string> replace_file(const std::string& path,
                                                      std::string_view content);

/// The workers kept in the file at `path`; none if there is no such file. Throws std::runtime_error
/// for a file that cannot be used. One that is damaged is renamed to `path`.damaged-TIME first, so
/// that nothing overwrites it.
[[nodiscard]] std::vector<SavedWorker> load_state(const std::string& path);

/// Keeps a file up to date from a thread of its own, as writing may take its time.
class StateFile {
 public:
  /// `workers` tells what belongs in the file, and is called on that thread. Writes the file before
  /// it returns; throws std::runtime_error if that fails.
  StateFile(std::string path, std::function<std::vector<SavedWorker>()> workers);
  /// Writes what has changed last.
  ~StateFile();
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;

  /// The workers have changed. Never waits; thread-safe.
  void changed();

  /// Calls `then` on the file's thread once what has changed so far has been written, or could not
  /// be. Never waits; thread-safe.
  void when_written(std::function<void()> then);

 private:
  void run();
  /// Logs a failure; the next change tries again.
  void write();

  const std::string path_;
  const std::function<std::vector<SavedWorker>()> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool changed_ = false;
  bool stopping_ = false;
  std::vector<std::function<void()>> waiting_;
  std::thread writer_;
};

}  // namespace smg::control
