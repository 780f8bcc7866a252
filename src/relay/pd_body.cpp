#include "relay/pd_body.hpp"

#include <array>

#include "relay/json_parser.hpp"
#include <smg/base/random_bits.hpp>
#include <smg/base/text.hpp>

namespace smg::relay::pd {
namespace {

using json::JsonField;
using json::JsonValue;

/// The fields that are edited, by index.
enum Name : std::size_t {
  kBootstrapHost,
  kBootstrapPort,
  kBootstrapRoom,
  kRoutedRank,
  kPrefillRank,
  kDataParallelRank,
  kKvTransferParams,
  kStream,
  kStreamOptions,
  kMinTokens,
  kMaxTokens,
  kMaxCompletionTokens,
  kMaxOutputTokens,
  kSamples,
};

constexpr std::array<std::string_view, 14> kNames{"bootstrap_host",
                                                  "bootstrap_port",
                                                  "bootstrap_room",
                                                  "routed_dp_rank",
                                                  "disagg_prefill_dp_rank",
                                                  "data_parallel_rank",
                                                  "kv_transfer_params",
                                                  "stream",
                                                  "stream_options",
                                                  "min_tokens",
                                                  "max_tokens",
                                                  "max_completion_tokens",
                                                  "max_output_tokens",
                                                  "n"};

/// Room for a number of 63 bits or a port, and a comma.
constexpr std::size_t kNumberBytes = 20;

/// Indexes `body` and gives `visit` its object.
template <class Visit>
bool with_object(BodyBuffer& body, Visit&& visit) {
  body.reserve_behind(kBodyPadding);
  std::optional<simdjson::ondemand::parser> large;
  auto* const parser = json::parser_for(body.size(), large);
  if (parser == nullptr) return false;
  const simdjson::padded_string_view padded(body.view().data(), body.size(), body.capacity());
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  if (parser->iterate(padded).get(document) || document.get_object().get(object)) return false;
  return visit(object);
}

/// One walk over a valid body.
class PdReader {
 public:
  PdReader(InferenceRoute route, std::string_view body)
      : route_(route), body_(body), walk_(kMaxBodyLevels), collector_(body, kNames) {}

  bool read(simdjson::ondemand::object& object) {
    const auto visit = [this](JsonField& field) { return read_field(field); };
    if (!walk_.each_field(object, 1, visit)) return false;
    found_.members = collector_.take();
    read_samples();
    return true;
  }

  [[nodiscard]] PdBody take() noexcept { return std::move(found_); }

 private:
  bool read_field(JsonField& field) {
    std::string unescaped;
    std::string_view name = field.key;
    if (name.find('\\') != std::string_view::npos) name = unescaped = json::unescaped(name);
    if (!collector_.note(name, field, walk_)) return false;
    if (route_ == InferenceRoute::Completions && name == "prompt") return count(field.value, false);
    if (route_ != InferenceRoute::Generate) return true;
    if (name == "text") return count(field.value, false);
    if (name == "input_ids") return count(field.value, true);
    if (name == "return_logprob") {
      found_.wants_prompt_logprobs =
          field.value.text == "true" || field.value.shape == json::kArray;
    }
    return true;
  }

  /// Counts the elements of an array; of `nested` ones only if they are arrays themselves.
  bool count(JsonValue& value, bool nested) {
    if (value.shape != json::kArray) return true;
    std::size_t elements = 0;
    bool is_batch = true;
    const auto visit = [&](JsonValue& element) {
      ++elements;
      is_batch = !nested || element.shape == json::kArray;
      return is_batch;
    };
    const bool all = walk_.each_element(value, visit);
    if (all && elements > 0) found_.batch = elements;
    return true;
  }

  void read_samples() {
    const BodyMember* const n = found_.members.last(kSamples);
    if (n == nullptr || n->shape != json::kNumber) return;
    const double samples = json::number_value(body_.substr(n->value.offset, n->value.length));
    found_.several_samples = samples > 1;
    if (route_ == InferenceRoute::ChatCompletions && found_.several_samples) {
      found_.batch = static_cast<std::size_t>(samples);  // at most 10, as inspected
    }
  }

