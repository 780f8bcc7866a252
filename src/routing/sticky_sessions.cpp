#include "routing/sticky_sessions.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace smg::routing {
namespace {

std::size_t shard_number(std::string_view key, std::size_t shards) noexcept {
  // The map of a shard takes the low bits.
  return (std::hash<std::string_view>{}(key) >> 32U) % shards;
}

Worker* first_of(std::span<const std::string> urls, std::span<Worker* const> eligible) noexcept {
  for (const auto& url : urls) {
    if (url.empty()) break;
    const auto found = std::find_if(eligible.begin(), eligible.end(),
                                    [&](const Worker* worker) { return worker->url() == url; });
    if (found != eligible.end()) return *found;
  }
  return nullptr;
}

/// Afterwards `url` is first, and what was first is second.
void put_before(std::array<std::string, 2>& urls, const std::string& url) {
  if (urls[0] == url) return;
  urls[1] = std::exchange(urls[0], url);
}

/// Afterwards `url` is last; if both places were taken, what was first is gone.
void put_behind(std::array<std::string, 2>& urls, const std::string& url) {
  if (urls[0].empty()) {
    urls[0] = url;
    return;
  }
  if (!urls[1].empty()) urls[0] = std::move(urls[1]);
  urls[1] = url;
}

}  // namespace

PinMap::Shard& PinMap::shard_of(std::string_view key) noexcept {
  return shards_[shard_number(key, kShards)];
}

void PinMap::forget_idle(Shard& shard, TimePoint now) {
  // At most two for each one that is used: no call pays for all.
  for (int i = 0; i < 2 && !shard.sessions.empty(); ++i) {
    const Session& oldest = shard.sessions.back();
    const bool is_idle = max_idle_.count() > 0 && now - oldest.last_use >= max_idle_;
    if (!is_idle && shard.sessions.size() <= kMaxSessionsPerShard) return;
    shard.by_key.erase(oldest.key);
    shard.sessions.pop_back();
  }
}

PinMap::Session* PinMap::use(Shard& shard, std::string_view key, TimePoint now) {
  const auto found = shard.by_key.find(key);
  if (found == shard.by_key.end()) return nullptr;
  const auto session = found->second;
  if (max_idle_.count() > 0 && now - session->last_use >= max_idle_) {
    shard.by_key.erase(found);
    shard.sessions.erase(session);
    return nullptr;
  }
  session->last_use = now;
  shard.sessions.splice(shard.sessions.begin(), shard.sessions, session);
  return &*session;
}

PinMap::Session& PinMap::use_or_add(Shard& shard, std::string_view key, TimePoint now) {
  if (Session* const known = use(shard, key, now)) return *known;
  Session& added = shard.sessions.emplace_front(Session{std::string(key), {}, now});
  shard.by_key.emplace(added.key, shard.sessions.begin());
  forget_idle(shard, now);
  return added;
}

PinMap::Found PinMap::find(std::string_view key, std::span<Worker* const> eligible, TimePoint now) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const Session* const session = use(shard, key, now);
  if (session == nullptr) return {};
  return {first_of(session->urls, eligible), true};
}

Worker* PinMap::pin(std::string_view key, Worker& chosen, std::span<Worker* const> eligible,
                    PinOrder order, TimePoint now) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  Session& session = use_or_add(shard, key, now);
  if (Worker* const pinned = first_of(session.urls, eligible)) return pinned;
  if (order == PinOrder::Before) {
    put_before(session.urls, chosen.url());
  } else {
    put_behind(session.urls, chosen.url());
  }
  return &chosen;
}

void PinMap::move(std::string_view key, const Worker& chosen, TimePoint now) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  put_before(use_or_add(shard, key, now).urls, chosen.url());
}

std::size_t PinMap::size() const {
  std::size_t total = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    total += shard.sessions.size();
  }
  return total;
}

class ActiveSessions::Hold final : public RequestHold {
 public:
  Hold(std::shared_ptr<ActiveSessions> sessions, std::string_view key, Worker& worker)
      : sessions_(std::move(sessions)), key_(key), worker_(worker) {
    sessions_->add(key_, worker_);
  }
  ~Hold() override { sessions_->remove(key_, worker_); }

 private:
  const std::shared_ptr<ActiveSessions> sessions_;
  const std::string key_;
  Worker& worker_;
};

std::unique_ptr<RequestHold> ActiveSessions::begin(std::shared_ptr<ActiveSessions> sessions,
                                                   std::string_view key, Worker& worker) {
  return std::make_unique<Hold>(std::move(sessions), key, worker);
}

ActiveSessions::Shard& ActiveSessions::shard_of(std::string_view key) noexcept {
  return shards_[shard_number(key, kShards)];
}

const ActiveSessions::Shard& ActiveSessions::shard_of(std::string_view key) const noexcept {
  return shards_[shard_number(key, kShards)];
}

std::uint32_t ActiveSessions::count(std::string_view key, const Worker& worker) const {
  const Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.by_key.find(std::string(key));
  if (found == shard.by_key.end()) return 0;
  for (const auto& [at, requests] : found->second) {
    if (at == &worker.in_flight()) return requests;
  }
  return 0;
}

void ActiveSessions::add(const std::string& key, Worker& worker) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  auto& workers = shard.by_key[key];
  for (auto& [at, requests] : workers) {
    if (at != &worker.in_flight()) continue;
    ++requests;
    return;
  }
  workers.push_back({&worker.in_flight(), 1});
  worker.active_keys().fetch_add(1, std::memory_order_relaxed);
}

void ActiveSessions::remove(const std::string& key, Worker& worker) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.by_key.find(key);
  if (found == shard.by_key.end()) return;
  auto& workers = found->second;
  const auto at = std::find_if(workers.begin(), workers.end(), [&](const AtWorker& entry) {
    return entry.worker == &worker.in_flight();
  });
  if (at == workers.end() || --at->requests > 0) return;
  worker.active_keys().fetch_sub(1, std::memory_order_relaxed);
  workers.erase(at);
  if (workers.empty()) shard.by_key.erase(found);
}

}  // namespace smg::routing
