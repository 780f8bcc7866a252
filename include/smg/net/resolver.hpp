#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>

#include <smg/base/result.hpp>

namespace smg::net {

class IoThread;

/// An address to connect to.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t size = 0;
};

/// Looks names up for one IoThread, on threads of its own, for the system's resolver blocks, and
/// for as long as it likes. One look-up of a name serves all who ask meanwhile, and several names
/// are looked up at a time, so that one without an answer holds up no other.
class Resolver {
 public:
  using Answer = std::function<void(Result<std::vector<Endpoint>>)>;

  explicit Resolver(IoThread& asker) : asker_(asker) {}
  /// Waits for the questions that are being looked up; the others are dropped.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// `answer` runs on the IoThread. It comes also when nobody is interested any more. The error is
  /// UpstreamConnect.
  void resolve(std::string host, std::uint16_t port, Answer answer);

 private:
  using Question = std::pair<std::string, std::uint16_t>;

  static constexpr std::size_t kThreads = 4;

  void work();
  void answer(const Question& question, const Result<std::vector<Endpoint>>& endpoints);

  IoThread& asker_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Question> questions_;                 ///< that no thread has taken yet
  std::map<Question, std::vector<Answer>> asked_;  ///< those, and the ones being looked up
  std::size_t idle_ = 0;                           ///< threads that wait for a question
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// The endpoint of an IP literal (IPv6 without brackets); nothing for a name.
[[nodiscard]] std::optional<Endpoint> literal_endpoint(const std::string& host, std::uint16_t port);

}  // namespace smg::net
