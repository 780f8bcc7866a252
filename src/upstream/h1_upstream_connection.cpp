#include "upstream/h1_upstream_connection.hpp"

#include <charconv>
#include <climits>

#include <smg/http/h1_parser.hpp>
#include <smg/http/wire_text.hpp>

namespace smg::upstream {
namespace {

using http::append_number;
using http::BodyLength;
using http::piece_of;
using net::IoResult;

/// Idle for less, a connection is not one that its worker closes for being idle.
constexpr std::chrono::milliseconds kFresh{100};

/// Reads of a body before others get their turn: a worker may send faster than it is relayed.
constexpr int kReadsInTurn = 4;

}  // namespace

H1UpstreamConnection::H1UpstreamConnection(std::shared_ptr<HostPool> pool, net::IoThread& thread,
                                           std::unique_ptr<net::ByteStream> stream)
    : pool_(std::move(pool)),
      thread_(thread),
      stream_(std::move(stream)),
      read_gate_(thread.executor()),
      write_gate_(thread.executor()),
      idle_(thread.deadlines(), [this] { pool_->drop_idle(*this); }) {
  stream_->observe(this);
  pool_->count_open(thread_, 1);
}

H1UpstreamConnection::~H1UpstreamConnection() {
  pool_->count_open(thread_, -1);
}

// ---- between exchanges --------------------------------------------------------------------------

void H1UpstreamConnection::begin() {
  is_idle_ = false;
  idle_.disarm();
  head_out_.clear();
  kept_.clear();
  unsent_.clear();
  first_unsent_ = 0;
  spliced_left_ = 0;
  input_.clear();
  searched_ = 0;
  chunks_ = {};
  chunked_request_ = request_ended_ = write_failed_ = false;
  head_request_ = response_begun_ = body_ended_ = surplus_ = false;
  reads_in_turn_ = 0;
  aborted_.reset();
}

void H1UpstreamConnection::become_idle(config::Seconds idle_timeout) {
  is_idle_ = true;
  looked_before_ = thread_.poller().looked_at();
  idle_.arm(idle_timeout);
  // Pending until the next response, or until the worker ends the connection.
  stream_->await_readable();
}

bool H1UpstreamConnection::is_quiet() noexcept {
  // The kernel is asked if the loop has not looked since the last use, or so long after it that the
  // worker may be closing the connection this very moment.
  const net::Duration idle = thread_.poller().looked_at() - looked_before_;
  const bool known = idle > net::Duration::zero() && idle < kFresh;
  return known ? stream_->was_quiet() : stream_->quiet();
}

bool H1UpstreamConnection::reusable() const noexcept {
  return request_ended_ && unsent_.empty() && spliced_left_ == 0 && !write_failed_ && body_ended_ &&
         !surplus_ && !aborted_ && head_.keep_alive;
}

void H1UpstreamConnection::release() noexcept {
  std::unique_ptr<H1UpstreamConnection> self(this);
  if (reusable()) {
    const auto pool = pool_;
    pool->put_back(std::move(self));
  }
}

void H1UpstreamConnection::abort(GatewayError why) noexcept {
  if (aborted_) return;
  aborted_ = std::move(why);
  // An end would stand behind bytes that the worker may never take, and they would stay with the
  // system as long.
  const bool is_sending = !request_ended_ || !unsent_.empty() || stream_->has_undelivered();
  if (is_sending) stream_->reset_on_close();
  stream_->close();
  if (read_gate_.has_waiter()) read_gate_.open();
  if (write_gate_.has_waiter()) write_gate_.open();
}

void H1UpstreamConnection::on_readable() {
  if (is_idle_) {
    // Under TLS the worker may have sent a session ticket, which is nothing to us.
    if (is_quiet()) return stream_->await_readable();
    pool_->drop_idle(*this);
  } else if (read_gate_.has_waiter()) {
    read_gate_.open_and_resume();
  }
}

void H1UpstreamConnection::on_writable() {
  if (write_gate_.has_waiter()) {
    write_gate_.open_and_resume();
  } else if (!is_idle_ && !unsent_.empty()) {
    flush();
  }
}

// ---- sending ------------------------------------------------------------------------------------

void H1UpstreamConnection::write_head(const UpstreamRequest& request) {
  std::string& out = head_out_;
  out.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\nhost: ");
  out.append(pool_->origin().authority).append("\r\n");
  for (const auto& [name, value] : request.fields) {
    out.append(name).append(": ").append(value).append("\r\n");
  }
  if (request.length.kind == BodyLength::Kind::Known) {
    out.append("content-length: ");
    append_number(out, request.length.bytes);
    out.append("\r\n");
  } else if (request.length.kind == BodyLength::Kind::Chunked) {
    out.append("transfer-encoding: chunked\r\n");
  }
  out.append("\r\n");
  chunked_request_ = request.length.kind == BodyLength::Kind::Chunked;
  request_ended_ = request.length.kind == BodyLength::Kind::None;
  head_request_ = request.method == "HEAD";
  unsent_.push_back(piece_of(out));
}

void H1UpstreamConnection::flush() {
  if (!send_pending()) stream_->await_writable();
}

bool H1UpstreamConnection::send(std::span<const std::string_view> pieces, bool last) {
  std::size_t size = 0;
  for (const auto piece : pieces) size += piece.size();
  if (chunked_request_ && size > 0) queue_size_line(size);
  for (const auto piece : pieces) {
    if (!piece.empty()) unsent_.push_back(piece_of(piece));
  }
  if (chunked_request_ && size > 0) unsent_.push_back(piece_of(last ? "\r\n0\r\n\r\n" : "\r\n"));
  if (chunked_request_ && size == 0 && last) unsent_.push_back(piece_of("0\r\n\r\n"));
  request_ended_ = request_ended_ || last;
  return send_pending();
}

void H1UpstreamConnection::queue_size_line(std::size_t bytes) {
  char* end = std::to_chars(size_line_, size_line_ + 18, bytes, 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  unsent_.push_back({size_line_, static_cast<std::size_t>(end - size_line_)});
}

bool H1UpstreamConnection::send_from(net::Pipe& pipe, std::size_t bytes, bool last) {
  queue_size_line(bytes);
  pipe_ = &pipe;
  spliced_left_ = bytes;
  behind_spliced_ = last ? "\r\n0\r\n\r\n" : "\r\n";
  request_ended_ = request_ended_ || last;
  return send_pending();
}

/// Gives the kernel what it takes now. True: nothing is left, or nothing more will be taken.
bool H1UpstreamConnection::send_pending() {
  if (!send_unsent()) return false;
  if (spliced_left_ == 0) return true;
  return send_spliced() && send_unsent();
}

/// The pipe's part; what comes behind it is queued then.
bool H1UpstreamConnection::send_spliced() {
  while (spliced_left_ > 0 && !aborted_ && !write_failed_) {
    const IoResult sent = stream_->splice_from(*pipe_, spliced_left_);
    if (sent.status == IoResult::Status::WouldBlock) return false;
    write_failed_ = sent.status != IoResult::Status::Done || sent.bytes == 0;
    spliced_left_ -= sent.bytes;
  }
  spliced_left_ = 0;
  unsent_.assign(1, piece_of(behind_spliced_));
  return true;
}

bool H1UpstreamConnection::send_unsent() {
  while (first_unsent_ < unsent_.size() && !aborted_ && !write_failed_) {
    const auto count = std::min<std::size_t>(unsent_.size() - first_unsent_, IOV_MAX);
    const std::span<const iovec> pieces(&unsent_[first_unsent_], count);
    const IoResult sent =
        spliced_left_ > 0 ? stream_->write_before_splice(pieces) : stream_->write(pieces);
    if (sent.status == IoResult::Status::WouldBlock) return false;
    if (sent.status == IoResult::Status::Failed) {
      write_failed_ = true;
      break;
    }
    for (std::size_t left = sent.bytes; first_unsent_ < unsent_.size();) {
      iovec& piece = unsent_[first_unsent_];
      const auto taken = std::min(left, piece.iov_len);
      piece = {static_cast<char*>(piece.iov_base) + taken, piece.iov_len - taken};
      left -= taken;
      if (piece.iov_len > 0) break;
      ++first_unsent_;
    }
  }
  unsent_.clear();
  first_unsent_ = 0;
  return true;
}

void H1UpstreamConnection::keep_unsent() {
  std::string kept;
  for (std::size_t i = first_unsent_; i < unsent_.size(); ++i) {
    kept.append(static_cast<const char*>(unsent_[i].iov_base), unsent_[i].iov_len);
  }
  kept_ = std::move(kept);
  unsent_.assign(1, piece_of(kept_));
  first_unsent_ = 0;
}

net::Task<Result<>> H1UpstreamConnection::flushed() {
  while (!send_pending()) {
    stream_->await_writable();
    co_await write_gate_.wait();
  }
  if (aborted_) co_return *aborted_;
  if (write_failed_) co_return fail(ErrorCode::UpstreamConnect, "The worker closed the connection");
  co_return Result<>();
}

// ---- receiving ----------------------------------------------------------------------------------

std::optional<Result<const http::ResponseHead*>> H1UpstreamConnection::try_read_head() {
  for (;;) {
    if (aborted_) return *aborted_;
    auto taken = take_head();
    if (!taken) return taken.error();
    if (*taken && head_.status >= 200) {
      begin_body();
      return &head_;
    }
    if (*taken && head_.status == 101) {
      return fail(ErrorCode::UpstreamConnect, "The worker switched protocols unasked");
    }
    if (*taken) continue;
    auto more = read_more_of_head();
    if (!more) return more.error();
    if (!*more) return std::nullopt;
  }
}

net::Task<> H1UpstreamConnection::arrival() {
  reads_in_turn_ = 0;
  stream_->await_readable();
  return read_gate_.wait();
}

/// False: there is nothing yet.
Result<bool> H1UpstreamConnection::read_more_of_head() {
  if (++reads_in_turn_ > kReadsInTurn) return false;
  const auto scratch = thread_.scratch().first(http::kHeadReadBytes);
  const IoResult got = stream_->read(scratch);
  if (got.status == IoResult::Status::Done) {
    response_begun_ = true;
    input_.append(scratch.data(), got.bytes);
    return true;
  }
  if (got.status != IoResult::Status::WouldBlock) {
    return fail(ErrorCode::UpstreamConnect,
                response_begun_ ? "The worker closed the connection within its response head"
                                : "The worker closed the connection before it answered");
  }
  return false;
}

/// Parses a head off the input if one is whole there. False: more bytes are needed.
Result<bool> H1UpstreamConnection::take_head() {
  const std::size_t end = http::find_head_end(input_, searched_);
  searched_ = end == std::string::npos ? input_.size() : 0;
  if (end == std::string::npos) {
    // What does not begin like HTTP/1 never will; an endless head is no better.
    constexpr std::string_view kStart = "HTTP/1.";
    const auto known = std::min(input_.size(), kStart.size());
    if (input_.compare(0, known, kStart, 0, known) != 0 ||
        input_.size() > http::HeadLimits{}.head_bytes) {
      return fail(ErrorCode::UpstreamConnect, "The worker's response is not HTTP/1");
    }
    return false;
  }
  head_.text.assign(input_, 0, end);
  http::consume_input(input_, end);
  if (auto parsed = http::parse_response_head(head_, head_request_); !parsed) return parsed.error();
  return true;
}

void H1UpstreamConnection::begin_body() {
  body_left_ = head_.length.bytes;
  switch (head_.length.kind) {
    case BodyLength::Kind::None: body_ended_ = true; break;
    case BodyLength::Kind::Known: body_ended_ = body_left_ == 0; break;
    case BodyLength::Kind::Chunked:
    case BodyLength::Kind::UntilClose: break;
  }
  if (body_ended_ && !input_.empty()) surplus_ = true;
}

std::optional<Result<std::size_t>> H1UpstreamConnection::try_read_body(std::span<char> into) {
  while (!body_ended_) {
    if (aborted_) return *aborted_;
    if (!input_.empty()) {
      const auto size = std::min(into.size(), input_.size());
      std::copy_n(input_.data(), size, into.data());
      http::consume_input(input_, size);
      auto accepted = accept_body(into.first(size));
      if (!accepted || *accepted > 0) return accepted;
      continue;
    }
    if (++reads_in_turn_ > kReadsInTurn) return std::nullopt;
    const IoResult got = stream_->read(into);
    if (got.status == IoResult::Status::WouldBlock) return std::nullopt;
    if (got.status == IoResult::Status::Done) {
      auto accepted = accept_body(into.first(got.bytes));
      if (!accepted || *accepted > 0) return accepted;
    } else if (got.status == IoResult::Status::End &&
               head_.length.kind == BodyLength::Kind::UntilClose) {
      body_ended_ = true;
    } else {
      return fail(ErrorCode::UpstreamBodyFailed, "The worker's response broke off");
    }
  }
  return std::size_t{0};
}

/// Accounts for bytes of the body; takes its framing off. Bytes behind the body are nobody's: they
/// spoil the connection.
Result<std::size_t> H1UpstreamConnection::accept_body(std::span<char> piece) {
  std::size_t produced = piece.size();
  std::size_t consumed = piece.size();
  if (head_.length.kind == BodyLength::Kind::Chunked) {
    const auto progress = chunks_.decode(piece);
    if (progress.failed) {
      // What came before the fault is delivered; the next read reports it.
      if (progress.produced == 0) {
        return fail(ErrorCode::UpstreamBodyFailed, "The worker's chunked coding is malformed");
      }
      aborted_ = fail(ErrorCode::UpstreamBodyFailed, "The worker's chunked coding is malformed");
      return progress.produced;
    }
    produced = progress.produced;
    consumed = progress.consumed;
    body_ended_ = chunks_.ended();
    const bool fast = pace_.more_within_pause(progress.chunks, net::Clock::now());
    if (fast && !body_ended_) thread_.poller().expect_more();
  } else if (head_.length.kind == BodyLength::Kind::Known) {
    produced = consumed =
        static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), body_left_));
    body_left_ -= produced;
    body_ended_ = body_left_ == 0;
  }
  if (body_ended_ && (consumed < piece.size() || !input_.empty())) surplus_ = true;
  return produced;
}

}  // namespace smg::upstream
