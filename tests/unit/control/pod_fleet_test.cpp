#include "control/pod_fleet.hpp"

#include <gtest/gtest.h>

#include "control/call_pauses.hpp"
#include "control/kubernetes_client.hpp"
#include "control/line_splitter.hpp"

namespace smg::control {
namespace {

using Wanted = std::map<std::string, PodFacts>;
using routing::WorkerRole;
using std::chrono::milliseconds;

Pod ready_pod(std::string name, std::string ip, std::vector<std::uint16_t> ports = {8000}) {
  return {"n", name, "uid-" + name, std::move(ip), true, std::move(ports), ""};
}

PodEvent event(PodEvent::Kind kind, Pod pod) {
  return {kind, std::move(pod), "1", 0, ""};
}

TEST(PodFleet, AsksForAWorkerAtEachPortOfEachReadyPod) {
  PodFleet fleet(WorkerRole::Regular);
  Pod unready = ready_pod("c", "10.0.0.3");
  unready.ready = false;
  fleet.replace({ready_pod("a", "10.0.0.1", {8000, 80}), ready_pod("b", "fd00::2"), unready});
  EXPECT_EQ(fleet.workers(), (Wanted{{"http://10.0.0.1:8000", {"a", "uid-a", ""}},
                                     {"http://10.0.0.1", {"a", "uid-a", ""}},
                                     {"http://[fd00::2]:8000", {"b", "uid-b", ""}}}));
  fleet.replace({ready_pod("b", "10.0.0.9")});
  EXPECT_EQ(fleet.workers(), (Wanted{{"http://10.0.0.9:8000", {"b", "uid-b", ""}}}));
}

TEST(PodFleet, FollowsEvents) {
  using Kind = PodEvent::Kind;
  PodFleet fleet(WorkerRole::Regular);
  EXPECT_TRUE(fleet.apply(event(Kind::Changed, ready_pod("a", "10.0.0.1"))));
  EXPECT_FALSE(fleet.apply(event(Kind::Changed, ready_pod("a", "10.0.0.1"))));
  EXPECT_EQ(fleet.workers().size(), 1U);
  Pod other = ready_pod("a", "10.0.0.2");
  other.pod_namespace = "elsewhere";
  EXPECT_TRUE(fleet.apply(event(Kind::Changed, other)));
  EXPECT_EQ(fleet.workers().size(), 2U);
  EXPECT_FALSE(fleet.apply(event(Kind::Bookmark, {})));
  EXPECT_FALSE(fleet.apply(event(Kind::Error, {})));
  EXPECT_FALSE(fleet.apply(event(Kind::Deleted, ready_pod("b", ""))));
  EXPECT_TRUE(fleet.apply(event(Kind::Deleted, ready_pod("a", ""))));
  EXPECT_TRUE(fleet.workers().contains("http://10.0.0.2:8000"));
  EXPECT_EQ(fleet.workers().size(), 1U);
}

TEST(PodFleet, OnePodHasAnAddress) {
  PodFleet fleet(WorkerRole::Regular);
  fleet.replace({ready_pod("b", "10.0.0.1"), ready_pod("a", "10.0.0.1")});
  EXPECT_EQ(fleet.workers(), (Wanted{{"http://10.0.0.1:8000", {"b", "uid-b", ""}}}));
}

TEST(PodFleet, SaysHowPairsHandCachesOver) {
  Pod pod = ready_pod("a", "10.0.0.1", {1, 2});
  pod.bootstrap_port = 9001;
  pod.kv_connector = "NixlConnector";
  pod.kv_engine_ids = {"e1"};
  const struct {
    WorkerRole role;
    PodFacts first;
    PodFacts second;
  } cases[] = {
      {WorkerRole::Regular, {"a", "uid-a"}, {"a", "uid-a"}},
      {WorkerRole::Prefill,
       {"a", "uid-a", "", WorkerRole::Prefill, 9001, "NixlConnector", "e1"},
       {"a", "uid-a", "", WorkerRole::Prefill, 9001, "NixlConnector", ""}},
      {WorkerRole::Decode,
       {"a", "uid-a", "", WorkerRole::Decode, {}, "NixlConnector", "e1"},
       {"a", "uid-a", "", WorkerRole::Decode, {}, "NixlConnector", ""}},
  };
  for (const auto& c : cases) {
    PodFleet fleet(c.role);
    fleet.replace({pod});
    EXPECT_EQ(fleet.workers(),
              (Wanted{{"http://10.0.0.1:1", c.first}, {"http://10.0.0.1:2", c.second}}));
  }
}

/// `+url`, `~id` (changed) and `-id`, then `…` if something has to wait.
std::string shown(const DiscoveryPlan& plan) {
  std::string text;
  for (const auto& r : plan.registrations) text += r.id.empty() ? "+" + r.url : "~" + r.id;
  for (const auto& worker : plan.removals) text += "-" + worker.id;
  return text + (plan.unfinished ? "..." : "");
}

TEST(DiscoveryPlan, BringsTheFleetToWhatPodsAskFor) {
  const PodFacts pod{"p", "u", ""};
  const PodFacts successor{"p", "u2", ""};
  const PodFacts renamed{"p", "u", "model"};
  const PodFacts prefill{"p", "u", "", WorkerRole::Prefill};
  const struct {
    const char* what;
    Wanted wanted;
    std::vector<PodWorker> present;
    std::string plan;
  } cases[] = {
      {"nothing at all", {}, {}, ""},
      {"a new pod", {{"A", pod}}, {}, "+A"},
      {"as it should be", {{"A", pod}}, {{"1", "A", pod}}, ""},
      {"gone", {}, {{"1", "A", pod}}, "-1"},
      {"on its way out", {}, {{"1", "A", pod, true}}, ""},
      {"back before it is out", {{"A", pod}}, {{"1", "A", pod, true}}, "..."},
      {"another pod", {{"A", successor}}, {{"1", "A", pod}}, "-1..."},
      {"another pod, the old one on its way out",
       {{"A", successor}},
       {{"1", "A", pod, true}},
       "..."},
      {"another model", {{"A", renamed}}, {{"1", "A", pod}}, "~1"},
      {"another role", {{"A", prefill}}, {{"1", "A", pod}}, "-1..."},
      {"could not be registered", {{"A", pod}}, {{"1", "A", pod, false, true}}, "+A"},
      {"could not be, and is gone", {}, {{"1", "A", pod, false, true}}, "-1"},
      {"moved", {{"B", pod}}, {{"1", "A", pod}}, "+B-1"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(shown(plan_discovery(c.wanted, c.present)), c.plan) << c.what;
}

std::vector<std::string> lines_of(LineSplitter& splitter, std::string_view piece,
                                  LineSplitter::Outcome outcome = LineSplitter::Outcome::Taken,
                                  std::string_view last = "last") {
  std::vector<std::string> lines;
  EXPECT_EQ(splitter.feed(piece,
                          [&](std::string_view line) {
                            lines.emplace_back(line);
                            return line != last;
                          }),
            outcome);
  return lines;
}

TEST(LineSplitter, CutsAtEveryPlace) {
  const std::string stream = "one\n\ntwo two\r\nthree\n";
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    LineSplitter splitter(7 + 1);
    auto lines = lines_of(splitter, std::string_view(stream).substr(0, cut));
    for (auto& line : lines_of(splitter, std::string_view(stream).substr(cut))) {
      lines.push_back(std::move(line));
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "two two", "three"})) << cut;
  }
}

TEST(LineSplitter, IsBounded) {
  using Outcome = LineSplitter::Outcome;
  LineSplitter splitter(4);
  EXPECT_EQ(lines_of(splitter, "1234\n12"), std::vector<std::string>{"1234"});
  EXPECT_EQ(lines_of(splitter, "34\n12"), std::vector<std::string>{"1234"});
  EXPECT_TRUE(lines_of(splitter, "345", Outcome::TooLong).empty());
  LineSplitter whole(4);
  EXPECT_TRUE(lines_of(whole, "12345\n", Outcome::TooLong).empty());
}

TEST(LineSplitter, StopsWhenItIsTold) {
  LineSplitter splitter(10);
  EXPECT_EQ(lines_of(splitter, "a\nlast\nb\n", LineSplitter::Outcome::Stopped),
            (std::vector<std::string>{"a", "last"}));
}

TEST(CallPauses, GrowAndStartAnew) {
  CallPauses pauses;
  EXPECT_EQ(pauses.after(true, true, 0), milliseconds(0));
  EXPECT_EQ(pauses.after(false, true, 0), milliseconds(500));
  EXPECT_EQ(pauses.after(false, false, 0), milliseconds(1000));
  EXPECT_EQ(pauses.after(true, false, 0), milliseconds(2000));
  EXPECT_EQ(pauses.after(false, false, 0.5), milliseconds(3000));
  for (int i = 0; i < 100; ++i) static_cast<void>(pauses.after(false, false, 0));
  EXPECT_EQ(pauses.after(false, false, 0), milliseconds(30'000));
  EXPECT_EQ(pauses.after(false, true, 0), milliseconds(500));
}

TEST(KubernetesClient, AsksForThePodsOfTheSelector) {
  config::Discovery settings;
  EXPECT_EQ(pods_target(settings, {{"app", "vllm"}}), "/api/v1/pods?labelSelector=app%3Dvllm");
  settings.pod_namespace = "serving";
  EXPECT_EQ(pods_target(settings, {{"app", "vllm"}, {"example.com/tier", ""}}),
            "/api/v1/namespaces/serving/"
            "pods?labelSelector=app%3Dvllm%2Cexample.com%2Ftier%3D");
}

TEST(KubernetesClient, TakesATokenThatFitsIntoAField) {
  EXPECT_EQ(token_in(" ey.J_-a\r\n"), "ey.J_-a");
  EXPECT_EQ(token_in("one two"), "");
  EXPECT_EQ(token_in("one\r\nx-forged: 1"), "");
  EXPECT_EQ(token_in(""), "");
}

}  // namespace
}  // namespace smg::control
