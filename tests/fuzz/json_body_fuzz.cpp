#include <string>

#include "fuzz/fuzz_input.hpp"
#include "relay/pd_body.hpp"
#include "unit/relay/body_text.hpp"
#include "unit/relay/json_oracle.hpp"
#include <smg/relay/request_body.hpp>

namespace {

using namespace smg;
using namespace smg::fuzz;
using namespace smg::relay;
using Oracle = relay::test::JsonOracle;

std::string_view part_of(std::string_view body, const ByteRange& range) {
  require(range.offset <= body.size() && range.length <= body.size() - range.offset,
          "a part lies in the body");
  return body.substr(range.offset, range.length);
}

/// The edited body. What is not replaced is the client's, byte for byte and in place.
std::string joined(std::string_view body, std::vector<BodySplice> splices) {
  const EditedBody edited(body, splices);
  std::ranges::sort(splices, {}, [](const BodySplice& splice) { return splice.where.offset; });
  std::string expected;
  std::size_t done = 0;
  for (const auto& [where, replacement] : splices) {
    require(where.offset >= done, "edits do not overlap");
    (void)part_of(body, where);
    expected.append(body.substr(done, where.offset - done)).append(replacement);
    done = where.offset + where.length;
  }
  expected += body.substr(done);
  std::string all;
  for (const auto piece : edited.pieces()) {
    require(!piece.empty(), "a piece is not empty");
    all += piece;
  }
  require(all == expected && edited.size() == all.size(), "only the edited parts change");
  return all;
}

void require_object(std::string_view text) {
  // A list may be one level deeper than anything that was there.
  require(Oracle::judge(text, kMaxBodyLevels + 1) == Oracle::Verdict::Object,
          "an edited body is an object");
}

void check_fields(std::string_view body, const BodyFields& fields) {
  require(fields.closing_brace < body.size() && body[fields.closing_brace] == '}',
          "the object's brace");
  require(body.find_first_not_of(" \t\r\n", fields.closing_brace + 1) == std::string_view::npos,
          "nothing follows the object");
  if (fields.model_value) {
    const auto text = part_of(body, *fields.model_value);
    require(text.size() >= 2 && text.front() == '"' && text.back() == '"', "a model is a string");
    require(fields.model.has_value(), "a place of the model comes with the model");
  }
  for (const auto& rank : fields.rank_values) {
    require(Oracle::judge("[" + std::string(part_of(body, rank)) + "]", kMaxBodyLevels + 1) !=
                Oracle::Verdict::Invalid,
            "a rank's place holds one value");
  }
}

void check_edits(InferenceRoute route, std::string_view body, const BodyFields& fields) {
  const std::string model = "name \"of\" \\ a \x01 model";
  const EditedBody edited(body, fields, {.model = model, .data_parallel_rank = 4294967295U});
  std::string all;
  for (const auto piece : edited.pieces()) all += piece;
  require(edited.size() == all.size(), "the size is that of the pieces");
  require_object(all);
  BodyBuffer again = buffer_of(all);
  const auto seen = inspect_body(route, again);
  require(seen.has_value(), "an edited body is as valid as the client's");
  require(seen->model == (fields.model_value ? std::optional(model) : fields.model),
          "the model is the new one");
  require(seen->rank_values.size() == std::max<std::size_t>(fields.rank_values.size(), 1),
          "no rank is added");
  for (const auto& rank : seen->rank_values) {
    require(part_of(all, rank) == "4294967295", "every rank is the new one");
  }
  require(seen->stream == fields.stream && seen->rid == fields.rid, "the rest stays");
}

/// The fields that the gateway keeps for itself appear once, and say what it says.
void check_pair(InferenceRoute route, std::string_view body, const BodyFields& fields) {
  BodyBuffer buffer = buffer_of(body);
  const auto pd = pd::read_pd_body(route, buffer);
  if (!pd) return require(pd.error().code == ErrorCode::JsonRange, "only a batch can be too large");
  const std::string_view text = buffer.view();
  const pd::PdSource source{route, text, fields, *pd, "canon"};
  const auto rooms = pd::draw_rooms(*pd);
  const pd::Rendezvous place{"[::1]", std::uint16_t{9001}, rooms};
  for (const bool is_decode : {false, true}) {
    const auto all =
        joined(text, pd::parallel_body(source, place, {.prefill = 1, .decode = 2}, is_decode));
    require_object(all);
    BodyBuffer edited = buffer_of(all);
    const auto seen = pd::read_pd_body(route, edited);
    require(seen.has_value(), "a worker can read its body");
    const auto once = [&](std::size_t name) {
      return std::ranges::count(seen->members.found, name, &BodyMember::name) == 1;
    };
    require(once(0) && once(1) && once(2) && once(3), "one place to meet and one rank");
    require(seen->batch == pd->batch, "a batch stays as large as it was");
  }
  const auto prefill =
      joined(text, pd::prefill_body(source, R"({"a":[1]})", {.prefill = 1, .decode = 2}));
  require_object(prefill);
  BodyBuffer edited = buffer_of(prefill);
  const auto seen = inspect_body(route, edited);
  require(seen.has_value() && !seen->stream, "a prefill worker does not stream");
  require(pd::find_kv_transfer_params(edited) == R"({"a":[1]})", "parameters are found again");
  require_object(joined(text, pd::decode_body(source, {}, {})));
}

}  // namespace

/// The first byte chooses the route; the others are the body.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Input input(bytes, size);
  const auto route = static_cast<InferenceRoute>(input.byte() % kInferenceRouteCount);
  const auto text = input.rest();
  BodyBuffer body = buffer_of(text);
  const auto fields = inspect_body(route, body);
  require(body.view() == text, "an inspection changes nothing");
  const auto verdict = Oracle::judge(text, kMaxBodyLevels);
  if (!fields) {
    const auto code = fields.error().code;
    require((code == ErrorCode::JsonSyntax) == (verdict == Oracle::Verdict::Invalid),
            "a syntax error is said of what is no JSON");
    require(code == ErrorCode::JsonSyntax || code == ErrorCode::JsonData ||
                code == ErrorCode::JsonRange,
            "a body is refused for what is in it");
    return 0;
  }
  require(verdict == Oracle::Verdict::Object, "only an object is taken");
  check_fields(body.view(), *fields);
  check_edits(route, body.view(), *fields);
  check_pair(route, body.view(), *fields);
  return 0;
}
