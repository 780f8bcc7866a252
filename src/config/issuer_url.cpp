#include <smg/config/issuer_url.hpp>

namespace smg::config {
namespace {

bool is_this_machine(std::string_view host) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1";
}

}  // namespace

Result<IssuerUrl> parse_issuer_url(std::string_view text) {
  const auto separator = text.find("://");
  const auto start = separator == std::string_view::npos ? text.size() : separator + 3;
  const auto end = std::min(text.find_first_of("/?#", start), text.size());
  auto server = parse_worker_url(text.substr(0, end));
  if (!server) return server.error();
  if (server->scheme != "https" && !(server->scheme == "http" && is_this_machine(server->host))) {
    return fail(ErrorCode::BadRequest, "must be https://, or http:// with localhost");
  }
  std::string target(text.substr(end, text.find('#') - end));
  for (const char c : target) {
    if (c <= ' ' || c > '~') return fail(ErrorCode::BadRequest, "invalid character in the URL");
  }
  if (!target.starts_with('/')) target.insert(0, "/");
  return IssuerUrl{std::move(*server), std::move(target)};
}

std::string discovery_url(std::string_view issuer) {
  while (issuer.ends_with('/')) issuer.remove_suffix(1);
  return std::string(issuer) + "/.well-known/openid-configuration";
}

}  // namespace smg::config
