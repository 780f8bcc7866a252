#include "upstream/h2_upstream_connection.hpp"

#include "upstream/h2_exchange.hpp"
#include <smg/base/text.hpp>

namespace smg::upstream {
namespace {

using Kind = H2StreamEvent::Kind;
using net::IoResult;

/// Streams to assume before the worker's SETTINGS have arrived.
constexpr std::size_t kAssumedStreams = 100;
/// A stream begins with this much in flight, and may come to have the other where the link is long
/// and its reader keeps up. What a stalled reader holds is bounded by it.
constexpr std::uint32_t kFirstWindow = 256 * 1024;
constexpr std::uint32_t kLargestWindow = 512 * 1024;
/// Credited on receipt, so that no stalled stream uses it up.
constexpr std::uint32_t kConnectionWindow = 16 * 1024 * 1024;
constexpr std::size_t kWriteBytes = 64 * 1024;
/// The page, "Connection tuning".
constexpr std::chrono::seconds kPingInterval{30};
constexpr std::chrono::seconds kPingTimeout{20};

}  // namespace

H2UpstreamConnection::H2UpstreamConnection(H2Hub& hub, std::unique_ptr<net::ByteStream> stream)
    : hub_(hub),
      stream_(std::move(stream)),
      session_(http::H2Session::client(
          *this, {.initial_window = kFirstWindow, .connection_window = kConnectionWindow})),
      ping_(hub.home().deadlines(), [this] { ping_due(); }),
      idle_(hub.home().deadlines(), [this] { drain(); }) {
  stream_->observe(this);
  stream_->await_readable();
  ping_.arm(kPingInterval);
  idle_.arm(hub_.settings().idle_timeout);
  pump();
}

H2UpstreamConnection::~H2UpstreamConnection() = default;

bool H2UpstreamConnection::has_room() const noexcept {
  if (draining_ || dead_) return false;
  const std::size_t limit = settings_seen_ ? session_->peer_max_streams() : kAssumedStreams;
  return streams_.size() < std::min(limit, hub_.stream_limit());
}

H2LinkPtr H2UpstreamConnection::find(std::int32_t stream) const {
  const auto it = streams_.find(stream);
  return it != streams_.end() ? it->second : nullptr;
}

// ---- what exchanges ask for ---------------------------------------------------------------------

void H2UpstreamConnection::start(const H2LinkPtr& link) {
  http::Fields fields;
  fields.reserve(link->fields.size());
  for (const auto& [name, value] : link->fields) fields.push_back({name, value});
  const std::int32_t stream = session_->submit_request(fields, link->has_body);
  if (stream < 0) {
    // Stream ids have run out: the connection has had its day.
    draining_ = true;
    hub_.start(link);
    return;
  }
  link->stream = stream;
  link->connection = this;
  link->window = kFirstWindow;
  streams_.emplace(stream, link);
  show_use();
  idle_.disarm();
  pump();
}

void H2UpstreamConnection::body_added(const H2LinkPtr& link) {
  session_->resume_body(link->stream);
  pump();
}

void H2UpstreamConnection::consumed(const H2LinkPtr& link, std::uint64_t bytes) {
  link->consumed += bytes;
  // A reader that keeps up over a whole window is held back by the window, not by itself.
  const bool keeps_up = link->received - link->consumed < link->window / 4;
  if (keeps_up && link->window < kLargestWindow &&
      link->consumed - link->window_grown_at >= link->window) {
    link->window *= 2;
    link->window_grown_at = link->consumed;
    session_->widen_window(link->stream, static_cast<std::uint32_t>(link->window));
  }
  session_->consume(link->stream, bytes);
  pump();
}

void H2UpstreamConnection::cancel(const H2LinkPtr& link) {
  session_->reset(link->stream, http::kH2Cancel);
  // Nothing more of it is told, and its body is no longer looked at.
  streams_.erase(link->stream);
  show_use();
  link->connection = nullptr;
  link->body.clear();
  if (std::exchange(link->tell_when_sent, false)) emit(link, Kind::BodySent);
  pump();
  after_activity();
}

void H2UpstreamConnection::drain() {
  if (std::exchange(draining_, true) || dead_) return;
  session_->announce_shutdown();
  pump();
  after_activity();
}

// ---- the socket ---------------------------------------------------------------------------------

void H2UpstreamConnection::on_readable() {
  const auto scratch = hub_.home().scratch();
  ping_pending_ = false;
  ping_.arm(kPingInterval);
  for (int reads = 0; reads < 4 && !dead_; ++reads) {
    const IoResult got = stream_->read(scratch);
    if (got.status == IoResult::Status::Done) {
      if (!session_->feed({scratch.data(), got.bytes})) {
        pump();
        return fail_all("The worker's HTTP/2 connection broke the protocol");
      }
      if (got.bytes < scratch.size()) break;
    } else if (got.status == IoResult::Status::WouldBlock) {
      break;
    } else {
      deliver();
      return fail_all("The worker closed the connection");
    }
  }
  if (dead_) return;
  stream_->await_readable();
  pump();
  after_activity();
}

void H2UpstreamConnection::on_writable() {
  pump();
  after_activity();
}

/// Gives the kernel what it takes of the session's frames. Bodies are asked for only as they fit,
/// which is how a full socket holds uploads back.
void H2UpstreamConnection::pump() {
  while (!dead_) {
    if (out_offset_ == out_.size()) {
      out_.clear();
      out_offset_ = 0;
      session_->take_output(out_, kWriteBytes);
      if (out_.empty()) break;
    }
    const iovec piece{out_.data() + out_offset_, out_.size() - out_offset_};
    const IoResult sent = stream_->write({&piece, 1});
    if (sent.status == IoResult::Status::WouldBlock) {
      stream_->await_writable();
      break;
    }
    // A failed write shows when reading, behind what the worker still had to say.
    if (sent.status == IoResult::Status::Failed) break;
    out_offset_ += sent.bytes;
  }
  deliver();
}

/// Hands the gathered events to the exchanges' threads, one message for each thread.
void H2UpstreamConnection::deliver() {
  if (events_.empty()) return;
  auto events = std::exchange(events_, {});
  const auto now = net::Clock::now();
  std::vector<H2StreamEvent> local;
  std::vector<std::pair<net::IoThread*, std::shared_ptr<std::vector<H2StreamEvent>>>> remote;
  for (H2StreamEvent& event : events) {
    if (event.frames > 0 && event.link->pace.more_within_pause(event.frames, now)) {
      hub_.home().poller().expect_more();
    }
    if (event.link->same_thread()) {
      if (event.link->exchange != nullptr) event.link->exchange->take(std::move(event));
      continue;
    }
    net::IoThread* target = &event.link->exchange_side;
    auto batch = std::find_if(remote.begin(), remote.end(),
                              [&](const auto& entry) { return entry.first == target; });
    if (batch == remote.end()) {
      remote.emplace_back(target, std::make_shared<std::vector<H2StreamEvent>>());
      batch = std::prev(remote.end());
    }
    batch->second->push_back(std::move(event));
  }
  for (auto& [thread, messages] : remote) {
    thread->post([batch = std::move(messages)] {
      for (H2StreamEvent& event : *batch) {
        if (event.link->exchange != nullptr) event.link->exchange->take(std::move(event));
      }
    });
  }
}

void H2UpstreamConnection::emit(const H2LinkPtr& link, Kind kind) {
  events_.push_back({link, kind});
}

void H2UpstreamConnection::emit_failure(const H2LinkPtr& link, GatewayError error) {
  H2StreamEvent event{link, Kind::Failed};
  event.error = std::move(error);
  events_.push_back(std::move(event));
}

/// Ends the connection when nothing runs on it and nothing should.
void H2UpstreamConnection::after_activity() {
  if (dead_) return;
  if (streams_.empty() && !draining_ && !idle_.armed()) idle_.arm(hub_.settings().idle_timeout);
  const bool over = session_->finished() || (draining_ && streams_.empty() && out_.empty());
  if (over) {
    fail_all("The worker closed the connection");
  } else {
    hub_.capacity_changed();
  }
}

void H2UpstreamConnection::fail_all(const std::string& why, ErrorCode code) {
  if (std::exchange(dead_, true)) return;
  ping_.disarm();
  idle_.disarm();
  stream_->close();
  for (auto& [stream, link] : std::exchange(streams_, {})) {
    link->connection = nullptr;
    link->reset_by_us = true;
    link->body.clear();
    emit_failure(link, fail(code, why));
    if (std::exchange(link->tell_when_sent, false)) emit(link, Kind::BodySent);
  }
  show_use();
  deliver();
  hub_.connection_ended(*this);
}

void H2UpstreamConnection::show_use() noexcept {
  const bool in_use = !streams_.empty();
  if (std::exchange(shown_in_use_, in_use) != in_use) hub_.count_in_use(in_use ? 1 : -1);
}

void H2UpstreamConnection::ping_due() {
  if (ping_pending_) {
    return fail_all("The worker did not answer a PING in time", ErrorCode::UpstreamTimeout);
  }
  ping_pending_ = true;
  session_->ping();
  ping_.arm(kPingTimeout);
  pump();
}

// ---- the session --------------------------------------------------------------------------------

void H2UpstreamConnection::on_fields(std::int32_t stream, http::H2FieldBlock&& block,
                                     bool end_stream) {
  const H2LinkPtr link = find(stream);
  if (!link || block.entries.empty()) return;
  const http::Field first = block.field(0);
  const bool is_head = first.name == ":status";
  const bool informational = is_head && first.value.starts_with('1');
  H2StreamEvent event{link, is_head && !informational ? Kind::Head : Kind::Data};
  if (is_head && !informational) {
    event.block = std::move(block);
    event.ends = end_stream;
  } else if (!informational && !end_stream) {
    return;
  }
  // Trailers are dropped; they, or an interim response, still tell that the worker is at work.
  if (event.kind == Kind::Head || informational) events_.push_back(std::move(event));
  if (end_stream) emit(link, Kind::End);
}

void H2UpstreamConnection::on_data(std::int32_t stream, std::string_view bytes) {
  const H2LinkPtr link = find(stream);
  if (!link) return;
  link->received += bytes.size();
  // Pieces of one read travel together, but never more than a relayed chunk may hold.
  if (link->data_event < events_.size()) {
    H2StreamEvent& last = events_[link->data_event];
    if (last.link == link && last.kind == Kind::Data && last.bytes.size() < kWriteBytes) {
      last.bytes.append(bytes);
      ++last.frames;
      return;
    }
  }
  link->data_event = events_.size();
  H2StreamEvent event{link, Kind::Data};
  event.bytes = bytes;
  event.frames = 1;
  events_.push_back(std::move(event));
}

void H2UpstreamConnection::on_end_stream(std::int32_t stream) {
  if (const H2LinkPtr link = find(stream)) emit(link, Kind::End);
}

void H2UpstreamConnection::on_stream_closed(std::int32_t stream, std::uint32_t error_code) {
  const H2LinkPtr link = find(stream);
  if (!link) return;
  streams_.erase(stream);
  show_use();
  link->connection = nullptr;
  link->reset_by_us = true;
  link->body.clear();
  if (error_code != http::kH2NoError) {
    emit_failure(link, fail(ErrorCode::UpstreamConnect, "The worker reset the stream"));
  } else {
    // After a complete response this changes nothing; before one, it is a stream without an answer.
    emit_failure(link, fail(ErrorCode::UpstreamConnect, "The worker ended the stream early"));
  }
  if (std::exchange(link->tell_when_sent, false)) emit(link, Kind::BodySent);
}

void H2UpstreamConnection::on_goaway(std::int32_t last_stream, std::uint32_t) {
  draining_ = true;
  // nghttp2 closes the streams above `last_stream` itself, as refused.
  static_cast<void>(last_stream);
}

void H2UpstreamConnection::on_ping_ack() {
  ping_pending_ = false;
}

void H2UpstreamConnection::on_settings() {
  settings_seen_ = true;
  hub_.limit_announced(session_->peer_max_streams());
}

http::H2SessionObserver::BodyPiece H2UpstreamConnection::fill_body(std::int32_t stream,
                                                                   std::span<char> into) {
  const H2LinkPtr link = find(stream);
  // A stream that was given up sends nothing more: least of all an end that makes its body look
  // whole.
  if (!link) return {0, false};
  std::size_t filled = 0;
  while (filled < into.size() && !link->body.empty()) {
    std::string_view& front = link->body.front();
    const auto size = std::min(front.size(), into.size() - filled);
    std::copy_n(front.data(), size, into.data() + filled);
    filled += size;
    front.remove_prefix(size);
    if (!front.empty()) break;
    // A copy's view stands in the body in the same order as the copies.
    if (!link->copies.empty() &&
        front.data() == link->copies.front().data() + link->copies.front().size()) {
      link->copies.pop_front();
    }
    link->body.pop_front();
  }
  const bool all = link->body.empty();
  if (all && std::exchange(link->tell_when_sent, false)) emit(link, Kind::BodySent);
  return {filled, all && link->body_last};
}

}  // namespace smg::upstream
