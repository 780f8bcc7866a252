#include <algorithm>

#include <simdjson.h>

#include "relay/json_inspection.hpp"
#include "relay/json_parser.hpp"
#include "relay/json_text.hpp"
#include "relay/json_walk.hpp"
#include <smg/base/text.hpp>
#include <smg/relay/request_body.hpp>

namespace smg::relay {

namespace {

using simdjson::ondemand::document;
using simdjson::ondemand::parser;

GatewayError syntax_error(InferenceRoute route, std::string_view reason) {
  std::string message{facts(route).openai_errors ? "JSON syntax error: "
                                                 : "Failed to parse the request body as JSON: "};
  message += reason;
  return {ErrorCode::JsonSyntax, std::move(message), 400};
}

GatewayError data_error(InferenceRoute route, std::string_view reason) {
  const bool openai = facts(route).openai_errors;
  std::string message{openai ? "Invalid JSON data: "
                             : "Failed to deserialize the JSON body into the target type: "};
  message += reason;
  return {ErrorCode::JsonData, std::move(message), openai ? 400 : 422};
}

GatewayError data_error(InferenceRoute route, const json::BodyProblem& problem) {
  std::string reason{problem.field};
  reason += ": ";
  reason += problem.text;
  return data_error(route, reason);
}

GatewayError range_error(const json::BodyProblem& problem) {
  std::string message{problem.field};
  message += ": Validation error: ";
  message += problem.text;
  return {ErrorCode::JsonRange, std::move(message), 400};
}

/// What stage 1 found; the rest is found on the walk.
std::string_view reason_of(simdjson::error_code error) noexcept {
  switch (error) {
    case simdjson::EMPTY: return "the body is empty";
    case simdjson::UTF8_ERROR: return "the body is not valid UTF-8";
    case simdjson::UNCLOSED_STRING: return "a string is not closed";
    case simdjson::UNESCAPED_CHARS: return "a string has a control character";
    default: return "the body is not a JSON document";
  }
}

GatewayError walk_error(InferenceRoute route, std::string_view body, document& document,
                        bool too_deep) {
  if (too_deep) {
    return syntax_error(route, "nested deeper than " + std::to_string(kMaxBodyLevels) + " levels");
  }
  const char* where = nullptr;
  const bool at_end = document.current_location().get(where) != simdjson::SUCCESS;
  const auto offset = at_end ? body.size() : static_cast<std::size_t>(where - body.data());
  return syntax_error(route, "unexpected text near byte " + std::to_string(offset));
}

bool at_end(document& document) noexcept {
  return document.current_location().error() == simdjson::OUT_OF_BOUNDS;
}

/// Why a document that is no object is refused: it is either no JSON or the wrong type.
GatewayError other_document_error(InferenceRoute route, std::string_view body, document& document) {
  bool valid = false;
  json::JsonWalk walk{kMaxBodyLevels};
  std::string_view text;
  if (document.raw_json_token().get(text) == simdjson::SUCCESS && !text.empty()) {
    const auto shape = json::shape_of(text.front());
    if (shape == json::kArray) {
      simdjson::ondemand::array array;
      const auto visit = [&walk](json::JsonValue& element) { return walk.finish(element); };
      valid = document.get_array().get(array) == simdjson::SUCCESS &&
              walk.each_element(array, 1, visit) && at_end(document);
    } else if (shape != json::kInvalid) {
      valid =
          text.data() + text.size() == body.data() + body.size() && json::is_scalar(shape, text);
    }
  }
  if (!valid) return walk_error(route, body, document, walk.too_deep());
  return data_error(route, "the body must be an object");
}

Result<BodyFields> inspect_document(InferenceRoute route, std::string_view body,
                                    document& document) {
  simdjson::ondemand::object object;
  std::string_view first;
  if (document.raw_json_token().get(first) || first.empty() || first.front() != '{') {
    return other_document_error(route, body, document);
  }
  if (document.get_object().get(object)) return walk_error(route, body, document, false);

  json::BodyInspection inspection{route, body};
  if (!inspection.read(object) || !at_end(document)) {
    return walk_error(route, body, document, inspection.too_deep());
  }
  if (inspection.data_problem()) return data_error(route, *inspection.data_problem());
  if (inspection.range_problem()) return range_error(*inspection.range_problem());
  return std::move(inspection.fields());
}

std::vector<BodySplice> splices_of(const BodyFields& fields, const BodyEdits& edits) {
  std::vector<BodySplice> splices;
  if (edits.model && fields.model_value) {
    splices.push_back({*fields.model_value, text::json_quoted(*edits.model)});
  }
  if (!edits.data_parallel_rank) return splices;
  const std::string rank = std::to_string(*edits.data_parallel_rank);
  for (const ByteRange& where : fields.rank_values) splices.push_back({where, rank});
  if (fields.rank_values.empty()) {
    const std::string key =
        fields.empty_object ? R"("data_parallel_rank":)" : R"(,"data_parallel_rank":)";
    splices.push_back({{fields.closing_brace, 0}, key + rank});
  }
  return splices;
}

}  // namespace

Result<BodyFields> inspect_body(InferenceRoute route, BodyBuffer& body) {
  body.reserve_behind(kBodyPadding);
  std::optional<parser> large;
  parser* const parser = json::parser_for(body.size(), large);
  if (parser == nullptr) return fail(ErrorCode::Internal, "no memory to inspect the request body");

  document document;
  const auto padded =
      simdjson::padded_string_view(body.view().data(), body.size(), body.capacity());
  const auto error = parser->iterate(padded).get(document);
  if (error) return syntax_error(route, reason_of(error));
  return inspect_document(route, body.view(), document);
}

EditedBody::EditedBody(std::string_view body, const BodyFields& fields, const BodyEdits& edits)
    : EditedBody(body, splices_of(fields, edits)) {}

EditedBody::EditedBody(std::string_view body, std::vector<BodySplice> splices)
    : splices_(std::move(splices)) {
  std::sort(splices_.begin(), splices_.end(), [](const BodySplice& a, const BodySplice& b) {
    return a.where.offset < b.where.offset;
  });
  pieces_.reserve(2 * splices_.size() + 1);
  std::size_t done = 0;
  for (const BodySplice& splice : splices_) {
    append(body.substr(done, splice.where.offset - done));
    append(splice.replacement);
    done = splice.where.offset + splice.where.length;
  }
  append(body.substr(done));
}

void EditedBody::append(std::string_view piece) {
  if (piece.empty()) return;
  pieces_.push_back(piece);
  size_ += piece.size();
}

}  // namespace smg::relay
