#include <stdexcept>

#include <smg/control/control_result.hpp>

namespace smg::control {

void throw_exception_from_error(const ControlError& error, const boost::source_location&) {
  throw std::logic_error("value() of a refused call: " + error.message);
}

}  // namespace smg::control
