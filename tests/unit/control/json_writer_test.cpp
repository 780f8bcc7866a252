#include "control/json_writer.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace smg::control {
namespace {

TEST(JsonWriter, KeepsTheOrderOfTheCallsAndPlacesTheCommas) {
  JsonWriter json;
  json.begin_object().field("z", 1).field("a", "x").key("inner").begin_object().end_object();
  json.key("list").begin_array().value(true).null().begin_array().end_array().value(2U).end_array();
  json.field("end", false).end_object();
  EXPECT_EQ(json.take(), R"({"z":1,"a":"x","inner":{},"list":[true,null,[],2],"end":false})");
}

TEST(JsonWriter, WritesNumbersInTheirShortestForm) {
  struct Case {
    double number;
    std::string text;
  };
  const Case cases[] = {{1, "1.0"},
                        {2.5, "2.5"},
                        {0.1, "0.1"},
                        {-3, "-3.0"},
                        {1e300, "1e+300"},
                        {0, "0.0"},
                        {std::numeric_limits<double>::infinity(), "null"}};
  for (const auto& [number, text] : cases) {
    JsonWriter json;
    json.value(number);
    EXPECT_EQ(json.take(), text);
  }
  JsonWriter json;
  json.begin_array().value(std::numeric_limits<std::uint64_t>::max()).value(-7).end_array();
  EXPECT_EQ(json.take(), "[18446744073709551615,-7]");
}

TEST(JsonWriter, EscapesKeysAndStrings) {
  JsonWriter json;
  json.begin_object().field("a\"b", "line\nend\\\x01").end_object();
  EXPECT_EQ(json.take(), R"({"a\"b":"line\nend\\\u0001"})");
}

TEST(JsonWriter, WritesLists) {
  JsonWriter json;
  json.begin_object().list("codes", std::vector<std::uint16_t>{500, 503});
  json.list("names", std::vector<std::string>{"a", "b"}).end_object();
  EXPECT_EQ(json.take(), R"({"codes":[500,503],"names":["a","b"]})");
}

}  // namespace
}  // namespace smg::control
