#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include "support/raw_socket.hpp"
#include "support/run_on.hpp"
#include <smg/net/tcp_stream.hpp>

namespace smg::net {
namespace {

/// A name that the system does not answer for, until it is told to.
constexpr std::string_view kSilent = "silent.test";

struct Silence {
  std::mutex mutex;
  std::condition_variable changed;
  int asked = 0;
  bool over = false;

  void hold() {
    std::unique_lock lock(mutex);
    ++asked;
    changed.notify_all();
    changed.wait(lock, [this] { return over; });
  }
  void until_asked() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return asked > 0; });
  }
  void end() {
    const std::lock_guard lock(mutex);
    over = true;
    changed.notify_all();
  }
};

Silence* silence = nullptr;

}  // namespace
}  // namespace smg::net

/// Takes the place of the C library's in this program.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** result) {
  using Function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  if (node != nullptr && node == smg::net::kSilent) {
    smg::net::silence->hold();
    return EAI_NONAME;
  }
  return real(node, service, hints, result);
}

namespace smg::net {
namespace {

using std::chrono::hours;
using Connected = Result<std::unique_ptr<ByteStream>>;

class ResolverTest : public testing::Test {
 protected:
  ResolverTest() { silence = &held; }
  ~ResolverTest() override { held.end(); }

  std::future<Connected> start_connecting(std::string_view host, AbortSwitch& given_up,
                                          std::uint16_t port = 1) {
    return test::start_on(
        loops[0], [port, &given_up, host = std::string(host)](IoThread& thread) -> Task<Connected> {
          auto connected = co_await connect_tcp(thread, host, port, hours(1), given_up);
          co_return connected;
        });
  }

  Silence held;
  test::Loops loops;
  AbortSwitch abort;
};

TEST_F(ResolverTest, ASilentNameIsGivenUpAtTheTimeout) {
  auto connecting = start_connecting(kSilent, abort);
  held.until_asked();
  while (connecting.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    test::expire_deadlines(loops[0]);
  }
  const auto connected = connecting.get();
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code, ErrorCode::UpstreamTimeout);
}

TEST_F(ResolverTest, ASilentNameIsGivenUpByTheSwitch) {
  auto connecting = start_connecting(kSilent, abort);
  held.until_asked();
  test::call_on(loops[0], [this] { abort.abort(); });
  const auto connected = connecting.get();
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code, ErrorCode::Aborted);
}

TEST_F(ResolverTest, ASilentNameIsAskedForOnceAndHoldsUpNobody) {
  constexpr int kMany = 10;
  AbortSwitch aborts[kMany];
  std::vector<std::future<Connected>> connecting;
  connecting.reserve(kMany);
  for (auto& one : aborts) connecting.push_back(start_connecting(kSilent, one));
  held.until_asked();

  test::RawListener listener;
  auto other = start_connecting("localhost", abort, listener.port()).get();
  ASSERT_TRUE(other);
  test::call_on(loops[0], [&] { other->reset(); });

  EXPECT_EQ(held.asked, 1);
  held.end();
  for (auto& one : connecting) {
    const auto connected = one.get();
    ASSERT_FALSE(connected);
    EXPECT_EQ(connected.error().code, ErrorCode::UpstreamConnect);
  }
}

}  // namespace
}  // namespace smg::net
