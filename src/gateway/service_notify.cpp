#include "gateway/service_notify.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace smg::gateway {

void notify_service_manager(std::string_view state) noexcept {
  // Nobody changes the environment. NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* name = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  const std::size_t length = name != nullptr ? std::strlen(name) : 0;
  if (length < 2 || length >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name, length);
  // "@" stands for the zero byte of the abstract namespace.
  if (name[0] == '@') address.sun_path[0] = '\0';
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  ::sendto(descriptor, state.data(), state.size(), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address), size);
  ::close(descriptor);
}

}  // namespace smg::gateway
