#include "http/h2_request_head.hpp"

namespace smg::http {
namespace {

Method method_of(std::string_view word) noexcept {
  for (const Method m : {Method::Post, Method::Get, Method::Head, Method::Put, Method::Patch,
                         Method::Delete, Method::Options}) {
    if (word == name(m)) return m;
  }
  return Method::Other;
}

void split_target(std::string_view target, RequestHead& head) noexcept {
  target = target.substr(0, target.find('#'));
  const auto mark = target.find('?');
  head.path = target.substr(0, mark);
  head.query = mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1);
}

/// Joins cookie crumbs behind the block's text, as one further field in place of them.
void join_cookies(H2FieldBlock& block) {
  std::string joined;
  std::size_t crumbs = 0;
  for (std::size_t i = 0; i < block.entries.size(); ++i) {
    if (block.field(i).name != "cookie") continue;
    if (crumbs++ > 0) joined += "; ";
    joined += block.field(i).value;
  }
  if (crumbs < 2) return;
  std::erase_if(block.entries, [&](const H2FieldBlock::Entry& entry) {
    return std::string_view(block.text).substr(entry.name, entry.name_size) == "cookie";
  });
  block.add("cookie", joined);
}

}  // namespace

bool fill_request_head(RequestHead& head, H2FieldBlock&& block) {
  join_cookies(block);
  // Views are taken where the text stays: a short one moves with its string.
  head.text = std::move(block.text);
  const std::string_view all = head.text;
  std::string_view authority;
  head.version = 20;
  head.fields.reserve(block.entries.size());
  for (const auto& entry : block.entries) {
    const Field field{all.substr(entry.name, entry.name_size),
                      all.substr(entry.value, entry.value_size)};
    if (field.name == ":method") {
      head.method = method_of(field.value);
    } else if (field.name == ":path") {
      split_target(field.value, head);
    } else if (field.name == ":authority") {
      authority = field.value;
      head.fields.push_back({"host", authority});
    } else if (field.name.starts_with(':')) {
      continue;
    } else if (field.name == "host" && !authority.empty()) {
      if (!text::equals_ignoring_case(field.value, authority)) return false;
    } else {
      head.fields.push_back(field);
    }
  }
  if (const Field* length = head.find("content-length")) {
    head.content_length = text::parse_decimal(length->value);
  }
  read_expectation(head);
  return true;
}

}  // namespace smg::http
