#include "control/web_keys.hpp"

#include <algorithm>
#include <cstdlib>

#include <cjose/cjose.h>
#include <simdjson.h>

namespace smg::control {
namespace {

using std::string_view;

constexpr std::size_t kLongestToken = 16 * 1024;
constexpr std::size_t kLeastRsaBits = 2048;

struct Release {
  void operator()(cjose_jwk_t* key) const noexcept { cjose_jwk_release(key); }
  void operator()(cjose_jws_t* token) const noexcept { cjose_jws_release(token); }
  void operator()(char* text) const noexcept { cjose_get_dealloc()(text); }
};
using JwkPtr = std::unique_ptr<cjose_jwk_t, Release>;
using JwsPtr = std::unique_ptr<cjose_jws_t, Release>;
using TextPtr = std::unique_ptr<char, Release>;

/// The algorithms that a key can be used with; none for keys of no use.
std::vector<string_view> algorithms_of(const cjose_jwk_t& key) {
  cjose_err error{};
  switch (cjose_jwk_get_kty(&key, &error)) {
    case CJOSE_JWK_KTY_RSA:
      if (cjose_jwk_get_keysize(&key, &error) < kLeastRsaBits) return {};
      return {"RS256", "RS384", "RS512"};
    case CJOSE_JWK_KTY_EC:
      switch (cjose_jwk_EC_get_curve(&key, &error)) {
        case CJOSE_JWK_EC_P_256: return {"ES256"};
        case CJOSE_JWK_EC_P_384: return {"ES384"};
        default: return {};
      }
    default: return {};
  }
}

/// The text of an optional member: nothing where it is something else than a text.
std::optional<string_view> text_member(simdjson::dom::object object, string_view name) {
  string_view text;
  const auto code = object.at_key(name).get(text);
  if (code == simdjson::NO_SUCH_FIELD) return string_view{};
  return code == simdjson::SUCCESS ? std::optional(text) : std::nullopt;
}

/// An entry of a key set as far as it matters here.
struct Entry {
  string_view id;
  string_view algorithm;  ///< empty: any that fits the key
};

std::optional<Entry> read_entry(simdjson::dom::object object) {
  const auto id = text_member(object, "kid");
  const auto use = text_member(object, "use");
  const auto algorithm = text_member(object, "alg");
  if (!id || id->empty() || !algorithm || !use) return std::nullopt;
  if (!use->empty() && *use != "sig") return std::nullopt;
  return Entry{*id, *algorithm};
}

std::string header_text(cjose_header_t* header, const char* name) {
  cjose_err error{};
  const char* text = cjose_header_get(header, name, &error);
  return text == nullptr ? std::string() : std::string(text);
}

bool has_member(cjose_header_t* header, const char* name) {
  cjose_err error{};
  return TextPtr(cjose_header_get_raw(header, name, &error)) != nullptr;
}

CheckedToken bad(string_view fault) {
  return {std::nullopt, fault, false};
}

}  // namespace

struct WebKeys::Key {
  std::string id;
  std::vector<std::string> algorithms;
  JwkPtr key;
};

WebKeys::WebKeys() = default;
WebKeys::~WebKeys() = default;

std::size_t WebKeys::size() const noexcept {
  return keys_.size();
}

Result<std::shared_ptr<const WebKeys>> WebKeys::parse(string_view json) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(json);
  simdjson::dom::array entries;
  if (parser.parse(padded)["keys"].get(entries) != simdjson::SUCCESS) {
    return fail(ErrorCode::UpstreamBodyFailed, "the key set cannot be read");
  }
  const std::shared_ptr<WebKeys> keys(new WebKeys);
  for (const auto element : entries) {
    simdjson::dom::object object;
    if (element.get(object) != simdjson::SUCCESS) continue;
    const auto entry = read_entry(object);
    if (!entry) continue;
    const std::string text = simdjson::minify(object);
    cjose_err error{};
    JwkPtr key(cjose_jwk_import(text.data(), text.size(), &error));
    if (!key) continue;
    std::vector<std::string> allowed;
    for (const auto algorithm : algorithms_of(*key)) {
      if (entry->algorithm.empty() || entry->algorithm == algorithm)
        allowed.emplace_back(algorithm);
    }
    if (allowed.empty()) continue;
    keys->keys_.push_back({std::string(entry->id), std::move(allowed), std::move(key)});
  }
  return std::shared_ptr<const WebKeys>(keys);
}

CheckedToken WebKeys::check(string_view token) const {
  if (token.size() > kLongestToken) return bad("too long");
  cjose_err error{};
  const JwsPtr signed_token(cjose_jws_import(token.data(), token.size(), &error));
  if (!signed_token) return bad("not a signed token");
  cjose_header_t* header = cjose_jws_get_protected(signed_token.get());
  // Extensions that must be understood: none is (RFC 7515 4.1.11).
  if (has_member(header, "crit")) return bad("an extension that is not understood");
  const std::string id = header_text(header, "kid");
  if (id.empty()) return bad("no key id");
  const auto key = std::ranges::find(keys_, id, &Key::id);
  if (key == keys_.end()) return {std::nullopt, "unknown key", true};
  if (std::ranges::find(key->algorithms, header_text(header, "alg")) == key->algorithms.end()) {
    return bad("an algorithm that its key is not for");
  }
  if (!cjose_jws_verify(signed_token.get(), key->key.get(), &error)) return bad("wrong signature");
  std::uint8_t* payload = nullptr;
  std::size_t size = 0;
  if (!cjose_jws_get_plaintext(signed_token.get(), &payload, &size, &error))
    return bad("no claims");
  return {std::string(payload, payload + size), {}, false};
}

bool looks_like_token(string_view credential) noexcept {
  return std::ranges::count(credential, '.') == 2;
}

}  // namespace smg::control
