#include "control/state_file.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <smg/net/thread.hpp>
#include <smg/observability/log.hpp>

namespace smg::control {
namespace {

/// A file that is open as long as this object lives.
class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }

 private:
  int number_;
};

std::string reason() {
  return std::generic_category().message(errno);
}

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool write_aside(const std::string& path, std::string_view content) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  const Descriptor file(::open(path.c_str(), kFlags, S_IRUSR | S_IWUSR));
  // A file that somebody has left there keeps its own permissions.
  return file.is_open() && ::fchmod(file.get(), S_IRUSR | S_IWUSR) == 0 &&
         write_all(file.get(), content) && ::fsync(file.get()) == 0;
}

/// A rename is safe against a crash once its directory is.
bool sync_directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened.is_open() && ::fsync(opened.get()) == 0;
}

/// The content; nothing if there is no such file. Throws for one that cannot be read.
std::optional<std::string> read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT) return std::nullopt;
  std::string content;
  char buffer[64 * 1024];
  ssize_t got = file.is_open() ? 1 : -1;
  while (got > 0) {
    got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR)
      got = 1;
    else if (got > 0)
      content.append(buffer, static_cast<std::size_t>(got));
  }
  if (got < 0) throw std::runtime_error("--state-file: " + path + " cannot be read: " + reason());
  return content;
}

/// Where the damaged file is from now on; empty: it could not be moved.
std::string move_aside(const std::string& path) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char time[32];
  const std::string stem =
      path + ".damaged-" +
      std::string(time, std::strftime(time, sizeof time, "%Y%m%dT%H%M%SZ", &parts));
  std::string aside = stem;
  for (int i = 1; ::access(aside.c_str(), F_OK) == 0; ++i) aside = stem + "-" + std::to_string(i);
  return ::rename(path.c_str(), aside.c_str()) == 0 ? aside : std::string();
}

}  // namespace

std::optional<std::string> replace_file(const std::string& path, std::string_view content) {
  const std::string aside = path + ".new";
  if (write_aside(aside, content) && ::rename(aside.c_str(), path.c_str()) == 0 &&
      sync_directory_of(path)) {
    return std::nullopt;
  }
  return reason();
}

std::vector<SavedWorker> load_state(const std::string& path) {
  const auto content = read_file(path);
  if (!content) return {};
  auto workers = parse_state(*content);
  if (workers) return std::move(*workers);
  const std::string why = "--state-file: " + path + " cannot be used: " + workers.error().message;
  if (workers.error().code == "STATE_VERSION") throw std::runtime_error(why);
  const std::string aside = move_aside(path);
  if (aside.empty()) throw std::runtime_error(why);
  throw std::runtime_error(why + ". It is damaged, and kept as " + aside +
                           "; mend it and move it back, or start again without its workers");
}

StateFile::StateFile(std::string path, std::function<std::vector<SavedWorker>()> workers)
    : path_(std::move(path)), workers_(std::move(workers)) {
  if (const auto why = replace_file(path_, write_state(workers_()))) {
    throw std::runtime_error("--state-file: " + path_ + " cannot be written: " + *why);
  }
  writer_ = net::start_thread("smg-state", [this] { run(); });
}

StateFile::~StateFile() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  writer_.join();
}

void StateFile::changed() {
  {
    const std::lock_guard lock(mutex_);
    changed_ = true;
  }
  wake_.notify_one();
}

void StateFile::when_written(std::function<void()> then) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(then));
  }
  wake_.notify_one();
}

void StateFile::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return changed_ || stopping_ || !waiting_.empty(); });
    const bool must_write = std::exchange(changed_, false);
    const auto told = std::exchange(waiting_, {});
    if (!must_write && told.empty()) return;
    lock.unlock();
    if (must_write) write();
    for (const auto& then : told) then();
    lock.lock();
  }
}

void StateFile::write() {
  if (const auto why = replace_file(path_, write_state(workers_()))) {
    observability::log_error("the state file cannot be written",
                             {{"file", path_}, {"reason", *why}});
  }
}

}  // namespace smg::control
