#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "relay/json_text.hpp"
#include "relay/minimax_event.hpp"
#include "relay/minimax_framer.hpp"
#include "relay/minimax_text.hpp"
#include "relay/minimax_writer.hpp"
#include <smg/relay/minimax_reslicer.hpp>

namespace smg::relay {
namespace {

using minimax::ChatEvent;
using minimax::Envelope;
using minimax::EventKind;
using minimax::Frame;
using minimax::PendingText;
using minimax::Slot;
using minimax::SseFramer;
using minimax::TextField;

/// Memory of an event that has been dealt with that is worth keeping.
constexpr std::size_t kKeptCapacity = 16 * 1024;

/// What follows `data:`.
std::string_view payload_of(std::string_view line) noexcept {
  line.remove_prefix(std::string_view{"data:"}.size());
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line;
}

bool is_done(std::string_view payload) noexcept {
  constexpr std::string_view kDone = "[DONE]";
  return payload.starts_with(kDone) &&
         payload.find_first_not_of(" \t", kDone.size()) == std::string_view::npos;
}

/// One thing to do for a frame. It may take several turns, as `out` has room.
struct Step {
  enum class Action : std::uint8_t {
    Flush,  ///< all pending text leaves
    Cut,    ///< pending text leaves while there is enough of it
    Emit,   ///< text[begin, end) leaves
    Add,    ///< text[begin, end) becomes pending in `slot`
    Pass,   ///< `end` bytes leave as they were received
  };
  Action action;
  std::size_t begin = 0;
  std::size_t end = 0;
  Slot slot;
};

/// What is to be done for the frame in hand, in order.
struct Plan {
  std::vector<Step> steps;
  std::size_t next = 0;
  std::string text;  ///< of Emit and Add

  void clear() {
    steps.clear();
    next = 0;
    if (text.capacity() > kKeptCapacity) text = {};
    text.clear();
  }

  void flush() { steps.push_back({Step::Action::Flush, 0, 0, {}}); }
  void pass(std::size_t bytes) { steps.push_back({Step::Action::Pass, 0, bytes, {}}); }

  /// `write` appends an event to the string it is given.
  template <class Write>
  void emit(Write&& write) {
    const auto begin = text.size();
    write(text);
    steps.push_back({Step::Action::Emit, begin, text.size(), {}});
  }

  /// `inside` is that of a JSON string. False: there is no text.
  bool add(Slot slot, std::string_view inside) {
    if (inside.empty()) return false;
    const auto begin = text.size();
    if (inside.find('\\') == std::string_view::npos) {
      text += inside;
    } else {
      text += json::unescaped(inside);
    }
    steps.push_back({Step::Action::Add, begin, text.size(), std::move(slot)});
    steps.push_back({Step::Action::Cut, 0, 0, {}});
    return true;
  }
};

}  // namespace

/// Each frame is turned into a plan, and a plan into output as far as there is room for it.
class MinimaxReslicer::Stream {
 public:
  void feed(std::string_view bytes) { framer_.append(bytes); }
  void idle() noexcept { flush_due_ = true; }
  void finish() noexcept { ended_ = true; }
  [[nodiscard]] bool has_pending() const noexcept { return pending_.characters() != 0; }
  [[nodiscard]] bool produce(std::string& out, std::size_t limit);

 private:
  [[nodiscard]] bool plan_next();
  void plan_frame(const Frame& frame);
  void plan_event(const Frame& frame);
  void plan_deltas();
  [[nodiscard]] bool plan_texts();
  void plan_whole(const Frame& frame);
  void plan_verbatim();

  [[nodiscard]] bool run(Step& step, std::string& out, std::size_t limit);
  [[nodiscard]] bool drain(std::size_t enough, std::string& out, std::size_t limit);

