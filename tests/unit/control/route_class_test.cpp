#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <smg/config/inference_route.hpp>
#include <smg/control/route_class.hpp>

namespace smg::control {
namespace {

using enum RouteClass;

TEST(RouteClass, IsAsTheTableOfRoutesHasIt) {
  constexpr std::pair<std::string_view, RouteClass> kCases[] = {
      {"/liveness", Open},
      {"/readiness", Open},
      {"/health", Open},
      {"/health_generate", Open},
      {"/engine_metrics", Open},
      {"/v1/models", Open},
      {"/get_model_info", Open},
      {"/get_server_info", Open},
      {"/workers", Control},
      {"/workers/x", Control},
      {"/workers/", Control},
      {"/workers/x/y", Control},
      {"/flush_cache", Control},
      {"/get_loads", Control},
      {"/start_profile", Control},
      {"/stop_profile", Control},
      {"/parse/x", Control},
      {"/v1/tokenizers", Control},
      {"/v1/tokenizers/x", Control},
      {"/wasm", Control},
      {"/v1/responses/x", Data},
      {"/v1/responses/x/cancel", Data},
      {"/v1/conversations", Data},
      {"/v1/conversations/x/items", Data},
      {"/v1/tokenize", Data},
      {"/v1/detokenize", Data},
  };
  for (const auto& [path, expected] : kCases) EXPECT_EQ(route_class(path), expected) << path;
}

TEST(RouteClass, OfAllInferenceRoutesIsData) {
  for (const auto& route : kRouteFacts) EXPECT_EQ(route_class(route.path), Data) << route.path;
}

TEST(RouteClass, OfAPathThatIsNobodysIsOpen) {
  for (const std::string_view path : {"", "/", "*", "/metrics", "/WORKERS", "//workers",
                                      "/workersx", "/%77orkers", "/v1/models/x", "/workers%2fx"}) {
    EXPECT_EQ(route_class(path), Open) << path;
  }
}

}  // namespace
}  // namespace smg::control
