#include "control/pod.hpp"

#include <gtest/gtest.h>

namespace smg::control {
namespace {

using config::ModelIdSource;
using Ports = std::vector<std::uint16_t>;

constexpr std::string_view kReady = R"([{"type":"Initialized","status":"True"},
                                        {"type":"Ready","status":"True"}])";

std::string pod_json(std::string_view meta = "", std::string_view ip = "10.0.0.7",
                     std::string_view phase = "Running", std::string_view conditions = kReady) {
  return R"({"kind":"Pod","metadata":{"name":"p","namespace":"n","uid":"u","resourceVersion":"7")" +
         std::string(meta) + R"(},"spec":{},"status":{"phase":")" + std::string(phase) +
         R"(","podIP":")" + std::string(ip) + R"(","conditions":)" + std::string(conditions) + "}}";
}

std::string event_json(std::string_view type, std::string_view object) {
  return R"({"type":")" + std::string(type) + R"(","object":)" + std::string(object) + "}";
}

Pod read(std::string_view json, const config::Discovery& settings = {}) {
  auto event = PodReader(settings).read_event(event_json("ADDED", json));
  EXPECT_TRUE(event) << json;
  return event ? event->pod : Pod{};
}

TEST(PodReader, SaysWhatDiscoveryNeeds) {
  EXPECT_EQ(read(pod_json()), (Pod{"n", "p", "u", "10.0.0.7", true, {80}, ""}));
  EXPECT_EQ(read(R"({"metadata":{"name":"new","resourceVersion":"1"}})"),
            (Pod{"", "new", "", "", false, {80}, ""}));
}

TEST(PodReader, SaysWhetherAPodIsReady) {
  const struct {
    std::string json;
    bool ready;
  } cases[] = {
      {pod_json(), true},
      {pod_json("", "10.0.0.7", "Pending"), false},
      {pod_json("", "10.0.0.7", "Succeeded"), false},
      {pod_json("", "10.0.0.7", "Failed"), false},
      {pod_json("", "10.0.0.7", "Running", "[]"), false},
      {pod_json("", "10.0.0.7", "Running", "null"), false},
      {pod_json("", "10.0.0.7", "Running", R"([{"type":"Ready","status":"False"}])"), false},
      {pod_json("", "10.0.0.7", "Running", R"([{"type":"Ready","status":"Unknown"}])"), false},
      {pod_json("", "10.0.0.7", "Running", R"([{"type":"Initialized","status":"True"}])"), false},
      {pod_json(R"(,"deletionTimestamp":"2030-01-01T00:00:00Z")"), false},
      {pod_json(R"(,"deletionTimestamp":null)"), true},
      {pod_json("", ""), false},
      {pod_json("", "not an address"), false},
  };
  for (const auto& c : cases) EXPECT_EQ(read(c.json).ready, c.ready) << c.json;
}

TEST(PodReader, SpellsAddressesInOneWay) {
  EXPECT_EQ(read(pod_json("", "fd00:0:0::1")).ip, "fd00::1");
  EXPECT_EQ(read(pod_json("", "10.0.0.7")).ip, "10.0.0.7");
}

TEST(PodReader, TakesPortsFromTheAnnotation) {
  config::Discovery settings;
  settings.port = 8000;
  const struct {
    std::string_view annotations;
    Ports ports;
  } cases[] = {
      {R"({})", {8000}},
      {R"({"smg.ai/worker-ports":"9000"})", {9000}},
      {R"({"smg.ai/worker-ports":"9000, 9001,9000"})", {9000, 9001}},
      {R"({"smg.ai/worker-ports":""})", {8000}},
      {R"({"smg.ai/worker-ports":"0"})", {8000}},
      {R"({"smg.ai/worker-ports":"65536"})", {8000}},
      {R"({"smg.ai/worker-ports":"9000,x"})", {8000}},
      {R"({"smg.ai/worker-ports":9000})", {8000}},
      {R"(null)", {8000}},
  };
  for (const auto& c : cases) {
    const auto pod = read(pod_json(R"(,"annotations":)" + std::string(c.annotations)), settings);
    EXPECT_EQ(pod.ports, c.ports) << c.annotations;
  }
}

TEST(PodReader, TakesTheModelFromWhereItIsTold) {
  const std::string json = pod_json(
      R"(,"labels":{"model":"from-label"},"annotations":{"example.com/model":"org/from-note"})");
  using Kind = ModelIdSource::Kind;
  const struct {
    ModelIdSource source;
    std::string_view model;
  } cases[] = {
      {{}, ""},
      {{Kind::Namespace, ""}, "n"},
      {{Kind::Label, "model"}, "from-label"},
      {{Kind::Label, "other"}, ""},
      {{Kind::Annotation, "example.com/model"}, "org/from-note"},
      {{Kind::Annotation, "model"}, ""},
  };
  for (const auto& c : cases) {
    config::Discovery settings;
    settings.model_id_from = c.source;
    EXPECT_EQ(read(json, settings).model_id, c.model);
  }
}

