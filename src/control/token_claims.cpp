#include "control/token_claims.hpp"

#include <simdjson.h>

namespace smg::control {
namespace {

using config::Role;
using simdjson::dom::element;
using simdjson::dom::object;
using std::string_view;

constexpr double kLeewaySeconds = 30;

/// Calls `visit` with the texts of a claim that is a text or an array of them; whether it is there.
template <class Visit>
bool for_each_text(object claims, string_view name, Visit visit) {
  element claim;
  if (claims.at_key(name).get(claim) != simdjson::SUCCESS || claim.is_null()) return false;
  string_view text;
  simdjson::dom::array list;
  if (claim.get(text) == simdjson::SUCCESS) {
    visit(text);
  } else if (claim.get(list) == simdjson::SUCCESS) {
    for (const auto item : list) {
      if (item.get(text) == simdjson::SUCCESS) visit(text);
    }
  }
  return true;
}

/// The fault of the time claims, or nothing.
string_view time_fault(object claims, double now) {
  double expires = 0;
  if (claims.at_key("exp").get(expires) != simdjson::SUCCESS) return "no expiry";
  if (!(now <= expires + kLeewaySeconds)) return "expired";
  element claim;
  if (claims.at_key("nbf").get(claim) != simdjson::SUCCESS) return {};
  double begins = 0;
  if (claim.get(begins) != simdjson::SUCCESS) return "not valid yet";
  return now + kLeewaySeconds >= begins ? string_view{} : "not valid yet";
}

string_view origin_fault(object claims, const config::Access& settings) {
  string_view issuer;
  if (claims.at_key("iss").get(issuer) != simdjson::SUCCESS || issuer != settings.jwt_issuer) {
    return "another issuer";
  }
  bool for_us = false;
  for_each_text(claims, "aud", [&](string_view audience) {
    for_us = for_us || audience == settings.jwt_audience;
  });
  return for_us ? string_view{} : "another audience";
}

std::optional<Role> role_of(string_view word, const std::map<std::string, Role>& mapping) {
  if (mapping.empty()) return config::role_named(word);
  const auto known = mapping.find(std::string(word));
  return known == mapping.end() ? std::nullopt : std::optional(known->second);
}

Role best_role(object claims, const std::map<std::string, Role>& mapping) {
  for (const string_view name : {"roles", "role", "groups", "group"}) {
    Role best = Role::User;
    const bool is_there = for_each_text(claims, name, [&](string_view word) {
      if (role_of(word, mapping) == Role::Admin) best = Role::Admin;
    });
    if (is_there) return best;
  }
  return Role::User;
}

JudgedClaims bad(string_view fault) {
  return {std::nullopt, fault};
}

}  // namespace

JudgedClaims judge_claims(string_view json, const config::Access& settings,
                          std::chrono::system_clock::time_point now) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(json);
  object claims;
  if (parser.parse(padded).get(claims) != simdjson::SUCCESS) return bad("unreadable claims");
  const double seconds = std::chrono::duration<double>(now.time_since_epoch()).count();
  if (const auto fault = time_fault(claims, seconds); !fault.empty()) return bad(fault);
  if (const auto fault = origin_fault(claims, settings); !fault.empty()) return bad(fault);
  Principal principal{"unnamed", AuthMethod::Jwt, best_role(claims, settings.jwt_roles)};
  string_view subject;
  if (claims.at_key("sub").get(subject) == simdjson::SUCCESS) principal.id = subject;
  return {std::move(principal), {}};
}

}  // namespace smg::control
