#include <cstring>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/types.h>

#include <smg/net/io_thread.hpp>
#include <smg/net/resolver.hpp>
#include <smg/net/thread.hpp>

namespace smg::net {
namespace {

Result<std::vector<Endpoint>> look_up(const std::string& host, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (code != 0) {
    return fail(ErrorCode::UpstreamConnect,
                std::string("Failed to resolve the worker's host: ") + ::gai_strerror(code));
  }
  std::vector<Endpoint> endpoints;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    Endpoint& endpoint = endpoints.emplace_back();
    std::memcpy(&endpoint.address, entry->ai_addr, entry->ai_addrlen);
    endpoint.size = entry->ai_addrlen;
  }
  ::freeaddrinfo(found);
  return endpoints;
}

}  // namespace

std::optional<Endpoint> literal_endpoint(const std::string& host, std::uint16_t port) {
  Endpoint endpoint;
  auto& v4 = reinterpret_cast<sockaddr_in&>(endpoint.address);
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    endpoint.size = sizeof v4;
    return endpoint;
  }
  auto& v6 = reinterpret_cast<sockaddr_in6&>(endpoint.address);
  if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    endpoint.size = sizeof v6;
    return endpoint;
  }
  return std::nullopt;
}

Resolver::~Resolver() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Resolver::resolve(std::string host, std::uint16_t port, Answer answer) {
  const std::lock_guard lock(mutex_);
  Question question{std::move(host), port};
  auto& answers = asked_[question];
  answers.push_back(std::move(answer));
  if (answers.size() > 1) return;
  questions_.push_back(std::move(question));
  if (idle_ >= questions_.size()) {
    changed_.notify_one();
  } else if (threads_.size() < kThreads) {
    threads_.push_back(start_thread("smg-resolver", [this] { work(); }));
  }
}

void Resolver::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return stopping_ || !questions_.empty(); });
    --idle_;
    if (stopping_) return;
    const Question question = std::move(questions_.front());
    questions_.pop_front();
    lock.unlock();
    const auto endpoints = look_up(question.first, question.second);
    lock.lock();
    answer(question, endpoints);
  }
}

/// With the lock held.
void Resolver::answer(const Question& question, const Result<std::vector<Endpoint>>& endpoints) {
  auto asked = asked_.extract(question);
  asker_.post([answers = std::move(asked.mapped()), endpoints] {
    for (const Answer& answer : answers) answer(endpoints);
  });
}

}  // namespace smg::net
