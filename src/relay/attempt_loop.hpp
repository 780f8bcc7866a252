#pragma once

#include <span>
#include <string_view>

#include "relay/services.hpp"
#include <smg/relay/inference_relay.hpp>

namespace smg::relay {

/// An attempt's end that another attempt may follow; any other end is the request's.
enum class Step : std::uint8_t { Answered, TryAgain };

/// Makes the attempts of one request.
class AttemptMaker {
 public:
  AttemptMaker() = default;
  AttemptMaker(const AttemptMaker&) = delete;
  AttemptMaker& operator=(const AttemptMaker&) = delete;
  virtual ~AttemptMaker() = default;

  /// One attempt. `last`: no other will follow, so that any answer is the client's.
  [[nodiscard]] virtual net::Task<Result<Step>> attempt(bool last) = 0;
};

/// Makes attempts until one is the last by the retry rule, with pauses between them. `types`: the
/// worker types that retries are counted for.
[[nodiscard]] net::Task<Result<>> attempt_until_done(const Services& services,
                                                     RequestContext& request, AttemptMaker& maker,
                                                     std::span<const std::string_view> types);

/// What an attempt finds once the last worker of its model has left the fleet.
[[nodiscard]] GatewayError nobody_left();

/// Counts an attempt that has found no worker.
void count_unselected(const Services& services, const GatewayError& error);

/// Counts that the last attempt has failed too.
void count_exhausted(const Services& services, const RequestContext& request,
                     std::span<const std::string_view> types);

}  // namespace smg::relay
