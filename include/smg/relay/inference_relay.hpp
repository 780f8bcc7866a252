#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <smg/config/gateway_config.hpp>
#include <smg/config/inference_route.hpp>
#include <smg/http/client_exchange.hpp>
#include <smg/observability/metrics.hpp>
#include <smg/observability/request_trace.hpp>
#include <smg/relay/body_path.hpp>
#include <smg/relay/cors.hpp>
#include <smg/relay/fleet_view.hpp>
#include <smg/relay/header_rules.hpp>

namespace smg::relay {

/// One inference request on its way, and what becomes known of it.
struct RequestContext {
  http::ClientExchange& client;
  InferenceRoute route;
  const RequestId& request_id;
  std::chrono::steady_clock::time_point started;
  /// Called with the status of a worker's response just before its head goes to the client.
  std::function<void(int)> head_goes_out{};
  /// Called, maybe again, when the last bytes are about to go to a client that has all before them.
  std::function<void()> about_to_complete{};
  bool hides_credential = false;  ///< no worker may see the client's credential
  CorsAnswer cors{};
  observability::RequestTrace* trace = nullptr;  ///< to be told of the attempts; nullptr: none

  // Filled in by the relay, for metrics and the access log.
  BodyPath path = BodyPath::Buffered;
  bool streaming = false;    ///< the parsed body asked for a stream
  bool minimax = false;      ///< the model that the client named has the MiniMax profile
  bool shared = false;       ///< a prefill and a decode worker share it
  std::string model{};       ///< canonical id; empty: unknown
  std::string worker_url{};  ///< of the last attempt
  int status = 0;            ///< of the relayed response; 0: none was written
  bool counted = false;      ///< smg_router_requests_total has it

  /// What the labels say is known: smg_router_requests_total counts the request.
  void count(observability::Metrics& metrics) {
    metrics.count_router_request(labels());
    counted = true;
  }

  /// A head with this status is about to go to the client.
  void announce_head(int its_status) {
    status = its_status;
    if (head_goes_out) head_goes_out(its_status);
  }

  [[nodiscard]] observability::RouterLabels labels() const noexcept {
    return {model.empty() ? std::string_view("unknown") : std::string_view(model),
            facts(route).endpoint, streaming, shared ? "pd" : "regular"};
  }
};

/// Brings inference requests to workers and their answers back. One for the process; its work runs
/// on the thread of each request.
class InferenceRelay {
 public:
  InferenceRelay(const config::GatewayConfig& config, observability::Metrics& metrics,
                 const FleetView& fleet)
      : config_(config), metrics_(metrics), fleet_(fleet) {}

  /// Decides the body path, and relays the request on it. An error is one that the client has not
  /// been told yet, unless `client.head_written()`: then the response has broken off.
  [[nodiscard]] net::Task<Result<>> run(RequestContext& request);

 private:
  [[nodiscard]] RouterState router_state(const routing::WorkerTable& table) const noexcept;

  const config::GatewayConfig& config_;
  observability::Metrics& metrics_;
  const FleetView& fleet_;
};

}  // namespace smg::relay
