#include "control/issuer_keys.hpp"

#include <simdjson.h>

#include "control/worker_facts.hpp"
#include <smg/config/issuer_url.hpp>
#include <smg/observability/log.hpp>

namespace smg::control {
namespace {

constexpr net::Duration kLifetime = std::chrono::hours(1);
/// From here on they are fetched anew beside their use, so that nobody waits when they expire.
constexpr net::Duration kRenewAfter = std::chrono::minutes(50);
constexpr net::Duration kTimeout = std::chrono::seconds(5);
constexpr std::size_t kLimit = 1024 * 1024;

GatewayError unusable(std::string why) {
  return fail(ErrorCode::UpstreamBodyFailed, std::move(why));
}

}  // namespace

/// Somebody who waits for the end of a fetch, on the own thread.
struct IssuerKeys::Waiter {
  explicit Waiter(net::IoThread& its_thread) : thread(its_thread), gate(its_thread.executor()) {}
  net::IoThread& thread;
  net::Gate gate;
};

IssuerKeys::IssuerKeys(const config::GatewayConfig& config, net::IoThreads& threads,
                       upstream::PoolDirectory& pools)
    : settings_(config.access),
      connect_timeout_(config.upstream.connect_timeout),
      home_(threads[0]),
      pools_(pools),
      scope_(home_),
      tasks_(home_.executor()) {}

void IssuerKeys::prefetch() {
  const std::lock_guard lock(mutex_);
  ensure_fetch();
}

net::Task<> IssuerKeys::stop() {
  scope_.cancel();
  co_await tasks_.join();
}

// ---- on the threads of requests -----------------------------------------------------------------

bool IssuerKeys::ensure_fetch() {
  if (fetching_) return true;
  if (!allowance_.take(net::Clock::now())) return false;
  fetching_ = true;
  home_.post([this] { tasks_.spawn(run_fetch()); });
  return true;
}

IssuerKeys::KeysPtr IssuerKeys::fresh_keys() const {
  return keys_ && net::Clock::now() - fetched_at_ < kLifetime ? keys_ : nullptr;
}

net::Task<IssuerKeys::KeysPtr> IssuerKeys::current(net::IoThread& thread, net::AbortSwitch& abort) {
  {
    const std::lock_guard lock(mutex_);
    if (auto keys = fresh_keys()) {
      if (net::Clock::now() - fetched_at_ >= kRenewAfter) ensure_fetch();
      co_return keys;
    }
  }
  co_await wait_for_fetch(thread, abort);
  const std::lock_guard lock(mutex_);
  co_return fresh_keys();
}

net::Task<IssuerKeys::KeysPtr> IssuerKeys::newer_than(KeysPtr seen, net::IoThread& thread,
                                                      net::AbortSwitch& abort) {
  {
    const std::lock_guard lock(mutex_);
    if (keys_ != seen) co_return fresh_keys();
  }
  co_await wait_for_fetch(thread, abort);
  const std::lock_guard lock(mutex_);
  co_return keys_ == seen ? nullptr : fresh_keys();
}

net::Task<> IssuerKeys::wait_for_fetch(net::IoThread& thread, net::AbortSwitch& abort) {
  const auto waiter = std::make_shared<Waiter>(thread);
  {
    const std::lock_guard lock(mutex_);
    if (!ensure_fetch()) co_return;
    waiting_.push_back(waiter);
  }
  co_await net::wait_or_abort(waiter->gate, abort);
}

// ---- on thread 0 --------------------------------------------------------------------------------

net::Task<> IssuerKeys::run_fetch() {
  auto fetched = co_await fetch_keys();
  finish(std::move(fetched));
}

void IssuerKeys::finish(Result<KeysPtr> fetched) {
  if (fetched) {
    observability::log_info("the token issuer's keys have been fetched",
                            {{"keys", static_cast<std::uint64_t>((*fetched)->size())}});
  } else {
    observability::log_warn("the token issuer's keys cannot be fetched",
                            {{"reason", fetched.error().message}});
  }
  const std::lock_guard lock(mutex_);
  fetching_ = false;
  if (fetched) {
    keys_ = std::move(*fetched);
    fetched_at_ = net::Clock::now();
  }
  for (auto& waiter : std::exchange(waiting_, {})) {
    net::IoThread& thread = waiter->thread;
    thread.post([waiter = std::move(waiter)] { waiter->gate.open(); });
  }
}

net::Task<Result<IssuerKeys::KeysPtr>> IssuerKeys::fetch_keys() {
  auto url = co_await find_key_set();
  if (!url) co_return url.error();
  const auto document = co_await get(std::move(*url));
  if (!document) co_return document.error();
  co_return WebKeys::parse(*document);
}

net::Task<Result<std::string>> IssuerKeys::find_key_set() {
  if (!settings_.jwt_jwks_uri.empty()) co_return settings_.jwt_jwks_uri;
  const auto document = co_await get(config::discovery_url(settings_.jwt_issuer));
  if (!document) co_return document.error();
  co_return key_set_url(*document, settings_.jwt_issuer);
}

net::Task<Result<std::string>> IssuerKeys::get(std::string url) {
  auto parsed = config::parse_issuer_url(url);
  if (!parsed) co_return parsed.error();
  upstream::PoolSettings settings;
  settings.connect_timeout =
      std::chrono::duration_cast<config::Seconds>(std::min(connect_timeout_, kTimeout));
  upstream::FetchRequest request;
  request.target = std::move(parsed->target);
  auto pool = pools_.find_or_create(origin_of(parsed->server), settings);
  auto response = co_await scope_.fetch(std::move(pool), std::move(request), kTimeout, kLimit);
  if (!response) co_return response.error();
  if (response->status != 200) {
    co_return unusable("the issuer answers with status " + std::to_string(response->status));
  }
  co_return std::move(response->body);
}

Result<std::string> key_set_url(std::string_view document, std::string_view issuer) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(document);
  simdjson::dom::object found;
  std::string_view named;
  std::string_view url;
  if (parser.parse(padded).get(found) != simdjson::SUCCESS ||
      found.at_key("issuer").get(named) != simdjson::SUCCESS ||
      found.at_key("jwks_uri").get(url) != simdjson::SUCCESS) {
    return unusable("the discovery document cannot be read");
  }
  // OpenID Connect Discovery 4.3: otherwise one issuer could speak for another.
  if (named != issuer) return unusable("the discovery document is another issuer's");
  if (issuer.starts_with("https://") && !url.starts_with("https://")) {
    return unusable("the issuer's keys are not behind https");
  }
  return std::string(url);
}

}  // namespace smg::control
