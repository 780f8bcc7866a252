#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <simdjson.h>

#include "relay/json_rules.hpp"
#include "relay/json_walk.hpp"
#include <smg/base/error.hpp>
#include <smg/config/inference_route.hpp>
#include <smg/relay/request_body.hpp>

namespace smg::relay::json {

/// A fault in a document that is valid JSON. `text` is constant: no value of a body gets into it.
struct BodyProblem {
  std::string_view field;
  std::string_view text;
};

/// One walk over the object of a body: checks all of it and keeps what the gateway reads.
class BodyInspection {
 public:
  BodyInspection(InferenceRoute route, std::string_view body) noexcept
      : rules_(rules_of(route)),
        body_(body),
        chat_(route == InferenceRoute::ChatCompletions),
        model_must_name_(route == InferenceRoute::Messages),
        walk_(kMaxBodyLevels) {}

  /// False: a syntax error, and the other functions say nothing.
  [[nodiscard]] bool read(simdjson::ondemand::object& object);

  [[nodiscard]] bool too_deep() const noexcept { return walk_.too_deep(); }
  /// The first wrong type, duplicate, or missing field.
  [[nodiscard]] const std::optional<BodyProblem>& data_problem() const noexcept { return data_; }
  /// The first value out of its range.
  [[nodiscard]] const std::optional<BodyProblem>& range_problem() const noexcept { return range_; }
  [[nodiscard]] BodyFields& fields() noexcept { return fields_; }

 private:
  [[nodiscard]] bool read_field(JsonField& field);
  [[nodiscard]] bool read_value(const FieldRule& rule, JsonValue& value);
  void read_identity(const FieldRule& rule, const JsonValue& value);
  void check_number(const FieldRule& rule, std::string_view number);
  [[nodiscard]] bool read_rank(JsonValue& value);
  [[nodiscard]] bool read_messages(const FieldRule& rule, JsonValue& value);
  [[nodiscard]] bool read_message(const FieldRule& rule, JsonValue& value);
  [[nodiscard]] bool read_prompt(const FieldRule& rule, JsonValue& value);
  [[nodiscard]] bool read_stop(const FieldRule& rule, JsonValue& value);
  [[nodiscard]] bool count(JsonValue& array, std::size_t& elements);
  void note_seen(const FieldRule& rule);
  void check_missing();
  void check_chat();

  [[nodiscard]] std::string_view plain(std::string_view inside);
  [[nodiscard]] ByteRange range_of(std::string_view text) const noexcept;
  void data(std::string_view field, std::string_view text);
  void range(std::string_view field, std::string_view text);

  std::span<const FieldRule> rules_;
  std::string_view body_;
  bool chat_;
  bool model_must_name_;  ///< an empty model is out of range
  JsonWalk walk_;
  BodyFields fields_;
  std::uint32_t seen_ = 0;  ///< a bit per rule
  std::optional<BodyProblem> data_;
  std::optional<BodyProblem> range_;
  std::string scratch_;  ///< the last unescaped text

  // What rules between fields of a chat need.
  bool has_tools_ = false;
  bool forces_tool_ = false;
  bool has_logprobs_ = false;
  bool has_top_logprobs_ = false;
  bool has_stream_options_ = false;
};

}  // namespace smg::relay::json
