#include "relay/target.hpp"

#include <gtest/gtest.h>

#include "unit/routing/test_fleet.hpp"

namespace smg::relay {
namespace {

using config::RouterMode;

class TargetTest : public testing::Test {
 protected:
  TargetTest() {
    routing::ModelPools pools;
    routing::ModelPairs pairs;
    routing::Worker* const worker = &fleet_.add();
    const auto pool = [&](std::string model) {
      return routing::ModelPool{std::move(model), {worker}, routing::make_policy("random"), {}};
    };
    pools[""] = pool("");
    for (const auto model : {"whole", "both"}) pools[model] = pool(model);
    for (const auto model : {"", "shared", "both"}) pairs[model] = {pool(model), pool(model)};
    table_.emplace(fleet_.workers, std::move(pools),
                   std::map<std::string, std::string, std::less<>>{{"nick", "shared"}}, nullptr,
                   std::move(pairs));
  }

  /// "pool:" or "pairs:" and the model; or the code.
  std::string find(RouterMode mode, const std::optional<std::string>& model,
                   InferenceRoute route = InferenceRoute::Generate, double draw = 0.5) {
    const auto target = find_target(mode, *table_, route, model, draw);
    if (!target) return std::string(row(target.error().code).wire_code);
    return (target->pool != nullptr ? "pool:" : "pairs:") + target->model();
  }

  routing::TestFleet fleet_;
  std::optional<routing::WorkerTable> table_;
};

TEST_F(TargetTest, FollowsModeAndModel) {
  const struct {
    RouterMode mode;
    std::optional<std::string> model;
    std::string_view expected;
  } cases[] = {
      {RouterMode::Regular, "whole", "pool:whole"},
      {RouterMode::Regular, "shared", "model_not_found"},
      {RouterMode::Regular, std::nullopt, "pool:"},
      {RouterMode::Regular, "", "model_not_found"},
      {RouterMode::PrefillDecode, "shared", "pairs:shared"},
      {RouterMode::PrefillDecode, "nick", "pairs:shared"},
      {RouterMode::PrefillDecode, "whole", "no_available_workers"},
      {RouterMode::PrefillDecode, std::nullopt, "pairs:"},
      {RouterMode::MultiModel, "whole", "pool:whole"},
      {RouterMode::MultiModel, "shared", "pairs:shared"},
      {RouterMode::MultiModel, "nope", "model_not_found"},
      {RouterMode::MultiModel, "", "model_not_found"},
      {RouterMode::MultiModel, std::nullopt, "missing_model"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(find(c.mode, c.model), c.expected) << c.model.value_or("none");
  }
}

TEST_F(TargetTest, AModelWithoutPairsMayBeAskedForAgain) {
  for (const auto model : {"nope", "whole", ""}) {
    const auto none =
        find_target(RouterMode::PrefillDecode, *table_, InferenceRoute::Generate, model, 0.5);
    ASSERT_FALSE(none) << model;
    EXPECT_EQ(none.error().retry_after_seconds, 1) << model;
  }
}

TEST_F(TargetTest, AModelOfBothKindsIsDrawn) {
  const auto draw = [&](double number) {
    return find(RouterMode::MultiModel, "both", InferenceRoute::Generate, number);
  };
  EXPECT_EQ(draw(0.6), "pairs:both") << "two of three workers";
  EXPECT_EQ(draw(0.7), "pool:both");
}

TEST_F(TargetTest, PairsOnlyGenerate) {
  using enum InferenceRoute;
  for (const auto route : {Embeddings, Classify}) {
    EXPECT_EQ(find(RouterMode::PrefillDecode, "shared", route), "not_implemented");
    EXPECT_EQ(find(RouterMode::MultiModel, "shared", route), "not_implemented");
    EXPECT_EQ(find(RouterMode::MultiModel, "both", route, 0.0), "pool:both");
  }
}

}  // namespace
}  // namespace smg::relay
