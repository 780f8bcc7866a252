#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
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

/// Looks names up for one IoThread, on a thread of its own, for the system's resolver blocks.
class Resolver {
 public:
  using Answer = std::function<void(Result<std::vector<Endpoint>>)>;

  explicit Resolver(IoThread& asker) : asker_(asker) {}
  /// Waits for a question that is being looked up; the others are dropped.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// `answer` runs on the IoThread. It comes also when nobody is interested any more. The error is
  /// UpstreamConnect.
  void resolve(std::string host, std::uint16_t port, Answer answer);

 private:
  struct Question {
    std::string host;
    std::uint16_t port;
    Answer answer;
  };

  void work();

  IoThread& asker_;
  std::mutex mutex_;
  std::condition_variable asked_;
  std::deque<Question> questions_;
  bool stopping_ = false;
  std::thread thread_;
};

/// The endpoint of an IP literal (IPv6 without brackets); nothing for a name.
[[nodiscard]] std::optional<Endpoint> literal_endpoint(const std::string& host, std::uint16_t port);

}  // namespace smg::net
