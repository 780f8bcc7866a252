#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <smg/http/message.hpp>

namespace smg::http {

/// One HEADERS block as it arrived: names and values one behind the other in `text`, pseudo-fields
/// first.
struct H2FieldBlock {
  std::string text;
  struct Entry {
    std::uint32_t name, name_size, value, value_size;
  };
  std::vector<Entry> entries;

  [[nodiscard]] Field field(std::size_t i) const noexcept {
    const Entry& e = entries[i];
    const std::string_view all = text;
    return {all.substr(e.name, e.name_size), all.substr(e.value, e.value_size)};
  }
  void add(std::string_view name, std::string_view value);
};

}  // namespace smg::http
