#pragma once

#include <chrono>
#include <string_view>

namespace smg::observability {

/// One call of the control plane, allowed or not (spec, shell section 4). The strings need to live
/// only for the call.
struct AuditRecord {
  std::chrono::system_clock::time_point time;
  std::string_view principal;    ///< the id of a key, a token's subject, or "unauthenticated"
  std::string_view auth_method;  ///< api_key, jwt, none
  std::string_view role;         ///< admin, user; empty: none
  std::string_view method;
  std::string_view path;
  std::string_view resource;  ///< the path's template; empty: the path is not served
  bool allowed = false;
  std::string_view request_id;
  std::string_view details;  ///< why it was denied
};

/// Logs the record at INFO as `control_plane_audit`.
void write_audit(const AuditRecord& record);

}  // namespace smg::observability
