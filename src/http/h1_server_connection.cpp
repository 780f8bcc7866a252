#include "http/h1_server_connection.hpp"

#include <charconv>

#include "http/http_date.hpp"
#include <smg/http/h1_parser.hpp>
#include <smg/http/wire_text.hpp>

namespace smg::http {
namespace {

using net::IoResult;

/// Pipelined bytes kept while a request runs; more stay with the kernel.
constexpr std::size_t kMaxPipelined = 64 * 1024;
/// Reads of heads, and of a body, before others get their turn: a client may send faster than it is
/// served.
constexpr int kHeadReadsInTurn = 2;
constexpr int kBodyReadsInTurn = 4;
/// How long and how far a connection is drained before it is closed over unread bytes (RFC
/// 9112 9.6).
constexpr std::chrono::seconds kLinger{2};
constexpr std::uint64_t kLingerBytes = 8 * 1024 * 1024;
/// What an HTTP/2 client starts with (RFC 9113 3.4); no HTTP/1 request does.
constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::size_t total_size(std::span<const iovec> pieces) noexcept {
  std::size_t total = 0;
  for (const iovec& piece : pieces) total += piece.iov_len;
  return total;
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

GatewayError body_aborted() {
  return fail(ErrorCode::BodyAborted,
              "The request body stream failed before it was fully forwarded");
}

}  // namespace

H1ServerConnection::H1ServerConnection(net::IoThread& thread, const config::Listen& settings,
                                       std::unique_ptr<net::ByteStream> stream)
    : thread_(thread),
      settings_(settings),
      stream_(std::move(stream)),
      read_gate_(thread.executor()),
      write_gate_(thread.executor()),
      timeout_(thread.deadlines(), [this] {
        timed_out_ = true;
        if (phase_ == Phase::Delivering) return abort();
        read_gate_.open_and_resume();
      }) {
  stream_->observe(this);
}

H1ServerConnection::~H1ServerConnection() = default;

// ---- the connection's life ----------------------------------------------------------------------

net::Task<> H1ServerConnection::serve(RequestHandler& handler) {
  for (;;) {
    phase_ = Phase::ReadingHead;
    NextHead next = try_read_head();
    while (next == NextHead::Pending) {
      co_await read_gate_.wait();
      reads_in_turn_ = 0;
      next = try_read_head();
    }
    if (next == NextHead::Refused) co_await close_in_stages();
    if (next != NextHead::Complete) break;
    begin_exchange();
    co_await handler.handle(*this);
    on_gone_ = nullptr;
    if (is_finished()) continue;
    const bool reusable = co_await finish_exchange();
    if (!reusable) break;
  }
  if (!speaks_http2_) stream_->close();
}

std::optional<Http2Start> H1ServerConnection::take_http2() {
  if (!std::exchange(speaks_http2_, false) || gone_) return std::nullopt;
  return Http2Start{std::move(stream_), std::move(input_)};
}

/// Reads and parses the next request head, as far as it has come; `read_gate_` tells of more.
H1ServerConnection::NextHead H1ServerConnection::try_read_head() {
  for (;;) {
    if (!speaks_http1_) recognise();
    if (speaks_http2_) return NextHead::None;
    if (speaks_http1_) {
      // Empty lines before a request are skipped (RFC 9112 2.2).
      const auto start = input_.find_first_not_of("\r\n");
      if (start != 0) input_.erase(0, start);
    }
    head_begun_ = !input_.empty();
    const std::size_t end = speaks_http1_ ? find_head_end(input_, searched_) : std::string::npos;
    if (end != std::string::npos) {
      searched_ = 0;
      timeout_.disarm();
      return take_head(end) ? NextHead::Complete : NextHead::Refused;
    }
    searched_ = speaks_http1_ ? input_.size() : 0;
    if (input_.size() > HeadLimits{}.head_bytes) {
      const bool in_request_line = input_.find('\n') == std::string::npos;
      refuse({ErrorCode::BadRequest, "Request head too large", in_request_line ? 414 : 431});
      return NextHead::Refused;
    }
    const NextHead more = fill_input();
    if (more != NextHead::Complete) return more;
  }
}

/// The connection's first bytes are an HTTP/2 preface, may become one, or are HTTP/1.
void H1ServerConnection::recognise() noexcept {
  const auto start = std::string_view(input_).substr(0, kHttp2Preface.size());
  speaks_http1_ = !kHttp2Preface.starts_with(start);
  speaks_http2_ = start.size() == kHttp2Preface.size() && !speaks_http1_;
}

/// Reads further bytes of a head; Complete: there are some. The first byte of a head starts its
/// clock (ruling 14).
H1ServerConnection::NextHead H1ServerConnection::fill_input() {
  if (draining_ || gone_) return NextHead::None;
  if (timed_out_) {
    if (input_.empty()) return NextHead::None;
    refuse({ErrorCode::BadRequest, "Timed out waiting for the request head", 408});
    return NextHead::Refused;
  }
  // Empty lines neither begin a head nor prolong the wait for one.
  if (head_begun_ != timing_head_ || !timeout_.armed()) {
    timing_head_ = head_begun_;
    timeout_.arm(head_begun_ ? settings_.header_read_timeout : settings_.idle_connection_timeout);
  }
  if (++reads_in_turn_ > kHeadReadsInTurn) {
    stream_->await_readable();
    return NextHead::Pending;
  }
  const auto scratch = thread_.scratch();
  const IoResult got = stream_->read(scratch.first(kHeadReadBytes));
  if (got.status == IoResult::Status::Done) {
    input_.append(scratch.data(), got.bytes);
    return NextHead::Complete;
  }
  if (got.status != IoResult::Status::WouldBlock) return NextHead::None;
  stream_->await_readable();
  return NextHead::Pending;
}

bool H1ServerConnection::take_head(std::size_t end) {
  head_.text.assign(input_, 0, end);
  consume_input(input_, end);
  const auto parsed = parse_request_head(head_);
  if (!parsed) refuse(parsed.error());
  return parsed.has_value();
}

void H1ServerConnection::begin_exchange() {
  phase_ = Phase::InExchange;
  chunks_ = {};
  body_left_ = head_.content_length.value_or(0);
  body_ended_ = !head_.chunked && body_left_ == 0;
  continue_due_ = head_.expects_continue && !body_ended_;
  read_cancelled_ = false;
  pending_head_.clear();
  head_written_ = response_complete_ = bodiless_ = false;
  closes_ = !head_.keep_alive;
  bytes_received_ = bytes_sent_ = 0;
  on_gone_ = nullptr;
  // From here on the client is watched; the same event announces the next request.
  if (body_ended_) {
    stream_->await_readable();
  } else {
    // Nobody may be reading when the client goes: the worker may be holding the upload back, or not
    // be connected yet.
    stream_->await_end();
  }
}

/// The exchange has left nothing behind: the connection can take another request as it is.
bool H1ServerConnection::is_finished() const noexcept {
  return response_complete_ && queue_.empty() && body_ended_ && !closes_ && !draining_ && !gone_;
}

/// Sends what is left of the response. True: the connection can take another request.
net::Task<bool> H1ServerConnection::finish_exchange() {
  const bool delivered = co_await deliver();
  if (!delivered) co_return false;
  if (!response_complete_) {
    // The response broke off: whatever framing it had must not look complete.
    if (response_length_.kind == BodyLength::Kind::UntilClose) stream_->reset_on_close();
    co_return false;
  }
  const bool unread = !body_ended_ || !input_.empty();
  if (closes_ || draining_ || !body_ended_) {
    if (unread) co_await close_in_stages();
    co_return false;
  }
  co_return true;
}

/// Waits until the client has taken what is written, for as long as it takes something at all.
net::Task<bool> H1ServerConnection::deliver() {
  phase_ = Phase::Delivering;
  flush();
  if (queue_.empty()) co_return !gone_;
  timeout_.arm(settings_.idle_connection_timeout);
  const bool drained = co_await wait_until_drained();
  timeout_.disarm();
  co_return drained;
}

/// Ends the connection so that the client can read our last bytes: unread input is drained for a
/// bounded time and amount, since closing over it would reset the connection (RFC 9112 9.6).
net::Task<> H1ServerConnection::close_in_stages() {
  on_gone_ = nullptr;
  const bool delivered = co_await deliver();
  if (!delivered) co_return;
  phase_ = Phase::Closing;
  stream_->shutdown_write();
  timed_out_ = false;
  timeout_.arm(kLinger);
  const auto scratch = thread_.scratch();
  for (std::uint64_t left = kLingerBytes; left > 0 && !timed_out_ && !gone_;) {
    const IoResult got = stream_->read(scratch);
    if (got.status == IoResult::Status::Done) {
      left -= std::min<std::uint64_t>(left, got.bytes);
    } else if (got.status == IoResult::Status::WouldBlock) {
      stream_->await_readable();
      co_await read_gate_.wait();
    } else {
      break;
    }
  }
  timeout_.disarm();
}

/// Answers a request that cannot be understood: a bare status, and the connection ends.
void H1ServerConnection::refuse(const GatewayError& error) {
  head_.version = 11;
  head_.method = Method::Get;
  pending_head_.clear();
  response_complete_ = false;
  closes_ = true;
  write_head({error.status(), {}}, BodyLength::known(0));
  write_body({}, true);
}

void H1ServerConnection::drain() {
  draining_ = true;
  if (phase_ == Phase::ReadingHead) read_gate_.open();
}

void H1ServerConnection::abort() noexcept {
  client_left();
  stream_->close();
}

void H1ServerConnection::client_left() noexcept {
  if (std::exchange(gone_, true)) return;
  queue_.clear();
  read_gate_.open();
  write_gate_.open();
  if (on_gone_) std::exchange(on_gone_, nullptr)();
}

// ---- readiness ----------------------------------------------------------------------------------

void H1ServerConnection::on_readable() {
  if (read_gate_.has_waiter()) {
    read_gate_.open_and_resume();
  } else if (phase_ == Phase::InExchange) {
    watch_client();
  }
}

/// Notices a client that leaves while its request runs. Its end of stream counts as leaving (ruling
/// 1).
void H1ServerConnection::watch_client() {
  if (!body_ended_) {
    if (stream_->peer_ended()) client_left();
    return;
  }
  // Behind a complete response, what comes is the next request: it is read when its turn comes.
  while (!response_complete_ && input_.size() < kMaxPipelined) {
    const auto scratch = thread_.scratch().first(16 * 1024);
    const IoResult got = stream_->read(scratch);
    if (got.status == IoResult::Status::Done) {
      input_.append(scratch.data(), got.bytes);
    } else if (got.status == IoResult::Status::WouldBlock) {
      stream_->await_readable();
      return;
    } else {
      return client_left();
    }
  }
  // What a client pipelines beyond that stays unread.
  if (!response_complete_) stream_->await_end();
}

// ---- the request body ---------------------------------------------------------------------------

net::Task<> H1ServerConnection::arrival() {
  reads_in_turn_ = 0;
  stream_->await_readable();
  return read_gate_.wait();
}

std::optional<Result<std::size_t>> H1ServerConnection::try_read_body(std::span<char> into) {
  if (body_ended_) return std::size_t{0};
  if (read_cancelled_) return fail(ErrorCode::Aborted);
  while (!input_.empty()) {
    auto taken = take_buffered_body(into);
    if (!taken || *taken > 0 || body_ended_) return taken;
  }
  if (continue_due_) send_continue();
  for (;;) {
    if (gone_) return fail(ErrorCode::Aborted);
    // Within a Content-Length no byte of the next request is touched.
    const auto room = head_.chunked ? into
                                    : into.first(static_cast<std::size_t>(
                                          std::min<std::uint64_t>(into.size(), body_left_)));
    if (++reads_in_turn_ > kBodyReadsInTurn) return std::nullopt;
    const IoResult got = stream_->read(room);
    if (got.status == IoResult::Status::WouldBlock) return std::nullopt;
    if (got.status != IoResult::Status::Done) return body_aborted();
    auto accepted = accept_body(room.first(got.bytes));
    if (!accepted || *accepted > 0 || body_ended_) return accepted;
  }
}

std::uint64_t H1ServerConnection::spliceable_bytes() const noexcept {
  const bool raw = !head_.chunked && input_.empty() && !continue_due_ && stream_->can_splice();
  return raw ? body_left_ : 0;
}

net::Task<Result<std::size_t>> H1ServerConnection::read_body_into(net::Pipe& pipe) {
  for (;;) {
    if (read_cancelled_ || gone_) co_return fail(ErrorCode::Aborted);
    const auto most = std::min<std::uint64_t>(net::Pipe::kBytes, body_left_);
    const IoResult got = stream_->splice_into(pipe, static_cast<std::size_t>(most));
    if (got.status == IoResult::Status::Done) {
      account(got.bytes);
      co_return got.bytes;
    }
    if (got.status != IoResult::Status::WouldBlock) co_return body_aborted();
    stream_->await_readable();
    co_await read_gate_.wait();
  }
}

/// Body bytes that arrived together with the head.
Result<std::size_t> H1ServerConnection::take_buffered_body(std::span<char> into) {
  auto size = std::min(into.size(), input_.size());
  if (!head_.chunked) size = static_cast<std::size_t>(std::min<std::uint64_t>(size, body_left_));
  std::copy_n(input_.data(), size, into.data());
  consume_input(input_, size);
  continue_due_ = false;
  return accept_body(into.first(size));
}

/// Accounts for bytes read from the body; takes its framing off. What lies behind the body goes
/// back to the input, in front of what is there.
Result<std::size_t> H1ServerConnection::accept_body(std::span<char> piece) {
  std::size_t produced = piece.size();
  if (head_.chunked) {
    const auto progress = chunks_.decode(piece);
    if (progress.failed) return fail(ErrorCode::BodyUnreadable, "Malformed chunked coding");
    produced = progress.produced;
    input_.insert(0, piece.data() + progress.consumed, piece.size() - progress.consumed);
    body_ended_ = chunks_.ended();
  }
  account(produced);
  return produced;
}

/// Counts body bytes that have come.
void H1ServerConnection::account(std::size_t bytes) {
  if (!head_.chunked) {
    body_left_ -= bytes;
    body_ended_ = body_left_ == 0;
  }
  bytes_received_ += bytes;
  if (body_ended_) {
    stream_->await_readable();
  } else if (stream_->peer_ended()) {
    // Whoever waited to read was told, instead of what watches the client.
    stream_->await_end();
  }
}

void H1ServerConnection::send_continue() {
  continue_due_ = false;
  if (head_written_) return;
  const iovec interim = piece_of("HTTP/1.1 100 Continue\r\n\r\n");
  write_pieces({&interim, 1});
}

void H1ServerConnection::cancel_read() noexcept {
  read_cancelled_ = true;
  if (read_gate_.has_waiter()) read_gate_.open();
}

// ---- the response -------------------------------------------------------------------------------

void H1ServerConnection::write_head(const ClientResponse& response, BodyLength length) {
  head_written_ = true;
  bodiless_ = head_.method == Method::Head || is_bodiless(response.status);
  if (length.kind == BodyLength::Kind::Chunked && head_.version == 10) {
    length = BodyLength::until_close();
  }
  if (length.kind == BodyLength::Kind::UntilClose && !bodiless_) closes_ = true;
  // An unread body ends the connection, and the client is told so (RFC 9112 9.3).
  if (!body_ended_ || draining_) closes_ = true;
  response_length_ = length;

  std::string& out = pending_head_;
  out.append(head_.version == 10 ? "HTTP/1.0 " : "HTTP/1.1 ");
  append_number(out, static_cast<std::uint64_t>(response.status));
  out.append(" ").append(reason_phrase(response.status)).append("\r\n");
  bool dated = false;
  for (const auto& [name, value] : response.fields) {
    append_field(out, name, value);
    dated = dated || text::equals_ignoring_case(name, "date");
  }
  if (!dated) append_field(out, "date", date_now());
  if (length.kind == BodyLength::Kind::Known && !is_bodiless(response.status)) {
    out.append("content-length: ");
    append_number(out, length.bytes);
    out.append("\r\n");
  } else if (length.kind == BodyLength::Kind::Chunked && !bodiless_) {
    out.append("transfer-encoding: chunked\r\n");
  }
  if (closes_) {
    out.append("connection: close\r\n");
  } else if (head_.version == 10) {
    out.append("connection: keep-alive\r\n");
  }
  out.append("\r\n");
}

void H1ServerConnection::flush() {
  if (!pending_head_.empty()) write_pieces({});
}

void H1ServerConnection::write_body(std::string_view bytes, bool last) {
  if (gone_ || response_complete_ || (bytes.empty() && !last)) return;
  response_complete_ = last;
  if (bodiless_) bytes = {};
  bytes_sent_ += bytes.size();
  const bool chunked = response_length_.kind == BodyLength::Kind::Chunked && !bodiless_;
  char size_line[20];
  iovec pieces[3];
  std::size_t count = 0;
  if (chunked && !bytes.empty()) {
    char* end = std::to_chars(size_line, size_line + 16, bytes.size(), 16).ptr;
    *end++ = '\r';
    *end++ = '\n';
    pieces[count++] = {size_line, static_cast<std::size_t>(end - size_line)};
  }
  if (!bytes.empty()) pieces[count++] = piece_of(bytes);
  if (chunked) {
    const std::string_view ends = last ? "\r\n0\r\n\r\n" : "\r\n";
    pieces[count++] = piece_of(bytes.empty() ? ends.substr(2) : ends);
  }
  write_pieces({pieces, count});
}

/// Hands a pending head and these pieces to the kernel in one write, or queues them behind what
/// waits.
void H1ServerConnection::write_pieces(std::span<const iovec> pieces) {
  iovec all[4];
  std::size_t count = 0;
  if (!pending_head_.empty()) all[count++] = piece_of(pending_head_);
  for (const iovec& piece : pieces) all[count++] = piece;
  const std::span<const iovec> whole{all, count};
  if (gone_ || count == 0) return;
  if (!queue_.empty()) {
    enqueue(whole, 0);
  } else {
    const IoResult sent = stream_->write(whole);
    if (sent.status == IoResult::Status::Failed) {
      client_left();
    } else if (sent.bytes < total_size(whole)) {
      enqueue(whole, sent.bytes);
      stream_->await_writable();
    }
  }
  pending_head_.clear();
}

void H1ServerConnection::enqueue(std::span<const iovec> pieces, std::size_t already_sent) {
  std::string& chunk = queue_.add(total_size(pieces) - already_sent);
  for (const iovec& piece : pieces) {
    const auto skip = std::min(already_sent, piece.iov_len);
    already_sent -= skip;
    chunk.append(static_cast<const char*>(piece.iov_base) + skip, piece.iov_len - skip);
  }
}

void H1ServerConnection::on_writable() {
  send_queue();
  if (write_gate_.has_waiter()) write_gate_.open_and_resume();
}

void H1ServerConnection::send_queue() {
  while (!queue_.empty() && !gone_) {
    iovec pieces[kMaxQueuedChunks];
    const std::size_t count = std::min(queue_.size(), kMaxQueuedChunks);
    for (std::size_t i = 0; i < count; ++i) pieces[i] = piece_of(queue_[i]);
    const IoResult sent = stream_->write({pieces, count});
    if (sent.status == IoResult::Status::Failed) return client_left();
    if (sent.status == IoResult::Status::WouldBlock) break;
    queue_.take(sent.bytes);
    if (phase_ == Phase::Delivering) timeout_.arm(settings_.idle_connection_timeout);
  }
  if (!queue_.empty()) stream_->await_writable();
}

net::Task<bool> H1ServerConnection::wait_for_room() {
  while (queue_full() && !gone_) co_await write_gate_.wait();
  co_return !gone_;
}

net::Task<bool> H1ServerConnection::wait_until_drained() {
  flush();
  while (!queue_.empty() && !gone_) co_await write_gate_.wait();
  co_return !gone_;
}

}  // namespace smg::http
