#pragma once

#include <memory>
#include <string>
#include <vector>

namespace smg::gateway {

/// Built-in inference workers that answer with what they were asked, on the OpenAI, Anthropic and
/// native routes, whole or streamed: a fleet to try the gateway with. On loopback ports and a
/// thread of their own.
class EchoBackend {
 public:
  explicit EchoBackend(unsigned workers);
  ~EchoBackend();

  [[nodiscard]] std::vector<std::string> urls() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace smg::gateway
