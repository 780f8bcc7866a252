#pragma once

#include <string>

namespace smg::bench {

inline std::string chat_event(const std::string& text) {
  return R"(data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m",)"
         R"("choices":[{"index":0,"delta":{"content":")" +
         text + "\"},\"finish_reason\":null}]}\n\n";
}

/// The events of a worker's stream, one token each.
inline std::string chat_stream(int events) {
  std::string wire;
  for (int i = 0; i < events; ++i) wire += chat_event(" word");
  return wire;
}

}  // namespace smg::bench
