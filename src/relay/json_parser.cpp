#include "relay/json_parser.hpp"

#include <algorithm>
#include <bit>

#include <smg/relay/request_body.hpp>

namespace smg::relay::json {

namespace {

using simdjson::ondemand::parser;

static_assert(kBodyPadding >= simdjson::SIMDJSON_PADDING);

/// Bodies up to this size share the thread's parser. An index takes 4 bytes per byte of capacity,
/// so larger ones get a parser of their own, which does not outlive them.
constexpr std::size_t kKeptCapacity = 1024 * 1024;
constexpr std::size_t kLeastCapacity = 16 * 1024;

/// simdjson's own count of levels is one ahead inside an array.
constexpr std::size_t kParserDepth = kMaxBodyLevels + 2;

}  // namespace

parser* parser_for(std::size_t size, std::optional<parser>& large) {
  static thread_local parser kept{kKeptCapacity};
  if (size > kKeptCapacity) {
    large.emplace();
    return large->allocate(size, kParserDepth) == simdjson::SUCCESS ? &*large : nullptr;
  }
  if (kept.capacity() >= size && kept.capacity() != 0) return &kept;
  const auto capacity = std::bit_ceil(std::max(size, kLeastCapacity));
  return kept.allocate(capacity, kParserDepth) == simdjson::SUCCESS ? &kept : nullptr;
}

}  // namespace smg::relay::json
