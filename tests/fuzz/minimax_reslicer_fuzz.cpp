#include <map>
#include <set>
#include <string>

#include "fuzz/fuzz_input.hpp"
#include "unit/relay/minimax_stream.hpp"

namespace {

using namespace smg::fuzz;
using smg::relay::MinimaxReslicer;

/// The whole output for a stream that arrives in pieces of `piece` bytes and leaves `most` at a
/// time.
std::string resliced(std::string_view wire, std::size_t piece, std::size_t most) {
  MinimaxReslicer reslicer;
  std::string out;
  in_pieces(wire, piece, [&](std::vector<char>& bytes) {
    reslicer.feed({bytes.data(), bytes.size()});
    out += smg::relay::test::drained(reslicer, most);
    return true;
  });
  reslicer.finish();
  return out + smg::relay::test::drained(reslicer, most);
}

/// Whether an object names a field twice, which readers understand differently.
bool is_ambiguous(simdjson::dom::element value) {
  simdjson::dom::array items;
  simdjson::dom::object object;
  if (!value.get(items)) return std::ranges::any_of(items, is_ambiguous);
  if (value.get(object)) return false;
  std::set<std::string_view> names;
  return std::ranges::any_of(object, [&](const simdjson::dom::key_value_pair& field) {
    return !names.insert(field.key).second || is_ambiguous(field.value);
  });
}

/// Whether the test's own reading of the stream may differ from that of a client.
bool has_ambiguity(std::string_view stream) {
  constexpr std::string_view kData = "data:";
  for (auto at = stream.find(kData); at != std::string_view::npos;
       at = stream.find(kData, at + 1)) {
    const auto payload = stream.substr(at + kData.size());
    if (!payload.starts_with(" {") && !payload.starts_with(" [")) return true;
  }
  simdjson::dom::parser parser;
  for (std::size_t at = stream.find('{'); at < stream.size(); at = stream.find('{', at)) {
    const auto line = stream.substr(at, stream.find_first_of("\r\n", at) - at);
    simdjson::dom::element document;
    if (!parser.parse(line.data(), line.size()).get(document) && is_ambiguous(document))
      return true;
    at += line.size();
  }
  return false;
}

/// The text of each delta field, as a client would put it together.
std::map<std::string, std::string> put_together(std::string_view stream) {
  std::map<std::string, std::string> all;
  for (const auto& [field, text] : smg::relay::test::texts(stream)) all[field] += text;
  return all;
}

void check_silences(std::string_view wire, std::size_t piece) {
  MinimaxReslicer reslicer;
  in_pieces(wire, piece, [&](std::vector<char>& bytes) {
    reslicer.feed({bytes.data(), bytes.size()});
    (void)smg::relay::test::drained(reslicer);
    reslicer.idle();
    (void)smg::relay::test::drained(reslicer);
    require(!reslicer.has_pending(), "a silence lets all pending text leave");
    return true;
  });
}

}  // namespace

/// The first two bytes choose the pieces in which the others arrive and leave: they must not
/// matter. Silences do, so a run with them only has to end well.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Input input(bytes, size);
  const std::size_t piece = 1U + input.byte();
  const std::size_t most = 1U + input.byte();
  const auto wire = input.rest();
  const auto whole = resliced(wire, std::string_view::npos, MinimaxReslicer::kOutputBytes);
  require(resliced(wire, piece, most) == whole, "pieces make no difference");
  require(has_ambiguity(wire) || put_together(wire) == put_together(whole),
          "the text is the worker's");
  check_silences(wire, piece);
  return 0;
}
