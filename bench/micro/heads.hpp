#pragma once

#include <string>

/// Heads of requests and responses as clients and workers send them.
namespace smg::bench {

inline const std::string kSmallRequest =
    "POST /v1/chat/completions HTTP/1.1\r\n"
    "Host: gateway:30000\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: 1024\r\n\r\n";

/// 60 fields: a client behind proxies that each add some.
inline std::string large_request() {
  std::string head =
      "POST /v1/chat/completions HTTP/1.1\r\n"
      "Host: gateway:30000\r\n"
      "Content-Type: application/json\r\n"
      "Content-Length: 1024\r\n"
      "Authorization: Bearer sk-0123456789abcdef0123456789abcdef\r\n"
      "X-Request-Id: 2f1c7d30-6a0f-4c0e-9d54-0f7f2a3f9c11\r\n"
      "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n"
      "Connection: keep-alive\r\n";
  for (int i = 0; i < 53; ++i) {
    head += "X-Forwarded-Detail-" + std::to_string(i) + ": " + std::string(64, 'v') + "\r\n";
  }
  return head + "\r\n";
}

inline const std::string kResponse =
    "HTTP/1.1 200 OK\r\n"
    "Date: Mon, 30 Nov 2026 12:00:00 GMT\r\n"
    "Server: uvicorn\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: 600\r\n\r\n";

}  // namespace smg::bench
