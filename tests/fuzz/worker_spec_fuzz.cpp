#include <string>

#include "control/spec_json.hpp"
#include "fuzz/fuzz_input.hpp"
#include "unit/relay/json_oracle.hpp"

namespace {

using namespace smg;
using namespace smg::fuzz;
using namespace smg::control;
using Oracle = relay::test::JsonOracle;

std::string written(const WorkerSpec& spec) {
  JsonWriter json;
  write_spec(json, spec);
  return json.take();
}

void check_refusal(const ControlError& error) {
  require(error.status == 400 || error.status == 422, "a refusal is the client's fault");
  require(!error.code.empty() && !error.message.empty(), "a refusal says why");
}

void check_spec(const WorkerSpec& spec) {
  require(spec.url.scheme == "http" || spec.url.scheme == "https", "a worker speaks HTTP");
  const auto url = config::parse_worker_url(spec.url.text);
  require(url.has_value() && *url == spec.url, "a URL has one spelling");
  require(spec.cost >= 0, "a cost is not negative");
  require(std::ranges::all_of(spec.api_key, [](char c) { return c >= ' ' && c <= '~'; }),
          "a key fits into a field line");
  for (const auto& card : spec.models) require(!card.id.empty(), "a model has a name");
}

/// A spec that is written is JSON and means the same.
void check_round_trip(const WorkerSpec& spec) {
  const std::string text = written(spec);
  require(Oracle::judge(text) == Oracle::Verdict::Object, "a written spec is an object");
  const auto again = parse_worker_spec(text);
  require(again.has_value() && written(*again) == text, "a written spec is read back");
}

}  // namespace

/// The body of POST, PUT or PATCH.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text = Input(bytes, size).rest();
  const bool valid = Oracle::judge(text) == Oracle::Verdict::Object;
  const auto spec = parse_worker_spec(text);
  require(valid || !spec.has_value(), "only an object is a spec");
  if (spec) {
    check_spec(*spec);
    check_round_trip(*spec);
  } else {
    check_refusal(spec.error());
  }
  const auto patch = parse_worker_patch(text);
  require(valid || !patch.has_value(), "only an object is a patch");
  require(!spec || patch.has_value(), "what describes a worker can change one");
  if (!patch) {
    check_refusal(patch.error());
    return 0;
  }
  WorkerSpec patched = parse_worker_spec(R"({"url":"http://h:1","labels":{"a":"b"}})").value();
  patch->apply_to(patched);
  check_spec(patched);
  require(patched.labels.contains("a"), "a patch adds to the labels");
  check_round_trip(patched);
  const auto once = written(patched);
  patch->apply_to(patched);
  require(written(patched) == once, "a second time changes nothing");
  return 0;
}