  const InferenceRoute route_;
  const std::string_view body_;
  json::JsonWalk walk_;
  MemberCollector collector_;
  PdBody found_;
};

/// `"key":value`, or `"key":[value,…]` with one for each sequence of a batch.
template <class Value>
std::string field_of(std::string_view key, bool batch, std::size_t sequences, Value&& value_of) {
  std::string field;
  field.reserve(key.size() + 6 + sequences * kNumberBytes);
  field.append("\"").append(key).append("\":");
  if (batch) field += '[';
  for (std::size_t i = 0; i < sequences; ++i) {
    if (i > 0) field += ',';
    field += value_of(i);
  }
  if (batch) field += ']';
  return field;
}

std::string rank_field(std::string_view key, std::uint32_t rank) {
  return field_of(key, false, 1, [&](std::size_t) { return std::to_string(rank); });
}

void append_rank(MemberEdits& edits, std::string_view key,
                 const std::optional<std::uint32_t>& rank) {
  if (rank) edits.append(rank_field(key, *rank));
}

void add_model(std::vector<BodySplice>& splices, const PdSource& source) {
  if (source.model && source.fields.model_value) {
    splices.push_back({*source.fields.model_value, text::json_quoted(*source.model)});
  }
}

/// The gateway's own fields: what a client puts there must not reach a worker.
void remove_own_fields(MemberEdits& edits) {
  for (const Name name : {kBootstrapHost, kBootstrapPort, kBootstrapRoom, kRoutedRank, kPrefillRank,
                          kKvTransferParams}) {
    edits.remove(name);
  }
}

void append_kv(MemberEdits& edits, std::string_view params) {
  if (!params.empty()) edits.append("\"kv_transfer_params\":" + std::string(params));
}

/// vLLM's name for the rank is that of a single worker.
void append_vllm_rank(MemberEdits& edits, const std::optional<std::uint32_t>& rank) {
  if (!rank) return;
  edits.remove(kDataParallelRank);
  edits.append(rank_field("data_parallel_rank", *rank));
}

/// One token is enough to fill the cache.
void cap_output(MemberEdits& edits, const PdSource& source) {
  const auto& members = source.pd.members;
  Name cap = kMaxTokens;
  if (source.route == InferenceRoute::Responses) {
    cap = kMaxOutputTokens;
  } else if (source.route == InferenceRoute::ChatCompletions &&
             members.last(kMaxCompletionTokens) != nullptr) {
    cap = kMaxCompletionTokens;
    edits.remove(kMaxTokens);
  }
  if (!edits.replace(cap, "1")) edits.append("\"" + std::string(kNames[cap]) + "\":1");
}

}  // namespace

Result<PdBody> read_pd_body(InferenceRoute route, BodyBuffer& body) {
  body.reserve_behind(kBodyPadding);
  PdReader reader(route, body.view());
  if (!with_object(body, [&](auto& object) { return reader.read(object); })) {
    return fail(ErrorCode::Internal, "no memory to read the request body");
  }
  PdBody found = reader.take();
  if (found.batch.value_or(0) > kMostSequences) {
    return fail(ErrorCode::JsonRange,
                "A batch must have at most " + std::to_string(kMostSequences) + " sequences");
  }
  return found;
}

std::vector<std::uint64_t> draw_rooms(const PdBody& pd) {
  std::vector<std::uint64_t> rooms(pd.batch.value_or(1));
  // Of 63 bits: the engines keep it in a signed number.
  for (auto& room : rooms) room = random_bits() >> 1U;
  return rooms;
}

std::vector<BodySplice> parallel_body(const PdSource& source, const Rendezvous& rendezvous,
                                      const PdRanks& ranks, bool is_decode) {
  MemberEdits edits(source.body, source.pd.members);
  remove_own_fields(edits);
  const bool batch = source.pd.batch.has_value();
  const std::size_t sequences = rendezvous.rooms.size();
  const std::string host = text::json_quoted(rendezvous.host);
  const std::string port = rendezvous.port ? std::to_string(*rendezvous.port) : "null";
  edits.append(field_of("bootstrap_host", batch, sequences,
                        [&](std::size_t) -> std::string_view { return host; }));
  edits.append(field_of("bootstrap_port", batch, sequences,
                        [&](std::size_t) -> std::string_view { return port; }));
  edits.append(field_of("bootstrap_room", batch, sequences,
                        [&](std::size_t i) { return std::to_string(rendezvous.rooms[i]); }));
  if (ranks.prefill || ranks.decode) edits.remove(kDataParallelRank);
  if (is_decode) append_rank(edits, "disagg_prefill_dp_rank", ranks.prefill);
  append_rank(edits, "routed_dp_rank", is_decode ? ranks.decode : ranks.prefill);
  auto splices = edits.take();
  add_model(splices, source);
  return splices;
}

std::vector<BodySplice> prefill_body(const PdSource& source, std::string_view kv_transfer_params,
                                     const PdRanks& ranks) {
  MemberEdits edits(source.body, source.pd.members);
  remove_own_fields(edits);
  edits.replace(kStream, "false");
  edits.remove(kStreamOptions);
  edits.remove(kMinTokens);
  edits.replace(kSamples, "1");
  cap_output(edits, source);
  append_kv(edits, kv_transfer_params);
  append_vllm_rank(edits, ranks.prefill);
  auto splices = edits.take();
  add_model(splices, source);
  return splices;
}

std::vector<BodySplice> decode_body(const PdSource& source, std::string_view kv_transfer_params,
                                    const PdRanks& ranks) {
  MemberEdits edits(source.body, source.pd.members);
  remove_own_fields(edits);
  append_kv(edits, kv_transfer_params);
  append_vllm_rank(edits, ranks.decode);
  auto splices = edits.take();
  add_model(splices, source);
  return splices;
}

std::optional<std::string> find_kv_transfer_params(BodyBuffer& answer) {
  static constexpr std::array<std::string_view, 1> kWanted{"kv_transfer_params"};
  if (answer.size() == 0) return std::nullopt;
  answer.reserve_behind(kBodyPadding);
  const std::string_view text = answer.view();
  MemberCollector collector(text, kWanted);
  json::JsonWalk walk(kMaxBodyLevels);
  const auto visit = [&](JsonField& field) { return collector.note(field.key, field, walk); };
  const bool valid =
      with_object(answer, [&](auto& object) { return walk.each_field(object, 1, visit); });
  if (!valid) return std::nullopt;
  const BodyMembers members = collector.take();
  const BodyMember* const params = members.last(0);
  if (params == nullptr || params->shape != json::kObject) return std::nullopt;
  return std::string(text.substr(params->value.offset, params->value.length));
}

}  // namespace smg::relay::pd
