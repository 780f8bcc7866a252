#include "net/loopback.hpp"

#include <gtest/gtest.h>

namespace smg::net {
namespace {

TEST(Loopback, IsToldByTheAddress) {
  struct Case {
    const char* address;
    bool loopback;
  };
  for (const auto& [address, loopback] :
       {Case{"127.0.0.1", true}, Case{"127.255.0.3", true}, Case{"128.0.0.1", false},
        Case{"10.127.0.1", false}, Case{"0.0.0.0", false}, Case{"::1", true}, Case{"::", false},
        Case{"::2", false}, Case{"::ffff:127.0.0.1", true}, Case{"::ffff:10.0.0.1", false},
        Case{"7f00::1", false}}) {
    const auto endpoint = literal_endpoint(address, 80);
    ASSERT_TRUE(endpoint) << address;
    EXPECT_EQ(is_loopback(*endpoint), loopback) << address;
  }
  EXPECT_FALSE(is_loopback(Endpoint{}));
}

}  // namespace
}  // namespace smg::net
