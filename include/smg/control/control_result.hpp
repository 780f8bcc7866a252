#pragma once

#include <string>
#include <utility>

#include <boost/system/result.hpp>

namespace smg::control {

/// Why the control plane refuses a call: the status, and the body `{"error":message,"code":code}`.
struct ControlError {
  int status = 400;
  std::string code;
  std::string message;
};

/// Found by boost::system::result when `value()` is called on an error: a bug in the caller.
[[noreturn]] void throw_exception_from_error(const ControlError& error,
                                             const boost::source_location& where);

/// A value, or the refusal that took its place.
template <class T>
class [[nodiscard]] ControlResult : public boost::system::result<T, ControlError> {
 public:
  using boost::system::result<T, ControlError>::result;
};

/// 400 for a value that is understood and cannot be.
[[nodiscard]] inline ControlError bad_request(std::string message) {
  return {400, "BAD_REQUEST", std::move(message)};
}

}  // namespace smg::control
