#include <string>

#include <gtest/gtest.h>

#include <smg/config/discovery.hpp>

namespace smg::config {
namespace {

TEST(Discovery, FindsTheApiServerOfTheCluster) {
  EXPECT_EQ(cluster_api_url("", ""), "");
  EXPECT_EQ(cluster_api_url("", "443"), "");
  EXPECT_EQ(cluster_api_url("10.96.0.1", "443"), "https://10.96.0.1:443");
  EXPECT_EQ(cluster_api_url("10.96.0.1", ""), "https://10.96.0.1");
  EXPECT_EQ(cluster_api_url("fd00::1", "6443"), "https://[fd00::1]:6443");
  EXPECT_EQ(cluster_api_url("kubernetes.default.svc", "443"), "https://kubernetes.default.svc:443");
}

TEST(Discovery, KnowsKeysOfLabels) {
  for (const std::string key : {"a", "app", "A_b.c-9", "app.kubernetes.io/name", "x/y"}) {
    EXPECT_TRUE(is_label_key(key)) << key;
  }
  EXPECT_TRUE(is_label_key(std::string(63, 'a')));
  for (const std::string key :
       {"", "/a", "a/", "a/b/c", "-a", "a-", "a b", "a,b", "A.io/x", "a=b"}) {
    EXPECT_FALSE(is_label_key(key)) << key;
  }
  EXPECT_FALSE(is_label_key(std::string(64, 'a')));
}

TEST(Discovery, KnowsValuesOfLabels) {
  for (const char* value : {"", "v", "V1.2_x-9"}) EXPECT_TRUE(is_label_value(value)) << value;
  for (const char* value : {"a/b", "a b", ".a", "a=", "a,b"}) {
    EXPECT_FALSE(is_label_value(value)) << value;
  }
}

TEST(Discovery, KnowsNamespaces) {
  for (const char* name : {"default", "a", "team-1"}) EXPECT_TRUE(is_namespace(name)) << name;
  for (const char* name : {"", "-a", "a-", "A", "a.b", "a/b", "a?b"}) {
    EXPECT_FALSE(is_namespace(name)) << name;
  }
  EXPECT_FALSE(is_namespace(std::string(64, 'a')));
}

}  // namespace
}  // namespace smg::config
