#include "relay/prompt_logprobs.hpp"

#include <memory>
#include <optional>

#include "relay/body_members.hpp"
#include "relay/json_parser.hpp"
#include "relay/minimax_framer.hpp"

namespace smg::relay::pd {
namespace {

using json::JsonField;
using json::JsonValue;
using minimax::SseFramer;

bool is_blank(std::string_view inside) noexcept {
  return json::without_trailing_space(inside).empty();
}

/// One walk over an answer.
class LogprobReader {
 public:
  explicit LogprobReader(std::string_view text) : text_(text), walk_(kMaxBodyLevels) {}

  /// False: the document is no JSON, or an object of it has no logprobs.
  bool read(simdjson::ondemand::document& document) {
    std::string_view token;
    if (document.raw_json_token().get(token) || token.empty()) return false;
    if (token.front() == '[') {
      simdjson::ondemand::array items;
      return !document.get_array().get(items) &&
             walk_.each_element(items, 1, [this](JsonValue& item) { return read_item(item); });
    }
    simdjson::ondemand::object object;
    if (document.get_object().get(object)) return false;
    const auto before = insides_.size();
    const auto visit = [this](JsonField& field) { return read_field(field); };
    return walk_.each_field(object, 1, visit) && insides_.size() == before + 1;
  }

  [[nodiscard]] std::vector<PromptLogprobs::Inside> take() noexcept { return std::move(insides_); }

 private:
  bool read_item(JsonValue& item) {
    if (item.shape != json::kObject) return false;
    const auto before = insides_.size();
    const auto visit = [this](JsonField& field) { return read_field(field); };
    return walk_.each_field(item, visit) && insides_.size() == before + 1;
  }

  bool read_field(JsonField& field) {
    if (field.key != "meta_info" || field.value.shape != json::kObject) {
      return walk_.finish(field.value);
    }
    return walk_.each_field(field.value, [this](JsonField& inner) {
      if (!walk_.finish(inner.value)) return false;
      if (inner.key != "input_token_logprobs" || inner.value.shape != json::kArray) return true;
      const ByteRange whole = range_of(text_, inner.value);
      const std::string_view inside = text_.substr(whole.offset + 1, whole.length - 2);
      insides_.push_back({whole.offset + 1, inside.size(), is_blank(inside)});
      return true;
    });
  }

  const std::string_view text_;
  json::JsonWalk walk_;
  std::vector<PromptLogprobs::Inside> insides_;
};

/// The payload of an event that is one line of data; empty of any other.
std::string_view payload_of(const minimax::Frame& frame) noexcept {
  constexpr std::string_view kField = "data:";
  if (frame.lines != 1 || !frame.line.starts_with(kField)) return {};
  return frame.line.substr(kField.size());
}

}  // namespace

PromptLogprobs PromptLogprobs::of(BodyBuffer& answer) {
  PromptLogprobs found;
  if (answer.size() == 0) return found;
  answer.reserve_behind(kBodyPadding);
  std::optional<simdjson::ondemand::parser> large;
  auto* const parser = json::parser_for(answer.size(), large);
  if (parser == nullptr) return found;
  const simdjson::padded_string_view padded(answer.view().data(), answer.size(), answer.capacity());
  simdjson::ondemand::document document;
  if (parser->iterate(padded).get(document)) return found;
  LogprobReader reader(answer.view());
  if (reader.read(document)) found.insides_ = reader.take();
  return found;
}

std::vector<BodySplice> PromptLogprobs::merge_with(const PromptLogprobs& prefill,
                                                   std::string_view text) const {
  std::vector<BodySplice> splices;
  if (prefill.insides_.size() != insides_.size()) return splices;
  for (std::size_t i = 0; i < insides_.size(); ++i) {
    const Inside& from = prefill.insides_[i];
    if (from.blank) continue;
    splices.push_back(
        {{insides_[i].offset, 0}, std::string(text.substr(from.offset, from.length))});
    if (!insides_[i].blank) splices.back().replacement += ',';
  }
  return splices;
}

struct LogprobStream::Framing {
  SseFramer framer{kMostFrameBytes};
  bool verbatim = false;
};

LogprobStream::LogprobStream(const PromptLogprobs& prefill, std::string_view text)
    : prefill_(prefill), text_(text), framing_(std::make_unique<Framing>()) {}

LogprobStream::~LogprobStream() = default;

void LogprobStream::feed(std::string_view bytes) {
  framing_->framer.append(bytes);
}

bool LogprobStream::next(std::string& out) {
  SseFramer& framer = framing_->framer;
  const auto take = [&](std::size_t bytes) {
    out.assign(framer.front().substr(0, bytes));
    framer.take(bytes);
    return bytes > 0;
  };
  if (framing_->verbatim) return take(framer.front().size());
  switch (framer.find()) {
    case SseFramer::Found::Nothing: return false;
    case SseFramer::Found::LateLineFeed: return take(1);
    case SseFramer::Found::Oversized: framing_->verbatim = true; return take(framer.front().size());
    case SseFramer::Found::Frame: break;
  }
  const minimax::Frame frame = framer.frame();
  const std::string_view payload = payload_of(frame);
  BodyBuffer event;
  event.append(payload);
  const auto own = PromptLogprobs::of(event);
  const EditedBody merged(event.view(), own.merge_with(prefill_, text_));
  if (own.empty()) return take(frame.size);
  out.assign(frame.line.substr(0, frame.line.size() - payload.size()));
  for (const auto piece : merged.pieces()) out += piece;
  out += framer.front().substr(frame.line.size(), frame.size - frame.line.size());
  framer.take(frame.size);
  return true;
}

std::string_view LogprobStream::rest() const noexcept {
  return framing_->framer.front();
}

}  // namespace smg::relay::pd
