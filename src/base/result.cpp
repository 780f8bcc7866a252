#include <stdexcept>

#include <smg/base/result.hpp>

namespace smg {

void throw_exception_from_error(const GatewayError& error, const boost::source_location&) {
  throw std::logic_error("value() of a failed Result: " + error.message);
}

}  // namespace smg
