#include <smg/upstream/upstream_exchange.hpp>

namespace smg::upstream {

net::Task<Result<const http::ResponseHead*>> UpstreamExchange::read_head() {
  for (;;) {
    if (auto head = try_read_head()) co_return *head;
    co_await arrival();
  }
}

net::Task<Result<std::size_t>> UpstreamExchange::read_body(std::span<char> into) {
  for (;;) {
    if (auto got = try_read_body(into)) co_return *got;
    co_await arrival();
  }
}

}  // namespace smg::upstream
