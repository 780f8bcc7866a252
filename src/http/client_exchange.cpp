#include <smg/http/client_exchange.hpp>

namespace smg::http {

net::Task<Result<std::size_t>> ClientExchange::read_body(std::span<char> into) {
  for (;;) {
    if (auto got = try_read_body(into)) co_return *got;
    co_await arrival();
  }
}

}  // namespace smg::http
