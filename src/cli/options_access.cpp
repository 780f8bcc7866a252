#include <array>

#include "cli/options.hpp"

namespace smg::cli {
namespace {

/// Nobody can present an empty key, and no token is from an issuer without a name.
std::function<void(const Words&)> into_nonempty(std::string& target) {
  return [&target](const Words& words) {
    if (words.front().empty()) throw ValueError("Must not be empty");
    target = words.front();
  };
}

/// `ID:NAME:ROLE:KEY`. No message repeats the word: any part of a malformed one may be the key.
config::ControlKey to_control_key(std::string_view word, const std::string& position) {
  std::array<std::string_view, 3> parts;
  for (auto& part : parts) {
    const auto colon = word.find(':');
    if (colon == std::string_view::npos) {
      throw ValueError(position + " - Must be <id>:<name>:<role>:<key>");
    }
    part = word.substr(0, colon);
    word.remove_prefix(colon + 1);
  }
  const auto role = config::role_named(parts[2]);
  if (!role) throw ValueError(position + " - The role must be admin or user");
  if (word.empty()) throw ValueError(position + " - The key must not be empty");
  return {std::string(parts[0]), std::string(parts[1]), *role, std::string(word)};
}

void add_control_keys(std::vector<config::ControlKey>& keys, const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    keys.push_back(to_control_key(words[i], "key " + std::to_string(i + 1)));
  }
}

void add_roles(std::map<std::string, config::Role>& roles, const Words& words) {
  Words reasons;
  for (const auto& word : words) {
    // The last one: names of directories have some of their own.
    const auto equals = word.rfind('=');
    const auto role = equals == std::string::npos || equals == 0
                          ? std::nullopt
                          : config::role_named(std::string_view(word).substr(equals + 1));
    if (role) {
      roles[word.substr(0, equals)] = *role;
    } else {
      reasons.push_back(word + " - Must be <their role>=admin or <their role>=user");
    }
  }
  if (!reasons.empty()) throw ValueError(std::move(reasons));
}

void bind_tokens(FlagSet& flags, config::Access& access) {
  const auto add = [&flags](const FlagText& text, std::string& target, std::string variable) {
    flags.add({text, "none", Arity::One, into_nonempty(target), {std::move(variable)}})
        .fails_closed = true;
  };
  add({"--jwt-issuer", "URL",
       "identity provider whose tokens the control plane takes; else from JWT_ISSUER"},
      access.jwt_issuer, "JWT_ISSUER");
  add({"--jwt-audience", "TEXT", "what those tokens must be meant for; else from JWT_AUDIENCE"},
      access.jwt_audience, "JWT_AUDIENCE");
  add({"--jwt-jwks-uri", "URL",
       "the provider's key set, if its discovery is not to be asked; else from JWT_JWKS_URI"},
      access.jwt_jwks_uri, "JWT_JWKS_URI");
  flags
      .add({{"--jwt-role-mapping", "ROLE=ROLE...",
             "roles of the provider, and admin or user for each"},
            "the same names",
            Arity::AtLeastOne,
            [&roles = access.jwt_roles](const Words& words) { add_roles(roles, words); }})
      .fails_closed = true;
}

}  // namespace

void bind_access(FlagSet& flags, config::Access& access) {
  flags.group("Access");
  flags
      .add({{"--api-key", "KEY",
             "key that clients must present as a Bearer credential or in x-api-key, and that "
             "workers without a key of their own are shown"},
            "none",
            Arity::One,
            into_nonempty(access.api_key)})
      .fails_closed = true;
  flags.list({"--cors-allowed-origins", "ORIGIN...",
              "origins whose pages browsers let call the gateway; none or *: any"},
             access.cors_allowed_origins);
  flags
      .add({{"--control-plane-api-keys", "ID:NAME:ROLE:KEY...",
             "keys of the control plane, roles admin and user; else from CONTROL_PLANE_API_KEYS"},
            "none",
            Arity::AtLeastOne,
            [&keys = access.control_keys](const Words& words) { add_control_keys(keys, words); },
            {"CONTROL_PLANE_API_KEYS"}})
      .fails_closed = true;
  bind_tokens(flags, access);
  flags.toggle({"--control-plane-audit-enabled", "", "log every call of the control plane"},
               access.audit);
}

}  // namespace smg::cli
