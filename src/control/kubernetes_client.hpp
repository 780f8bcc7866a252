#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "control/cancel_scope.hpp"
#include "control/line_splitter.hpp"
#include <smg/config/discovery.hpp>

namespace smg::control {

/// Asks the API server for pods, over connections of its own. On one IoThread, which may be held up
/// by reading the token's file: not one that serves requests.
class KubernetesClient {
 public:
  /// All arguments must outlive the client. Throws std::runtime_error for a CA file that cannot be
  /// used.
  KubernetesClient(const config::Discovery& settings, net::IoThreads& threads);
  ~KubernetesClient();
  KubernetesClient(const KubernetesClient&) = delete;
  KubernetesClient& operator=(const KubernetesClient&) = delete;

  /// Closes the connections behind their calls. From any thread.
  void close();

  /// One page of the pods of `selector`; `next` as the page before has it, or empty. Errors: as of
  /// upstream::fetch.
  [[nodiscard]] net::Task<Result<upstream::FetchedResponse>> list(
      CancelScope& scope, const config::PodSelector& selector, std::string next);

  /// What happens to them from `version` on: `take` is given each line until it returns false.
  /// Ends after `length` at the latest. Errors: as of upstream::fetch_stream;
  /// UpstreamResponseTooLarge for a line beyond 4 MiB.
  [[nodiscard]] net::Task<Result<upstream::FetchedResponse>> watch(
      CancelScope& scope, const config::PodSelector& selector, std::string version,
      std::chrono::seconds length, std::function<bool(std::string_view)> take);

 private:
  [[nodiscard]] upstream::FetchRequest request(std::string target) const;

  const config::Discovery& settings_;
  std::unique_ptr<net::TlsClient> tls_;
  std::shared_ptr<upstream::HostPool> pool_;
};

/// The path of the pods in --service-discovery-namespace, or of all, with a selector as its query.
[[nodiscard]] std::string pods_target(const config::Discovery& settings,
                                      const config::PodSelector& selector);

/// The text of a token's file without blanks around it; empty for what cannot be a token.
[[nodiscard]] std::string token_in(std::string_view text);

}  // namespace smg::control
