#pragma once

#include "control/cancel_scope.hpp"
#include <smg/control/admin_endpoints.hpp>

namespace smg::control {

using Workers = std::vector<routing::WorkerPtr>;

/// Passes a GET on to one healthy worker, and its answer back. The client's Authorization beats the
/// worker's key. It is sent once more if the send fails before any response; `on_resend` is told.
/// Errors in the answer: `no_workers`, and the transport's.
[[nodiscard]] net::Task<AdminResponse> ask_one_worker(CancelScope& scope, Workers workers,
                                                      AdminRequest request, std::size_t limit,
                                                      std::function<void()> on_resend);

/// Leaves the workers of one role.
void keep_role(Workers& workers, routing::WorkerRole role);

/// The same GET to one healthy worker of either role that shares requests. The answer says of both
/// how they are: 200 if both answer 2xx, else 503, as text.
[[nodiscard]] net::Task<AdminResponse> ask_pair(CancelScope& scope, Workers workers,
                                                AdminRequest request, std::size_t limit);

/// POST /flush_cache to every worker, unhealthy ones too; to an engine with several ranks once,
/// and never twice.
[[nodiscard]] net::Task<AdminResponse> flush_caches(CancelScope& scope, Workers workers);

/// The workers' own metrics, joined.
[[nodiscard]] net::Task<AdminResponse> engine_metrics(CancelScope& scope, Workers workers);

[[nodiscard]] AdminResponse json_response(int status, std::string body);
[[nodiscard]] AdminResponse text_response(int status, std::string body);
/// `{"error":{"type","code","message","param":null}}`, as errors of inference routes.
[[nodiscard]] AdminResponse error_response(const GatewayError& error);

}  // namespace smg::control
