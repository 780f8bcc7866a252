#include "upstream/h2_exchange.hpp"

#include <charconv>

#include <smg/base/text.hpp>

namespace smg::upstream {
namespace {

using http::BodyLength;
using Kind = H2StreamEvent::Kind;

/// A body that starts with no more than this travels with its request; all else is read where it
/// lies, and waited for: that is what holds an upload back.
constexpr std::size_t kCopiedBytes = 16 * 1024;
/// How much is read before the stream is told, so that small events cost no message each.
constexpr std::uint64_t kReportBytes = 64 * 1024;

}  // namespace

H2Exchange::H2Exchange(std::shared_ptr<H2Hub> hub, net::IoThread& thread)
    : hub_(std::move(hub)),
      thread_(thread),
      link_(std::make_shared<H2StreamLink>(thread, hub_->home())),
      read_gate_(thread.executor()),
      write_gate_(thread.executor()) {
  link_->exchange = this;
}

H2Exchange::~H2Exchange() = default;

// ---- sending ------------------------------------------------------------------------------------

void H2Exchange::write_head(const UpstreamRequest& request) {
  auto& fields = link_->fields;
  fields.reserve(request.fields.size() + 5);
  fields.emplace_back(":method", request.method);
  fields.emplace_back(":scheme", hub_->origin().tls ? "https" : "http");
  fields.emplace_back(":authority", hub_->origin().authority);
  fields.emplace_back(":path", request.target);
  for (const auto& [name, value] : request.fields) {
    fields.emplace_back(text::to_lower(name), value);
  }
  if (request.length.kind == BodyLength::Kind::Known) {
    fields.emplace_back("content-length", std::to_string(request.length.bytes));
  }
  link_->has_body = request.length.kind == BodyLength::Kind::Chunked ||
                    (request.length.kind == BodyLength::Kind::Known && request.length.bytes > 0);
  request_ended_ = !link_->has_body;
}

/// From here on the link's connection half belongs to the hub's thread.
void H2Exchange::start() {
  if (std::exchange(started_, true)) return;
  hub_->run_at_home([hub = hub_, link = link_] { hub->start(link); });
}

void H2Exchange::flush() {
  start();
}

bool H2Exchange::send(std::span<const std::string_view> pieces, bool last) {
  if (failed_ || (request_ended_ && started_)) return true;
  if (!link_->has_body) {
    start();
    return true;
  }
  std::size_t size = 0;
  for (const auto piece : pieces) size += piece.size();
  request_ended_ = request_ended_ || last;
  if (size > kCopiedBytes || started_) {
    unsent_.assign(pieces.begin(), pieces.end());
    unsent_last_ = last;
    return false;
  }
  std::string copy;
  copy.reserve(size);
  for (const auto piece : pieces) copy.append(piece);
  if (!copy.empty()) {
    link_->copies.push_back(std::move(copy));
    link_->body.emplace_back(link_->copies.back());
  }
  link_->body_last = last;
  start();
  return true;
}

void H2Exchange::keep_unsent() {
  std::string kept;
  for (const auto piece : unsent_) kept.append(piece);
  kept_ = std::move(kept);
  unsent_.assign(1, kept_);
}

/// Hands what is unsent to the connection, in place.
void H2Exchange::hand_over_unsent() {
  start();
  sending_ = true;
  hub_->run_at_home([hub = hub_, link = link_, pieces = std::exchange(unsent_, {}),
                     last = std::exchange(unsent_last_, false)] {
    if (!link->reset_by_us) {
      for (const auto piece : pieces) {
        if (!piece.empty()) link->body.push_back(piece);
      }
      link->body_last = link->body_last || last;
    }
    link->tell_when_sent = true;
    hub->body_added(link);
  });
}

net::Task<Result<>> H2Exchange::flushed() {
  if (failed_ && !started_) co_return *failed_;
  if (!unsent_.empty() || unsent_last_) hand_over_unsent();
  // Even when the exchange has failed: the stream may be reading the pieces until it says
  // otherwise.
  while (sending_) co_await write_gate_.wait();
  if (failed_) co_return *failed_;
  co_return Result<>();
}

// ---- receiving ----------------------------------------------------------------------------------

void H2Exchange::take(H2StreamEvent event) {
  switch (event.kind) {
    case Kind::Head: take_head(std::move(event.block), event.ends); break;
    case Kind::Data:
      response_begun_ = true;
      if (!event.bytes.empty()) received_.push_back(std::move(event.bytes));
      break;
    case Kind::End: ended_ = true; break;
    case Kind::BodySent:
      sending_ = false;
      if (write_gate_.has_waiter()) write_gate_.open();
      return;
    case Kind::Failed:
      if (ended_ || failed_) return;
      if (have_head_) event.error.code = ErrorCode::UpstreamBodyFailed;
      failed_ = std::move(event.error);
      break;
  }
  if (read_gate_.has_waiter()) read_gate_.open();
}

void H2Exchange::take_head(http::H2FieldBlock block, bool ends) {
  response_begun_ = have_head_ = true;
  head_.text = std::move(block.text);
  block.text.clear();
  head_.version = 20;
  head_.fields.clear();
  const std::string_view all = head_.text;
  std::optional<std::uint64_t> length;
  for (const auto& entry : block.entries) {
    const http::Field field{all.substr(entry.name, entry.name_size),
                            all.substr(entry.value, entry.value_size)};
    if (field.name == ":status") {
      head_.status = static_cast<int>(text::parse_decimal(field.value).value_or(502));
    } else if (!field.name.starts_with(':')) {
      head_.fields.push_back(field);
      if (field.name == "content-length") length = text::parse_decimal(field.value);
    }
  }
  if (http::is_bodiless(head_.status)) {
    head_.length = BodyLength::none();
  } else if (length) {
    head_.length = BodyLength::known(*length);
  } else {
    head_.length = ends ? BodyLength::known(0) : BodyLength::chunked();
  }
}

std::optional<Result<const http::ResponseHead*>> H2Exchange::try_read_head() {
  if (have_head_) return &head_;
  if (failed_) return *failed_;
  return std::nullopt;
}

std::optional<Result<std::size_t>> H2Exchange::try_read_body(std::span<char> into) {
  if (received_.empty()) {
    if (ended_) return std::size_t{0};
    if (failed_) return *failed_;
    return std::nullopt;
  }
  // All that has come leaves together.
  std::size_t size = 0;
  while (!received_.empty() && size < into.size()) {
    const std::string& front = received_.front();
    const auto taken = std::min(into.size() - size, front.size() - received_offset_);
    std::copy_n(front.data() + received_offset_, taken, into.data() + size);
    size += taken;
    received_offset_ += taken;
    if (received_offset_ < front.size()) break;
    received_.pop_front();
    received_offset_ = 0;
  }
  unreported_ += size;
  if (unreported_ >= kReportBytes && !ended_) {
    hub_->run_at_home([hub = hub_, link = link_, bytes = std::exchange(unreported_, 0)] {
      hub->consumed(link, bytes);
    });
  }
  return size;
}

// ---- the end ------------------------------------------------------------------------------------

void H2Exchange::fail_with(GatewayError why) noexcept {
  if (!failed_) failed_ = std::move(why);
  received_.clear();
  received_offset_ = 0;
  ended_ = false;
  if (read_gate_.has_waiter()) read_gate_.open();
}

void H2Exchange::abort(GatewayError why) noexcept {
  fail_with(std::move(why));
  if (started_) hub_->run_at_home([hub = hub_, link = link_] { hub->cancel(link); });
}

void H2Exchange::release() noexcept {
  const std::unique_ptr<H2Exchange> self(this);
  link_->exchange = nullptr;
  // Of no effect on a stream that has ended, and it is not known here whether the worker has taken
  // the whole request: a stream that is left open would use up the worker's limit.
  if (started_) hub_->run_at_home([hub = hub_, link = link_] { hub->cancel(link); });
}

}  // namespace smg::upstream
