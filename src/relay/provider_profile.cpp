#include <smg/base/text.hpp>
#include <smg/relay/provider_profile.hpp>

namespace smg::relay {
namespace {

struct Rule {
  std::string_view name;
  bool whole;  ///< the segment is `name`; otherwise it starts with it
  ProviderProfile profile;

  [[nodiscard]] constexpr bool matches(std::string_view segment) const noexcept {
    return text::starts_with_ignoring_case(segment, name) &&
           (!whole || segment.size() == name.size());
  }
};

constexpr Rule kRules[] = {
    {"minimax", false, ProviderProfile::MiniMax},
    {"abab", false, ProviderProfile::MiniMax},
    {"kimi", false, ProviderProfile::Kimi},
    {"moonshot", false, ProviderProfile::Kimi},
    {"zai", false, ProviderProfile::Zai},
    {"z-ai", false, ProviderProfile::Zai},
    {"glm", false, ProviderProfile::Zai},
    {"deepseek-flash", true, ProviderProfile::DeepSeek},
    {"deepseek-v4-flash", true, ProviderProfile::DeepSeek},
    {"deepseek-v4-pro", true, ProviderProfile::DeepSeek},
};

}  // namespace

ProviderProfile provider_profile_of(std::string_view model) noexcept {
  while (true) {
    const auto slash = model.find('/');
    const auto segment = model.substr(0, slash);
    for (const Rule& rule : kRules) {
      if (rule.matches(segment)) return rule.profile;
    }
    if (slash == std::string_view::npos) return ProviderProfile::None;
    model.remove_prefix(slash + 1);
  }
}

}  // namespace smg::relay
