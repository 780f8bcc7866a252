#include <set>

#include <gtest/gtest.h>

#include <smg/base/uuid.hpp>

namespace smg {
namespace {

TEST(Uuid, NewOnesHaveVersionSevenAndTheRfcVariant) {
  for (int i = 0; i < 100; ++i) {
    const std::string id = make_uuid();
    EXPECT_TRUE(is_uuid(id)) << id;
    EXPECT_EQ(id[14], '7') << id;
    EXPECT_NE(std::string_view("89ab").find(id[19]), std::string_view::npos) << id;
  }
}

TEST(Uuid, NewOnesDiffer) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(make_uuid());
  EXPECT_EQ(ids.size(), 1000U);
}

TEST(Uuid, OnlyTheHyphenatedFormIsOne) {
  EXPECT_TRUE(is_uuid("01a22aa0-4b32-70d1-8cec-c303fb238eb0"));
  EXPECT_TRUE(is_uuid("01A22AA0-4B32-70D1-8CEC-C303FB238EB0"));
  for (const char* text :
       {"", "abc", "01a22aa04b3270d18cecc303fb238eb0", "01a22aa0-4b32-70d1-8cec-c303fb238eb",
        "g1a22aa0-4b32-70d1-8cec-c303fb238eb0", "01a22aa0-4b32-70d1-8cec-c303fb238eb00",
        "01a22aa-04b32-70d1-8cec-c303fb238eb0"}) {
    EXPECT_FALSE(is_uuid(text)) << text;
  }
}

}  // namespace
}  // namespace smg
