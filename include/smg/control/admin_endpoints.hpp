#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <smg/control/worker_registry.hpp>
#include <smg/http/message.hpp>

namespace smg::control {

/// A call of a route that the gateway answers itself. The body has been read whole.
struct AdminRequest {
  http::Method method = http::Method::Get;
  std::string path;   ///< raw, without query
  std::string query;  ///< raw, without the question mark
  std::string body;
  std::string content_type;   ///< empty: none was given
  std::string authorization;  ///< a secret: passed on to a worker where the route says so
};

struct AdminResponse {
  int status = 200;
  std::string content_type;  ///< empty: no body
  std::string body;
  std::vector<std::pair<std::string, std::string>> fields;  ///< further fields
  std::string error_code;                                   ///< for X-SMG-Error-Code; empty: none
};

/// What is fixed about a route. Refers to literals.
struct AdminRoute {
  std::string_view path_template;  ///< also the label of metrics
  std::string_view allow;          ///< the value of an Allow field
  bool is_probe;                   ///< served on the probe port too
  bool takes_body;                 ///< POST, PUT and PATCH read a body
};

/// The routes that are not inference: probes, the workers API, and what speaks for the fleet.
class AdminEndpoints {
 public:
  /// Both arguments must outlive the endpoints.
  AdminEndpoints(const config::GatewayConfig& config, WorkerRegistry& registry)
      : config_(config), registry_(registry) {}

  /// The route of an exact raw path (spec, shell 2.2); nothing: not one of ours.
  [[nodiscard]] std::optional<AdminRoute> match(std::string_view path) const;

  /// Whether the route has this method; HEAD goes with GET.
  [[nodiscard]] bool allows(const AdminRoute& route, http::Method method) const;

  /// Answers a request whose path matched and whose method is allowed; HEAD as GET. On any io
  /// thread, `thread` being the caller's. `abort` gives up what asks workers; the answer is of no
  /// use then.
  [[nodiscard]] net::Task<AdminResponse> handle(net::IoThread& thread, AdminRequest request,
                                                net::AbortSwitch* abort = nullptr);

  /// From now on `/readiness` says draining. Thread-safe.
  void set_draining() noexcept { draining_.store(true, std::memory_order_relaxed); }

 private:
  [[nodiscard]] AdminResponse readiness() const;
  [[nodiscard]] AdminResponse model_list() const;
  [[nodiscard]] AdminResponse workers_collection(const AdminRequest& request);
  [[nodiscard]] AdminResponse one_worker(const AdminRequest& request);

  [[nodiscard]] net::Task<AdminResponse> call_workers(net::IoThread& thread, std::string_view path,
                                                      AdminRequest request,
                                                      net::AbortSwitch* abort);

  const config::GatewayConfig& config_;
  WorkerRegistry& registry_;
  std::atomic<bool> draining_{false};
};

}  // namespace smg::control
