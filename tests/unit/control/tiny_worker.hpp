#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace smg::control {

/// A worker for tests on a free loopback port: answers each GET or POST by its path, one thread a
/// connection.
class TinyWorker {
 public:
  struct Reply {
    int status = 200;
    std::string body = "{}";
  };

  TinyWorker() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::listen(listener_, 16);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    acceptor_ = std::thread([this] { accept_all(); });
  }

  ~TinyWorker() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    {
      const std::lock_guard lock(mutex_);
      for (const int connection : connections_) ::shutdown(connection, SHUT_RDWR);
    }
    for (auto& server : servers_) server.join();
    for (const int connection : connections_) ::close(connection);
  }

  TinyWorker(const TinyWorker&) = delete;
  TinyWorker& operator=(const TinyWorker&) = delete;

  [[nodiscard]] const std::string& url() const { return url_; }

  /// What a path answers from now on; 404 for paths never named.
  void answer(const std::string& path, int status, const std::string& body = "{}") {
    const std::lock_guard lock(mutex_);
    replies_[path] = {status, body};
  }

  /// The heads of all requests so far.
  [[nodiscard]] std::vector<std::string> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  void accept_all() {
    for (;;) {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      const std::lock_guard lock(mutex_);
      connections_.push_back(connection);
      servers_.emplace_back([this, connection] { serve(connection); });
    }
  }

  void serve(int connection) {
    std::string input;
    char buffer[4096];
    for (;;) {
      const auto end = input.find("\r\n\r\n");
      if (end == std::string::npos) {
        const ssize_t got = ::recv(connection, buffer, sizeof buffer, 0);
        if (got <= 0) return;
        input.append(buffer, static_cast<std::size_t>(got));
        continue;
      }
      const std::string reply = reply_to(input.substr(0, end));
      input.erase(0, end + 4);
      if (::send(connection, reply.data(), reply.size(), MSG_NOSIGNAL) < 0) return;
    }
  }

  std::string reply_to(const std::string& head) {
    const auto start = head.find(' ') + 1;
    const std::string path = head.substr(start, head.find(' ', start) - start);
    const std::lock_guard lock(mutex_);
    seen_.push_back(head);
    const auto found = replies_.find(path);
    const Reply reply = found == replies_.end() ? Reply{404, "{}"} : found->second;
    return "HTTP/1.1 " + std::to_string(reply.status) + " X\r\nContent-Type: application/json\r\n" +
           "Content-Length: " + std::to_string(reply.body.size()) + "\r\n\r\n" + reply.body;
  }

  int listener_ = -1;
  std::string url_;
  std::thread acceptor_;
  mutable std::mutex mutex_;
  std::map<std::string, Reply> replies_;
  std::vector<std::string> seen_;
  std::vector<int> connections_;
  std::vector<std::thread> servers_;
};

}  // namespace smg::control
