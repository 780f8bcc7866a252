#pragma once

#include "gateway/admission.hpp"
#include "gateway/error_response.hpp"
#include "gateway/inflight_ages.hpp"
#include <smg/control/access_guard.hpp>
#include <smg/control/admin_endpoints.hpp>
#include <smg/control/token_authority.hpp>
#include <smg/control/trace_exporter.hpp>
#include <smg/relay/inference_relay.hpp>

namespace smg::gateway {

/// What happens to a request from its head to its access-log line: the route, the checks that come
/// before it, the relay or endpoint that answers, the rendering of errors, metrics.
class RequestLifecycle final : public http::RequestHandler {
 public:
  RequestLifecycle(const config::GatewayConfig& config, observability::Metrics& metrics,
                   Admission& admission, InflightAges& ages, relay::InferenceRelay& relay,
                   control::AdminEndpoints& admin, control::TokenAuthority& tokens,
                   control::TraceExporter& traces)
      : config_(config),
        metrics_(metrics),
        admission_(admission),
        ages_(ages),
        relay_(relay),
        admin_(admin),
        guard_(config.access),
        tokens_(tokens),
        traces_(traces),
        cors_(config.access.cors_allowed_origins) {}

  [[nodiscard]] net::Task<> handle(http::ClientExchange& client) override;

 private:
  struct Request;
  struct Route;

  [[nodiscard]] net::Task<> dispatch(Request& request);
  [[nodiscard]] bool may_run_at_once(Request& request);
  [[nodiscard]] net::Task<> judge_and_proceed(Request& request, Route route);
  [[nodiscard]] net::Task<> proceed(Request& request, const Route& route,
                                    const control::Verdict& verdict);
  [[nodiscard]] net::Task<> wait_and_run_inference(Request& request, InferenceRoute route);
  [[nodiscard]] net::Task<> run_inference(Request& request, InferenceRoute route);
  [[nodiscard]] net::Task<> run_admin(Request& request, control::AdminRoute route);
  [[nodiscard]] bool answer_preflight(Request& request);
  [[nodiscard]] net::Task<control::Verdict> judge_token(Request& request);
  [[nodiscard]] bool is_admitted(Request& request, const control::Verdict& verdict);
  void audit(const Request& request, const control::Verdict& verdict) const;
  [[nodiscard]] bool refuse_early(Request& request, std::string_view allow, bool method_allowed);
  void record_inference(Request& request, const GatewayError* error);
  void observe_success(Request& request);
  void answer(Request& request, const PlainResponse& response, const http::Fields& further = {});
  void head_goes_out(Request& request, int status);
  void fail_internally(Request& request);
  void finish(Request& request);
  void begin_trace(Request& request);
  void end_trace(Request& request) noexcept;

  const config::GatewayConfig& config_;
  observability::Metrics& metrics_;
  Admission& admission_;
  InflightAges& ages_;
  relay::InferenceRelay& relay_;
  control::AdminEndpoints& admin_;
  control::AccessGuard guard_;
  control::TokenAuthority& tokens_;
  control::TraceExporter& traces_;
  relay::CorsPolicy cors_;
};

/// The id of a request: the client's own, from the first configured field that has an acceptable
/// one, or a new one with the prefix of the path.
[[nodiscard]] relay::RequestId request_id_of(const http::RequestHead& head,
                                             const std::vector<std::string>& id_fields);

/// Writes a response of the gateway's own, whole, with the fields that all responses carry.
void write_plain(http::ClientExchange& client, const PlainResponse& response,
                 std::string_view request_id, const relay::CorsAnswer& cors,
                 const http::Fields& further = {});

}  // namespace smg::gateway
