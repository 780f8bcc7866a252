#include <string_view>

#include <gtest/gtest.h>

#include <smg/relay/provider_profile.hpp>

namespace smg::relay {
namespace {

TEST(ProviderProfile, TheFirstSegmentWithAProfileDecides) {
  using enum ProviderProfile;
  struct Case {
    ProviderProfile profile;
    std::string_view model;
  };
  const Case cases[] = {
      {MiniMax, "minimax"},
      {MiniMax, "MiniMax-M2"},
      {MiniMax, "MINIMAX-TEXT-01"},
      {MiniMax, "minimaxx"},
      {MiniMax, "minimax:free"},
      {MiniMax, "MiniMaxAI/MiniMax-M2"},
      {MiniMax, "abab"},
      {MiniMax, "ABAB6.5s-chat"},
      {MiniMax, "a/b/c/abab5"},
      {MiniMax, "/models/MiniMax-M2"},
      {MiniMax, "//minimax"},
      {MiniMax, "minimax/"},
      {MiniMax, "minimax/kimi-k2"},
      {MiniMax, "abab/glm-4"},
      {MiniMax, "qwen/minimax"},
      {MiniMax, "deepseek-v3/minimax-m2"},
      {MiniMax, "deepseek-v4-flash-x/minimax"},
      {Kimi, "kimi/minimax"},
      {Kimi, "Kimi-K2"},
      {Kimi, "moonshotai/MiniMax-M2"},
      {Zai, "zai-org/minimax"},
      {Zai, "z-ai/minimax"},
      {Zai, "a/GLM/minimax"},
      {DeepSeek, "deepseek-flash"},
      {DeepSeek, "DeepSeek-V4-Flash/minimax"},
      {DeepSeek, "x/deepseek-v4-pro"},
      {None, ""},
      {None, "/"},
      {None, "m"},
      {None, "minima"},
      {None, "aba"},
      {None, "xminimax"},
      {None, "my-minimax"},
      {None, "x:minimax"},
      {None, "mini/max"},
      {None, "deepseek"},
      {None, "deepseek-v3"},
      {None, "z.ai"},
      {None, "z_ai"},
      {None, "zhipu/thudm"},
      {None, "openai/gpt-4"},
      {None, "m\u0130n\u0131max"},
      {None, "\uff4d\uff49\uff4e\uff49\uff4d\uff41\uff58"},
  };
  for (const auto& [profile, model] : cases) {
    EXPECT_EQ(provider_profile_of(model), profile) << model;
  }
}

}  // namespace
}  // namespace smg::relay
