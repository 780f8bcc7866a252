#include <algorithm>

#include <smg/relay/cors.hpp>

namespace smg::relay {
namespace {

using std::string_view;

/// What clients of the APIs send; a page of a listed origin may send what it asks for besides.
constexpr string_view kUsualHeaders =
    "content-type,authorization,x-api-key,anthropic-version,anthropic-beta";

/// Asked names as they may be repeated: nothing but names, commas and blanks.
string_view asked_headers(const http::RequestHead& preflight) noexcept {
  const auto names = preflight.value("access-control-request-headers");
  const bool plain = std::ranges::all_of(names, [](char c) {
    const char l = text::lower(c);
    return (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == ',' ||
           c == ' ';
  });
  return plain ? names : string_view{};
}

}  // namespace

CorsPolicy::CorsPolicy(const std::vector<std::string>& allowed_origins) {
  if (std::ranges::find(allowed_origins, "*") == allowed_origins.end()) origins_ = allowed_origins;
}

CorsAnswer CorsPolicy::answer(const http::RequestHead& request) const noexcept {
  if (origins_.empty()) return {};
  CorsAnswer answer{{}, {}, true};
  const auto known = std::ranges::find(origins_, request.value("origin"));
  if (known != origins_.end()) {
    answer.allow_origin = *known;
    answer.expose_headers = "x-request-id";
  }
  return answer;
}

CorsPolicy::Permission CorsPolicy::permission(const http::RequestHead& preflight) const {
  const string_view asked = asked_headers(preflight);
  // A star does not stand for Authorization.
  if (origins_.empty()) return {"*", asked.empty() ? "*" : std::string(asked)};
  if (answer(preflight).allow_origin.empty()) return {};
  Permission granted{"GET,POST,PUT,PATCH,DELETE,OPTIONS", std::string(kUsualHeaders)};
  if (!asked.empty()) granted.headers.append(",").append(asked);
  return granted;
}

http::Fields CorsPolicy::Permission::fields() const {
  if (methods.empty()) return {};
  return {{"access-control-allow-methods", methods},
          {"access-control-allow-headers", headers},
          {"access-control-max-age", "3600"}};
}

bool is_preflight(const http::RequestHead& request) noexcept {
  return request.method == http::Method::Options && request.find("origin") != nullptr &&
         request.find("access-control-request-method") != nullptr;
}

}  // namespace smg::relay
