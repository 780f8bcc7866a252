#include "control/pod_follower.hpp"

#include <iterator>

#include "control/call_pauses.hpp"
#include <smg/observability/log.hpp>

namespace smg::control {
namespace {

/// The API server ends each watch after a time between these; at random, so that the watches of
/// many gateways do not end together.
constexpr std::chrono::seconds kShortestWatch(240);
constexpr std::chrono::seconds kLongestWatch(300);
/// A watch that has lasted for this long was worth its while, even if nothing happened. More than
/// it takes to give up connecting.
constexpr net::Duration kLongEnough = std::chrono::seconds(15);
constexpr int kMostPages = 1000;
constexpr int kGone = 410;

std::chrono::seconds watch_length(double draw) {
  const auto spread = static_cast<double>((kLongestWatch - kShortestWatch).count());
  return kShortestWatch + std::chrono::seconds(static_cast<std::int64_t>(spread * draw));
}

GatewayError failed(std::string why) {
  return fail(ErrorCode::UpstreamBodyFailed, std::move(why));
}

}  // namespace

PodFollower::PodFollower(PodSource source, const config::PodSelector& selector,
                         routing::WorkerRole role)
    : source_(source), selector_(selector), reader_(source.settings), fleet_(role) {}

net::Task<> PodFollower::run() {
  CallPauses pauses;
  while (!source_.scope.cancelled()) {
    const bool lists = version_.empty();
    const auto began = net::Clock::now();
    Result<> ended;
    events_ = 0;
    if (lists) {
      ended = co_await list();
    } else {
      ended = co_await watch();
    }
    if (source_.scope.cancelled()) co_return;
    if (!ended) report(lists ? "list" : "watch", ended.error());
    // A list alone is no success: without a watch behind it there would be one after the other.
    if (lists && ended) continue;
    const bool worth_it = events_ > 0 || (!lists && net::Clock::now() - began >= kLongEnough);
    const auto pause = pauses.after(ended.has_value(), worth_it, relay::random_draw());
    if (pause > net::Duration::zero()) co_await source_.scope.sleep(pause);
  }
}

net::Task<Result<>> PodFollower::list() {
  std::vector<Pod> pods;
  std::string next;
  for (int pages = 0; pages < kMostPages; ++pages) {
    auto response = co_await source_.client.list(source_.scope, selector_, next);
    if (!response) co_return response.error();
    if (response->status != 200) co_return refusal(*response);
    auto page = reader_.read_page(response->body);
    if (!page) co_return page.error();
    std::move(page->pods.begin(), page->pods.end(), std::back_inserter(pods));
    next = std::move(page->next);
    if (!next.empty()) continue;
    observability::log_info("pods listed", {{"pods", pods.size()}, {"version", page->version}});
    fleet_.replace(std::move(pods));
    version_ = std::move(page->version);
    listed_ = true;
    last_failure_.clear();
    source_.news.open();
    co_return Result<>();
  }
  co_return failed("The list of pods has no end");
}

net::Task<Result<>> PodFollower::watch() {
  std::optional<GatewayError> error;
  auto response = co_await source_.client.watch(
      source_.scope, selector_, version_, watch_length(relay::random_draw()),
      [this, &error](std::string_view line) { return take_event(line, error); });
  // From an error that the API server tells of, no watch goes on.
  if (error || (response && response->status == kGone)) version_.clear();
  if (error) co_return *error;
  if (!response) co_return response.error();
  if (response->status != 200) co_return refusal(*response);
  co_return Result<>();
}

bool PodFollower::take_event(std::string_view line, std::optional<GatewayError>& error) {
  auto event = reader_.read_event(line);
  if (!event) {
    error = event.error();
    return false;
  }
  if (event->kind == PodEvent::Kind::Error) {
    error = failed("status " + std::to_string(event->code) + ": " + event->message);
    return false;
  }
  ++events_;
  last_failure_.clear();
  version_ = event->version;
  if (fleet_.apply(*event)) source_.news.open();
  return true;
}

GatewayError PodFollower::refusal(const upstream::FetchedResponse& response) {
  return failed("status " + std::to_string(response.status) + ": " +
                reader_.read_refusal(response.body));
}

/// The same failure again and again is told of once.
void PodFollower::report(std::string_view call, const GatewayError& error) {
  source_.metrics.count_failure(call);
  const bool again = error.message == last_failure_;
  last_failure_ = error.message;
  observability::log(again ? observability::LogLevel::Debug : observability::LogLevel::Warn,
                     "the API server cannot be asked for pods",
                     {{"call", call}, {"reason", error.message}});
}

}  // namespace smg::control
