#pragma once

#include <cstddef>
#include <optional>

#include <simdjson.h>

namespace smg::relay::json {

/// The parser of this thread or, for bodies that are too large for it, `large`: ready to index a
/// body of `size` bytes. Documents of the thread's parser end with the next call. Null if there is
/// no memory.
[[nodiscard]] simdjson::ondemand::parser* parser_for(
    std::size_t size, std::optional<simdjson::ondemand::parser>& large);

}  // namespace smg::relay::json
