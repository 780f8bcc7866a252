#pragma once

#include <boost/system/result.hpp>

#include <smg/base/error.hpp>

namespace smg {

/// Found by boost::system::result when `value()` is called on an error: a bug in the caller, since
/// the data plane asks first.
[[noreturn]] void throw_exception_from_error(const GatewayError& error,
                                             const boost::source_location& where);

/// A value, or the error that took its place.
template <class T = void>
class [[nodiscard]] Result : public boost::system::result<T, GatewayError> {
 public:
  using boost::system::result<T, GatewayError>::result;
};

/// Shorthand for the error side: `return fail(ErrorCode::BodyStalled, "…")`.
[[nodiscard]] inline GatewayError fail(ErrorCode code, std::string message = {}) {
  return GatewayError{code, std::move(message)};
}

}  // namespace smg
