#include "routing/hash_index.hpp"

#include <algorithm>

namespace smg::routing {

std::vector<std::uint32_t> HashIndex::holders(std::uint64_t head, TimePoint now) const {
  const Shard& shard = shard_of(head);
  const std::lock_guard lock(shard.mutex);
  std::vector<std::uint32_t> live;
  const auto found = shard.by_head.find(head);
  if (found == shard.by_head.end()) return live;
  for (const Holder& holder : found->second->holders) {
    if (now < holder.expires) live.push_back(holder.serial);
  }
  return live;
}

void HashIndex::record(std::uint64_t head, std::uint32_t holder, TimePoint now) {
  Shard& shard = shard_of(head);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.by_head.find(head);
  if (found == shard.by_head.end()) {
    shard.by_head.emplace(head, shard.entries.insert(shard.entries.begin(), Entry{head, {}}));
  } else {
    shard.entries.splice(shard.entries.begin(), shard.entries, found->second);
  }
  auto& holders = shard.entries.front().holders;
  auto place = std::find_if(holders.begin(), holders.end() - 1, [&](const Holder& known) {
    return known.serial == holder && known.expires != TimePoint::min();
  });
  *place = {holder, now + ttl_};
  std::rotate(holders.begin(), place, place + 1);
  forget_expired(shard, now);
}

std::size_t HashIndex::size() const {
  std::size_t total = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    total += shard.entries.size();
  }
  return total;
}

void HashIndex::forget_expired(Shard& shard, TimePoint now) {
  // At most two for each one recorded: no call pays for all.
  for (int i = 0; i < 2 && !shard.entries.empty(); ++i) {
    const Entry& oldest = shard.entries.back();
    const bool is_live = now < oldest.holders.front().expires;
    if (is_live && shard.entries.size() <= kMaxEntriesPerShard) return;
    shard.by_head.erase(oldest.head);
    shard.entries.pop_back();
  }
}

}  // namespace smg::routing
