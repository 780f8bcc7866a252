#include <gtest/gtest.h>

#include <smg/routing/pd_pairing.hpp>

namespace smg::routing {
namespace {

using Labels = std::map<std::string, std::string>;

TEST(PairingKey, IsMadeOfWhatIsKnownOfAWorker) {
  const struct {
    std::string_view runtime;
    std::string_view connector;
    Labels labels;
    std::string_view text;
  } cases[] = {
      {"unspecified", "", {}, "?/?/?"},
      {"generic", "", {}, "?/?/?"},
      {"sglang", "", {}, "sglang/?/?"},
      {"sglang", "NixlConnector", {}, "sglang/?/?"},
      {"sglang", "", {{"disaggregation_transfer_backend", "Mooncake"}}, "sglang/mooncake/?"},
      {"vllm", "", {}, "vllm/?/?"},
      {"vllm", "NixlConnector", {}, "vllm/nixl/?"},
      {"vllm", "MyMooncakeThing", {}, "vllm/mooncake/?"},
      {"vllm", "Other", {{"disaggregation_transfer_backend", "nixl"}}, "vllm/?/?"},
      {"vllm", "", {{"block_size", "16"}, {"version", "1"}}, "vllm/?/?+16+?+?"},
      {"vllm",
       "",
       {{"kv_cache_dtype", "fp8"},
        {"page_size", "1"},
        {"block_size", "2"},
        {"attention_backend", "fa3"},
        {"model_dtype", "bf16"}},
       "vllm/?/fp8+1+fa3+bf16"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(PairingKey(c.runtime, c.connector, c.labels).text(), c.text);
  }
}

TEST(PairingKey, AnExplicitProtocolIsReadInTheSameParts) {
  const struct {
    std::string_view protocol;
    std::string_view text;
  } cases[] = {{"mine", "mine/?/?"},
               {"a/b", "a/b/?"},
               {"a/?/c", "a/?/c+?+?+?"},
               {"vllm/nixl/fp8+1+fa3+bf16", "vllm/nixl/fp8+1+fa3+bf16"}};
  for (const auto& c : cases) EXPECT_EQ(PairingKey(c.protocol).text(), c.text);
}

TEST(PairingKey, DisagreesOnlyWhereBothKnow) {
  const struct {
    std::string_view a;
    std::string_view b;
    bool agree;
  } cases[] = {{"vllm/nixl", "vllm/nixl", true}, {"vllm/nixl", "vllm/mooncake", false},
               {"vllm/nixl", "vllm/?", true},    {"vllm", "sglang", false},
               {"?", "sglang/nixl", true},       {"a/?/fp8+1", "a/?/fp8+2", false},
               {"a/?/fp8", "a/?/?+2", true}};
  for (const auto& c : cases) {
    EXPECT_EQ(PairingKey(c.a).agrees_with(PairingKey(c.b)), c.agree) << c.a << " " << c.b;
    EXPECT_EQ(PairingKey(c.b).agrees_with(PairingKey(c.a)), c.agree) << c.b << " " << c.a;
  }
}

TEST(KvTransfer, IsThatOfTheExactConnector) {
  EXPECT_EQ(kv_transfer_of("NixlConnector"), KvTransfer::Nixl);
  EXPECT_EQ(kv_transfer_of("MooncakeConnector"), KvTransfer::Mooncake);
  for (const auto other : {"", "nixlconnector", "MultiConnector"}) {
    EXPECT_EQ(kv_transfer_of(other), KvTransfer::Passthrough) << other;
  }
}

}  // namespace
}  // namespace smg::routing
