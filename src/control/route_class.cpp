#include <array>
#include <utility>

#include <smg/config/inference_route.hpp>
#include <smg/control/route_class.hpp>

namespace smg::control {
namespace {

using enum RouteClass;

/// What is not in the table is open. A path that ends in a slash stands for all that is below it.
constexpr auto kClasses = std::to_array<std::pair<std::string_view, RouteClass>>({
    {"/workers", Control},
    {"/workers/", Control},
    {"/flush_cache", Control},
    {"/get_loads", Control},
    // Not served by this version.
    {"/start_profile", Control},
    {"/stop_profile", Control},
    {"/parse/", Control},
    {"/v1/tokenizers", Control},
    {"/v1/tokenizers/", Control},
    {"/v1/rl/", Control},
    {"/wasm", Control},
    {"/wasm/", Control},
    {"/v1/responses/", Data},
    {"/v1/conversations", Data},
    {"/v1/conversations/", Data},
    {"/v1/tokenize", Data},
    {"/v1/detokenize", Data},
    {"/v1/audio/transcriptions", Data},
    {"/v1/realtime", Data},
    {"/v1/realtime/", Data},
    {"/v1/interactions", Data},
    {"/v1/interactions/", Data},
});

}  // namespace

RouteClass route_class(std::string_view path) noexcept {
  if (inference_route(path)) return Data;
  for (const auto& [known, its_class] : kClasses) {
    if (known.ends_with('/') ? path.starts_with(known) : path == known) return its_class;
  }
  return Open;
}

}  // namespace smg::control