TEST(PodReader, TakesFromAnnotationsHowCachesChangeHands) {
  config::Discovery settings;
  const auto pod = read(pod_json(R"(,"annotations":{"sglang.ai/bootstrap-port":" 9001",
      "smg.ai/kv-connector":"NixlConnector","smg.ai/kv-engine-id":"e1, e2"})"),
                        settings);
  EXPECT_EQ(pod.bootstrap_port, 9001);
  EXPECT_EQ(pod.kv_connector, "NixlConnector");
  EXPECT_EQ(pod.kv_engine_ids, (std::vector<std::string>{"e1", "e2"}));
  settings.kv_connector_annotation = "own/connector";
  settings.kv_engine_id_annotation = "own/id";
  const auto own = read(pod_json(R"(,"annotations":{"sglang.ai/bootstrap-port":"none",
      "smg.ai/kv-connector":"x","own/connector":"c","own/id":"i"})"),
                        settings);
  EXPECT_EQ(own.bootstrap_port, std::nullopt);
  EXPECT_EQ(own.kv_connector, "c");
  EXPECT_EQ(own.kv_engine_ids, std::vector<std::string>{"i"});
}

TEST(PodReader, ReadsEvents) {
  const config::Discovery settings;
  PodReader reader(settings);
  const struct {
    std::string_view type;
    PodEvent::Kind kind;
  } cases[] = {{"ADDED", PodEvent::Kind::Changed},
               {"MODIFIED", PodEvent::Kind::Changed},
               {"DELETED", PodEvent::Kind::Deleted},
               {"BOOKMARK", PodEvent::Kind::Bookmark}};
  for (const auto& c : cases) {
    const auto event = reader.read_event(event_json(c.type, pod_json()));
    ASSERT_TRUE(event) << c.type;
    EXPECT_EQ(event->kind, c.kind) << c.type;
    EXPECT_EQ(event->version, "7") << c.type;
  }
  const auto error =
      reader.read_event(event_json("ERROR", R"({"kind":"Status","code":410,"message":"too old"})"));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, PodEvent::Kind::Error);
  EXPECT_EQ(error->code, 410);
  EXPECT_EQ(error->message, "too old");
}

TEST(PodReader, RefusesWhatIsNoEvent) {
  const config::Discovery settings;
  PodReader reader(settings);
  const std::string cases[] = {
      "",
      "{",
      "[]",
      R"({"type":"ADDED"})",
      R"({"object":{}})",
      event_json("ADDED", R"({"metadata":{"name":"p"}})"),
      event_json("ADDED", R"({"metadata":{"resourceVersion":"1"}})"),
      event_json("ADDED", R"({"metadata":{"name":5,"resourceVersion":"1"}})"),
      event_json("RENAMED", pod_json()),
      event_json("BOOKMARK", R"({"kind":"Pod"})"),
  };
  for (const auto& json : cases) EXPECT_FALSE(reader.read_event(json)) << json;
}

TEST(PodReader, ReadsPages) {
  const config::Discovery settings;
  PodReader reader(settings);
  const auto page = reader.read_page(R"({"kind":"PodList","metadata":{"resourceVersion":"12",
      "continue":"token=="},"items":[)" +
                                     pod_json() + "]}");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->version, "12");
  EXPECT_EQ(page->next, "token==");
  ASSERT_EQ(page->pods.size(), 1U);
  EXPECT_EQ(page->pods[0].key(), "n/p");
  for (const char* empty : {R"({"metadata":{"resourceVersion":"1"},"items":[]})",
                            R"({"metadata":{"resourceVersion":"1"},"items":null})"}) {
    const auto none = reader.read_page(empty);
    ASSERT_TRUE(none) << empty;
    EXPECT_TRUE(none->pods.empty());
    EXPECT_EQ(none->next, "");
  }
}

TEST(PodReader, RefusesWhatIsNoPage) {
  const config::Discovery settings;
  PodReader reader(settings);
  for (const char* json :
       {"", "<html>", R"({"kind":"Status"})", R"({"metadata":{"resourceVersion":"1"}})",
        R"({"metadata":{},"items":[]})", R"({"metadata":{"resourceVersion":"1"},"items":[5]})",
        R"({"metadata":{"resourceVersion":"1"},"items":"none"})",
        R"({"metadata":{"resourceVersion":"1"},"items":[{}]})"}) {
    EXPECT_FALSE(reader.read_page(json)) << json;
  }
}

TEST(PodReader, ReadsRefusals) {
  const config::Discovery settings;
  PodReader reader(settings);
  EXPECT_EQ(reader.read_refusal(R"({"kind":"Status","message":"pods is forbidden"})"),
            "pods is forbidden");
  EXPECT_EQ(reader.read_refusal(R"({"kind":"Pod","message":"x"})"), "");
  EXPECT_EQ(reader.read_refusal("Unauthorized"), "");
}

}  // namespace
}  // namespace smg::control
