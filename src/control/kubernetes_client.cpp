#include "control/kubernetes_client.hpp"

#include <algorithm>
#include <fstream>

#include "control/query.hpp"
#include "control/worker_facts.hpp"
#include <smg/config/issuer_url.hpp>

namespace smg::control {
namespace {

constexpr net::Duration kConnectTimeout = std::chrono::seconds(10);
constexpr net::Duration kListTimeout = std::chrono::seconds(60);
/// How much later than asked for a watch may end.
constexpr net::Duration kWatchSlack = std::chrono::seconds(15);
constexpr int kPodsOfAPage = 250;
constexpr std::size_t kLongestPage = 32UL * 1024 * 1024;
/// The API server stores objects of up to 1.5 MiB.
constexpr std::size_t kLongestLine = 4UL * 1024 * 1024;
constexpr std::size_t kLongestToken = 64UL * 1024;
constexpr std::size_t kLongestRefusal = 64UL * 1024;

net::TlsClientSettings tls_settings(const config::Discovery& settings) {
  net::TlsClientSettings tls;
  if (!settings.api_url.starts_with("https://")) return tls;
  tls.ca_cert_paths = {settings.ca_cert_path};
  tls.trust_system = false;
  return tls;
}

/// The token's file, or nothing if it cannot be read.
std::string read_token(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kLongestToken, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return token_in(text);
}

upstream::Origin origin_at(const std::string& url) {
  const auto parsed = config::parse_issuer_url(url);
  return parsed ? origin_of(parsed->server) : upstream::Origin{};
}

}  // namespace

std::string pods_target(const config::Discovery& settings, const config::PodSelector& selector) {
  std::string terms;
  for (const auto& [key, content] : selector) {
    terms += (terms.empty() ? "" : ",") + key + "=" + content;
  }
  const auto& name = settings.pod_namespace;
  return "/api/v1/" + (name.empty() ? "" : "namespaces/" + name + "/") +
         "pods?labelSelector=" + percent_encoded(terms);
}

std::string token_in(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  // It becomes part of a field line.
  const bool printable = std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
  return printable ? std::string(text) : std::string();
}

KubernetesClient::KubernetesClient(const config::Discovery& settings, net::IoThreads& threads)
    : settings_(settings), tls_(std::make_unique<net::TlsClient>(tls_settings(settings))) {
  upstream::PoolSettings pool;
  pool.connect_timeout = std::chrono::duration_cast<config::Seconds>(kConnectTimeout);
  pool_ = std::make_shared<upstream::HostPool>(threads, *tls_, origin_at(settings.api_url), pool);
}

KubernetesClient::~KubernetesClient() = default;

void KubernetesClient::close() {
  pool_->retire();
}

upstream::FetchRequest KubernetesClient::request(std::string target) const {
  upstream::FetchRequest request;
  request.target = std::move(target);
  request.api_key = read_token(settings_.token_path);
  return request;
}

net::Task<Result<upstream::FetchedResponse>> KubernetesClient::list(
    CancelScope& scope, const config::PodSelector& selector, std::string next) {
  std::string target = pods_target(settings_, selector) + "&limit=" + std::to_string(kPodsOfAPage);
  if (!next.empty()) target += "&continue=" + percent_encoded(next);
  auto response =
      co_await scope.fetch(pool_, request(std::move(target)), kListTimeout, kLongestPage);
  co_return response;
}

net::Task<Result<upstream::FetchedResponse>> KubernetesClient::watch(
    CancelScope& scope, const config::PodSelector& selector, std::string version,
    std::chrono::seconds length, std::function<bool(std::string_view)> take) {
  std::string target =
      pods_target(settings_, selector) +
      "&watch=true&allowWatchBookmarks=true&timeoutSeconds=" + std::to_string(length.count()) +
      "&resourceVersion=" + percent_encoded(version);
  LineSplitter lines(kLongestLine);
  bool too_long = false;
  const auto take_piece = [&](std::string_view piece) {
    const auto outcome = lines.feed(piece, take);
    too_long = outcome == LineSplitter::Outcome::TooLong;
    return outcome == LineSplitter::Outcome::Taken;
  };
  auto response = co_await scope.fetch_stream(pool_, request(std::move(target)),
                                              length + kWatchSlack, kLongestRefusal, take_piece);
  if (too_long)
    co_return fail(ErrorCode::UpstreamResponseTooLarge, "A line of the watch is too long");
  co_return response;
}

}  // namespace smg::control