  SseFramer framer_{kMostFrameBytes};
  ChatEvent event_;
  Envelope envelope_;
  PendingText pending_;
  Plan plan_;
  bool role_sent_ = false;
  bool passed_last_ = false;  // the last frame left as it was received
  bool verbatim_ = false;     // for the rest of the stream
  bool flush_due_ = false;
  bool ended_ = false;
};

bool MinimaxReslicer::Stream::produce(std::string& out, std::size_t limit) {
  do {
    for (; plan_.next < plan_.steps.size(); ++plan_.next) {
      if (!run(plan_.steps[plan_.next], out, limit)) return true;
    }
    plan_.clear();
  } while (plan_next());
  return false;
}

/// False: more bytes are needed.
bool MinimaxReslicer::Stream::plan_next() {
  if (verbatim_) {
    if (framer_.front().empty()) return false;
    plan_.pass(framer_.front().size());
    return true;
  }
  switch (framer_.find()) {
    case SseFramer::Found::Frame: plan_frame(framer_.frame()); return true;
    case SseFramer::Found::Oversized: plan_verbatim(); return true;
    case SseFramer::Found::LateLineFeed:
      if (passed_last_) {
        plan_.pass(1);
      } else {
        framer_.take(1);
      }
      return true;
    case SseFramer::Found::Nothing: break;
  }
  if (ended_) {
    plan_verbatim();
    return true;
  }
  if (!flush_due_) return false;
  flush_due_ = false;
  plan_.flush();
  return true;
}

void MinimaxReslicer::Stream::plan_frame(const Frame& frame) {
  passed_last_ = true;
  if (!frame.has_data) {
    plan_.pass(frame.size);
  } else if (frame.lines == 1) {
    plan_event(frame);
  } else {
    plan_whole(frame);
  }
}

void MinimaxReslicer::Stream::plan_event(const Frame& frame) {
  const auto payload = payload_of(frame.line);
  if (is_done(payload)) {
    plan_verbatim();
    return;
  }
  const auto behind = framer_.front().data() + framer_.front().size() + SseFramer::kPadding;
  const auto readable = static_cast<std::size_t>(behind - payload.data());
  switch (event_.read(payload, readable)) {
    case EventKind::SeveralChoices: plan_verbatim(); return;
    case EventKind::Malformed:
    case EventKind::NoChoice: plan_whole(frame); return;
    case EventKind::Whole:
      role_sent_ = role_sent_ || !event_.role().empty();
      plan_whole(frame);
      return;
    case EventKind::Mergeable: break;
  }
  plan_deltas();
  passed_last_ = false;
  framer_.take(frame.size);
}

/// What is there beside the texts leaves before them if it begins something, else after them.
void MinimaxReslicer::Stream::plan_deltas() {
  const auto news = envelope_.update(event_);
  const bool with_role = !event_.role().empty() && !role_sent_;
  role_sent_ = role_sent_ || with_role;
  const bool starts = with_role || event_.starts_call();
  if (starts) {
    plan_.flush();
    plan_.emit([&](std::string& out) { write_start(out, event_, with_role); });
  }
  const bool texts = plan_texts();
  const bool carried = starts || texts || news == Envelope::News::None;
  if (event_.has_closing() || (event_.has_extras() && !starts) || !carried) {
    plan_.flush();
    plan_.emit([&](std::string& out) { write_rest(out, event_, !starts); });
  } else if (news == Envelope::News::SinceLastEvent && !starts) {
    // A slice must carry the new member before an event without it replaces the envelope.
    plan_.flush();
  }
}

/// False: there is no text.
bool MinimaxReslicer::Stream::plan_texts() {
  bool texts = false;
  for (std::size_t i = 0; i < event_.texts().size(); ++i) {
    texts |= plan_.add({static_cast<TextField>(i), {}}, event_.texts()[i]);
  }
  for (const auto& call : event_.calls()) {
    texts |= plan_.add({TextField::Arguments, std::string{call.index}}, call.arguments);
  }
  return texts;
}

void MinimaxReslicer::Stream::plan_whole(const Frame& frame) {
  plan_.flush();
  plan_.pass(frame.size);
}

/// From the front on, everything leaves as it was received.
void MinimaxReslicer::Stream::plan_verbatim() {
  plan_.flush();
  verbatim_ = true;
}

/// False: `out` has no more room, and the step is to be run again.
bool MinimaxReslicer::Stream::run(Step& step, std::string& out, std::size_t limit) {
  const auto room = limit - std::min(limit, out.size());
  const auto bytes = std::min(room, step.end - step.begin);
  switch (step.action) {
    case Step::Action::Flush: return drain(1, out, limit);
    case Step::Action::Cut: return drain(minimax::kEnoughText, out, limit);
    case Step::Action::Emit:
      out.append(plan_.text, step.begin, bytes);
      step.begin += bytes;
      return step.begin == step.end;
    case Step::Action::Pass:
      out += framer_.front().substr(0, bytes);
      framer_.take(bytes);
      step.begin += bytes;
      return step.begin == step.end;
    case Step::Action::Add: break;
  }
  if (pending_.slot() != step.slot && !drain(1, out, limit)) return false;
  pending_.add(step.slot, std::string_view{plan_.text}.substr(step.begin, step.end - step.begin));
  return true;
}

bool MinimaxReslicer::Stream::drain(std::size_t enough, std::string& out, std::size_t limit) {
  while (pending_.characters() >= enough) {
    if (out.size() >= limit) return false;
    write_slice(out, envelope_.text(), pending_.slot(), pending_.take_slice());
  }
  return true;
}

MinimaxReslicer::MinimaxReslicer() : stream_(std::make_unique<Stream>()) {}
MinimaxReslicer::MinimaxReslicer(MinimaxReslicer&&) noexcept = default;
MinimaxReslicer& MinimaxReslicer::operator=(MinimaxReslicer&&) noexcept = default;
MinimaxReslicer::~MinimaxReslicer() = default;

void MinimaxReslicer::feed(std::string_view bytes) {
  stream_->feed(bytes);
}

void MinimaxReslicer::idle() {
  stream_->idle();
}

void MinimaxReslicer::finish() {
  stream_->finish();
}

bool MinimaxReslicer::produce(std::string& out, std::size_t most) {
  return stream_->produce(out, out.size() + most);
}

bool MinimaxReslicer::has_pending() const noexcept {
  return stream_->has_pending();
}

}  // namespace smg::relay
