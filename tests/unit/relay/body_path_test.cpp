#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <smg/relay/body_path.hpp>

namespace smg::relay {
namespace {

using enum BodyPathReason;
constexpr std::uint64_t kLimit = 1 << 20;

/// One request at one router.
struct Case {
  RouterState router;
  BodyFacts request;
};

/// Rule 9 decides: nothing buffers, retries are off.
Case plain() {
  Case c;
  c.router.retries_enabled = false;
  c.router.max_buffered_bytes = kLimit;
  c.request.content_length = kLimit;
  return c;
}

/// A rule of the page's table: how its condition comes true, and what it decides when it is the
/// first.
struct Rule {
  BodyPathReason reason;
  BodyPath path;
  std::function<void(Case&)> make_true;
};

const std::vector<Rule> kRules = {
    {RoutingKeyOverride, BodyPath::Buffered, [](Case& c) { c.router.routing_key_override = true; }},
    {PolicyNeedsText, BodyPath::Buffered, [](Case& c) { c.router.policy_reads_prompt = true; }},
    {ModelAmbiguous, BodyPath::Buffered, [](Case& c) { c.router.model_ambiguous = true; }},
    {WorkerMutatesBody, BodyPath::Buffered, [](Case& c) { c.router.worker_mutates_body = true; }},
    {WasmRequestHook, BodyPath::Buffered, [](Case& c) { c.router.wasm_request_hook = true; }},
    {NoContentLength, BodyPath::Buffered, [](Case& c) { c.request.content_length.reset(); }},
    {Retryable, BodyPath::Buffered,
     [](Case& c) {
       c.router.retries_enabled = true;
       if (c.request.content_length) c.request.content_length = kLimit;
     }},
    {RetryForfeited, BodyPath::Streamed,
     [](Case& c) {
       c.router.retries_enabled = true;
       if (c.request.content_length) c.request.content_length = kLimit + 1;
     }},
};

TEST(BodyPath, EachRuleAloneDecidesWithItsReason) {
  EXPECT_EQ(decide_body_path(plain().router, plain().request),
            (BodyPathDecision{BodyPath::Streamed, PureForward}));
  for (const auto& rule : kRules) {
    Case c = plain();
    rule.make_true(c);
    EXPECT_EQ(decide_body_path(c.router, c.request), (BodyPathDecision{rule.path, rule.reason}))
        << name_of(rule.reason);
  }
}

TEST(BodyPath, OfEveryPairOfRulesTheEarlierWins) {
  for (std::size_t earlier = 0; earlier < kRules.size(); ++earlier) {
    for (std::size_t later = earlier + 1; later < kRules.size(); ++later) {
      // Rules 7 and 8 exclude each other.
      if (kRules[earlier].reason == Retryable && kRules[later].reason == RetryForfeited) continue;
      Case c = plain();
      kRules[earlier].make_true(c);
      kRules[later].make_true(c);
      EXPECT_EQ(decide_body_path(c.router, c.request),
                (BodyPathDecision{kRules[earlier].path, kRules[earlier].reason}))
          << name_of(kRules[earlier].reason) << " before " << name_of(kRules[later].reason);
    }
  }
}

TEST(BodyPath, OfEverySetOfRulesTheEarliestWins) {
  constexpr unsigned kFirstSix = 6;
  for (unsigned set = 1; set < 1U << kFirstSix; ++set) {
    Case c = plain();
    c.router.retries_enabled = true;
    c.request.content_length = 10 * kLimit;
    std::optional<BodyPathReason> earliest;
    for (unsigned i = 0; i < kFirstSix; ++i) {
      if ((set >> i & 1) == 0) continue;
      kRules[i].make_true(c);
      if (!earliest) earliest = kRules[i].reason;
    }
    EXPECT_EQ(decide_body_path(c.router, c.request),
              (BodyPathDecision{BodyPath::Buffered, *earliest}))
        << set;
  }
}

TEST(BodyPath, ATokensHintLiftsTheSecondRuleOnly) {
  for (const auto& rule : kRules) {
    Case c = plain();
    c.router.policy_reads_prompt = true;
    c.request.has_tokens_hint = true;
    rule.make_true(c);
    const auto decision = decide_body_path(c.router, c.request);
    if (rule.reason == PolicyNeedsText) {
      EXPECT_EQ(decision, (BodyPathDecision{BodyPath::Streamed, PureForward}));
    } else {
      EXPECT_EQ(decision, (BodyPathDecision{rule.path, rule.reason})) << name_of(rule.reason);
    }
  }
}

TEST(BodyPath, TheLimitItselfIsBufferedAndOneByteMoreStreams) {
  constexpr auto kMost = std::uint64_t(-1);
  const struct {
    std::uint64_t limit;
    std::uint64_t length;
    bool buffered;
  } cases[] = {{0, 0, true},
               {0, 1, false},
               {1, 0, true},
               {2000, 1999, true},
               {2000, 2000, true},
               {2000, 2001, false},
               {kLimit, kLimit - 1, true},
               {kLimit, kLimit, true},
               {kLimit, kLimit + 1, false},
               {kMost, kMost, true},
               {kMost - 1, kMost, false}};
  for (const auto& c : cases) {
    Case at_limit = plain();
    at_limit.router.max_buffered_bytes = c.limit;
    at_limit.request.content_length = c.length;
    EXPECT_EQ(decide_body_path(at_limit.router, at_limit.request),
              (BodyPathDecision{BodyPath::Streamed, PureForward}))
        << "without retries any size streams: " << c.length;
    at_limit.router.retries_enabled = true;
    const BodyPathDecision expected = c.buffered
                                          ? BodyPathDecision{BodyPath::Buffered, Retryable}
                                          : BodyPathDecision{BodyPath::Streamed, RetryForfeited};
    EXPECT_EQ(decide_body_path(at_limit.router, at_limit.request), expected)
        << c.length << " of " << c.limit;
  }
}

TEST(BodyPath, OtherModesBufferEverything) {
  RouterState router;
  for (const auto mode : {config::RouterMode::MultiModel, config::RouterMode::PrefillDecode}) {
    router.mode = mode;
    const auto reason = mode == config::RouterMode::MultiModel ? ModelSelection : PrefillDecode;
    for (const bool override : {false, true}) {
      router.routing_key_override = override;
      router.retries_enabled = !override;
      for (const std::optional<std::uint64_t> length :
           {std::optional<std::uint64_t>{}, std::optional<std::uint64_t>{1U << 30}}) {
        EXPECT_EQ(decide_body_path(router, {.has_tokens_hint = true, .content_length = length}),
                  (BodyPathDecision{BodyPath::Buffered, reason}));
      }
    }
  }
}

TEST(BodyPath, LateFallbacksNameTheChangedFleet) {
  for (const bool mutates : {false, true}) {
    for (const bool ambiguous : {false, true}) {
      for (const bool selectable : {false, true}) {
        RouterState router;
        router.worker_mutates_body = mutates;
        router.model_ambiguous = ambiguous;
        const auto fallback = late_fallback(router, selectable);
        if (!mutates && !ambiguous) {
          EXPECT_EQ(fallback, selectable ? std::nullopt : std::optional(NoAvailableWorker));
        } else {
          EXPECT_EQ(fallback, mutates ? WorkerMutatesBody : ModelAmbiguous);
        }
      }
    }
  }
}

TEST(BodyPath, LabelsAreThoseOfThePage) {
  const struct {
    BodyPathReason reason;
    std::string_view label;
  } cases[] = {{RoutingKeyOverride, "routing_key_override"},
               {PolicyNeedsText, "policy_needs_text"},
               {ModelAmbiguous, "model_ambiguous"},
               {WorkerMutatesBody, "worker_mutates_body"},
               {WasmRequestHook, "wasm_request_hook"},
               {NoContentLength, "no_content_length"},
               {Retryable, "retryable"},
               {RetryForfeited, "retry_forfeited"},
               {PureForward, "pure_forward"},
               {NoAvailableWorker, "no_available_worker"},
               {ModelSelection, "model_selection"},
               {PrefillDecode, "pd"}};
  for (const auto& c : cases) EXPECT_EQ(name_of(c.reason), c.label);
  EXPECT_EQ(name_of(BodyPath::Buffered), "buffered");
  EXPECT_EQ(name_of(BodyPath::Streamed), "streamed");
}

}  // namespace
}  // namespace smg::relay
