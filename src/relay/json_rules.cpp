#include "relay/json_rules.hpp"

#include <array>

namespace smg::relay::json {

namespace {

// Parts of the rules.

constexpr NumberRange between(double low, double high, std::string_view text) {
  return {.low = low, .high = high, .text = text};
}

constexpr NumberRange whole_between(double low, double high, std::string_view text) {
  return {.low = low, .high = high, .whole = true, .text = text};
}

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

constexpr NumberRange kAnyWhole = whole_between(-kNoLimit, kNoLimit, "");

constexpr FieldRule real(std::string_view name, NumberRange range) {
  return {name, Meaning::Plain, kNumber | kNull, "expected a number", range, false};
}

constexpr FieldRule whole(std::string_view name, NumberRange range,
                          Meaning meaning = Meaning::Plain) {
  return {name, meaning, kNumber | kNull, "expected an integer", range, false};
}

constexpr FieldRule required(FieldRule rule) {
  rule.required = true;
  rule.shapes &= ~static_cast<unsigned>(kNull);
  return rule;
}

constexpr FieldRule optional(FieldRule rule) {
  rule.required = false;
  rule.shapes |= kNull;
  return rule;
}

// What every route has.

constexpr FieldRule kModel{"model", Meaning::Model, kString, "expected a string", {}, true};
constexpr FieldRule kStream{"stream", Meaning::Stream, kBool | kNull, "expected a boolean", {},
                            false};
// A batch has a list of ids; it is the engine's.
constexpr FieldRule kRid{"rid", Meaning::Rid, kString | kArray | kNull, "expected a string",
                         {},    false};
constexpr FieldRule kRank{"data_parallel_rank",
                          Meaning::DataParallelRank,
                          kNull | kBool | kNumber | kString | kArray | kObject,
                          "",
                          {},
                          false};

// What several have.

constexpr FieldRule kTemperature = real("temperature", between(0, 2, "must be between 0 and 2"));
constexpr FieldRule kTopP =
    real("top_p", {.low = 0, .high = 1, .without_low = true, .text = "must be above 0, at most 1"});
constexpr FieldRule kMaxTokens =
    whole("max_tokens", whole_between(1, kNoLimit, "must be at least 1"));
constexpr FieldRule kInput{
    "input", Meaning::Plain, kNull | kBool | kNumber | kString | kArray | kObject, "", {}, true};

constexpr std::array kGenerate{
    optional(kModel),
    kStream,
    kRid,
    kRank,
    FieldRule{"text", Meaning::Plain, kString | kArray | kNull, "expected a string", {}, false},
    FieldRule{"input_ids", Meaning::Plain, kArray | kNull, "expected an array", {}, false},
    FieldRule{"sampling_params",
              Meaning::Plain,
              kObject | kArray | kNull,
              "expected an object",
              {},
              false},
};

constexpr NumberRange kPenalty = between(-2, 2, "must be between -2 and 2");

constexpr std::array kChat{
    kModel,
    kStream,
    kRid,
    kRank,
    FieldRule{"messages", Meaning::ChatMessages, kArray, "expected an array", {}, true},
    kTemperature,
    kTopP,
    real("min_p", between(0, 1, "must be between 0 and 1")),
    real("frequency_penalty", kPenalty),
    real("presence_penalty", kPenalty),
    real("repetition_penalty", between(0, 2, "must be between 0 and 2")),
    whole("n", whole_between(1, 10, "must be between 1 and 10")),
    kMaxTokens,
    whole("top_k", kAnyWhole, Meaning::TopK),
    FieldRule{"logprobs", Meaning::Logprobs, kBool | kNull, "expected a boolean", {}, false},
    whole("top_logprobs", whole_between(0, 20, "must be between 0 and 20"), Meaning::TopLogprobs),
    FieldRule{
        "stop", Meaning::Stop, kString | kArray | kNull, "expected a string or strings", {}, false},
    FieldRule{
        "stream_options", Meaning::StreamOptions, kObject | kNull, "expected an object", {}, false},
    FieldRule{"tools", Meaning::Tools, kArray | kNull, "expected an array", {}, false},
    FieldRule{"tool_choice",
              Meaning::ToolChoice,
              kString | kObject | kNull,
              "expected a string or an object",
              {},
              false},
};

constexpr std::array kCompletions{
    kModel,
    kStream,
    kRid,
    kRank,
    FieldRule{
        "prompt", Meaning::Prompt, kString | kArray, "expected a string or strings", {}, true},
    kTemperature,
    kTopP,
    whole("n", whole_between(1, 128, "must be between 1 and 128")),
    whole("logprobs", whole_between(0, 5, "must be between 0 and 5")),
};

constexpr std::array kMessages{
    kModel,
    kStream,
    kRid,
    kRank,
    FieldRule{"messages", Meaning::Messages, kArray, "expected an array", {}, true},
    required(kMaxTokens),
};

constexpr std::array kEmbeddings{
    kModel, kStream, kRid, kRank, kInput, whole("dimensions", kAnyWhole),
};
constexpr std::array kClassify{kModel, kStream, kRid, kRank, kInput};
constexpr std::array kOthers{optional(kModel), kStream, kRid, kRank};

static_assert(kChat.size() <= 32);

}  // namespace

std::span<const FieldRule> rules_of(InferenceRoute route) noexcept {
  switch (route) {
    case InferenceRoute::Generate: return kGenerate;
    case InferenceRoute::ChatCompletions: return kChat;
    case InferenceRoute::Completions: return kCompletions;
    case InferenceRoute::Messages: return kMessages;
    case InferenceRoute::Embeddings: return kEmbeddings;
    case InferenceRoute::Classify: return kClassify;
    case InferenceRoute::RerankV1:
    case InferenceRoute::Rerank:
    case InferenceRoute::Responses: return kOthers;
  }
  return kOthers;
}

}  // namespace smg::relay::json
