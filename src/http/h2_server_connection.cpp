#include "http/h2_server_connection.hpp"

namespace smg::http {
namespace {

using net::IoResult;

/// Frames are pulled from the session up to here before they are written; the rest waits in its
/// stream.
constexpr std::size_t kOutputBytes = 64 * 1024;
constexpr std::size_t kReadBytes = 64 * 1024;
/// Reads in one turn of the loop: other connections of the thread wait no longer than for these.
constexpr int kReadsPerTurn = 4;
/// Control frames that may wait for a client which does not read but makes us answer.
constexpr std::size_t kMaxQueuedFrames = 4096;
/// Requests that a client may break off: a burst, and so many a second. Far above what a busy
/// gateway in front of this one cancels, far below an attack by rapid resets.
constexpr std::uint32_t kResetBurst = 1000;
constexpr std::uint32_t kResetsPerSecond = 100;
/// How long and how far a connection is drained before it is closed over unread bytes (RFC 9112 9.6
/// holds for any protocol on TCP).
constexpr std::chrono::seconds kLinger{2};
constexpr std::uint64_t kLingerBytes = 8 * 1024 * 1024;

H2Session::Settings session_settings() {
  H2Session::Settings settings;
  settings.max_header_list = 16 * 1024;
  settings.max_resets = kResetBurst;
  settings.max_resets_per_second = kResetsPerSecond;
  return settings;
}

}  // namespace

H2ServerConnection::H2ServerConnection(net::IoThread& thread, const config::Listen& settings,
                                       std::unique_ptr<net::ByteStream> stream,
                                       std::string received)
    : thread_(thread),
      settings_(settings),
      stream_(std::move(stream)),
      session_(H2Session::server(*this, session_settings())),
      received_(std::move(received)),
      wake_(thread.executor()),
      timeout_(thread.deadlines(), [this] { time_out(); }),
      tasks_(thread.executor()),
      resets_left_(kResetBurst),
      resets_counted_(thread.deadlines().now()) {
  stream_->observe(this);
}

H2ServerConnection::~H2ServerConnection() = default;

// ---- the connection's life ----------------------------------------------------------------------

net::Task<> H2ServerConnection::serve(RequestHandler& handler) {
  handler_ = &handler;
  if (!lost_ && feed(std::exchange(received_, {}))) stream_->await_readable();
  for (;;) {
    notify_gone();
    go_away();
    send_output();
    if (over()) break;
    if (!left_.empty()) continue;
    set_clock();
    co_await wake_.wait();
  }
  ending_ = true;
  timeout_.disarm();
  cut_streams();
  co_await tasks_.join();
  co_await linger();
  stream_->close();
}

bool H2ServerConnection::over() const noexcept {
  return lost_ || failed_ || (session_->finished() && out_.empty());
}

void H2ServerConnection::drain() {
  draining_ = true;
  wake_.open();
}

void H2ServerConnection::abort() noexcept {
  lost_ = true;
  stream_->close();
  cut_streams();
  wake_.open();
}

/// Says goodbye in two steps, so that requests which are on their way are still answered (RFC
/// 9113 6.8): a warning first, the end once the client has seen it.
void H2ServerConnection::go_away() {
  if (!draining_ || went_away_) return;
  if (exchanges_.empty() || (warned_ && ping_answered_)) {
    went_away_ = true;
    session_->announce_shutdown();
  } else if (!std::exchange(warned_, true)) {
    session_->warn_of_shutdown();
    session_->ping();
  }
}

/// Chooses the clock that the connection's state asks for, unless it is running already.
void H2ServerConnection::set_clock() {
  Clock due = Clock::None;
  if (session_->finished()) {
    due = Clock::Ending;
  } else if (!greeted_ || session_->in_fields()) {
    due = Clock::Head;
  } else if (exchanges_.empty()) {
    due = Clock::Idle;
  }
  if (due == std::exchange(clock_, due)) return;
  switch (due) {
    case Clock::None: timeout_.disarm(); break;
    case Clock::Head: timeout_.arm(settings_.header_read_timeout); break;
    case Clock::Idle: timeout_.arm(settings_.idle_connection_timeout); break;
    case Clock::Ending: timeout_.arm(kLinger); break;
  }
}

void H2ServerConnection::time_out() {
  if (clock_ == Clock::Ending) {
    lost_ = true;
  } else {
    session_->terminate(kH2NoError);
  }
  wake_.open_and_resume();
}

/// Ends every exchange whose stream goes with the connection.
void H2ServerConnection::cut_streams() {
  arrived_.clear();
  std::vector<H2ClientExchange*> all;
  all.reserve(exchanges_.size());
  for (const auto& [stream, exchange] : exchanges_) all.push_back(exchange);
  for (H2ClientExchange* exchange : all) {
    exchange->stream_closed();
    exchange->notify_if_gone();
  }
}

/// Lets the client read our last bytes: closing over unread input would reset the connection.
net::Task<> H2ServerConnection::linger() {
  const bool more_is_coming = unread_ || failed_;
  if (lost_ || (!more_is_coming && stream_->quiet())) co_return;
  stream_->shutdown_write();
  clock_ = Clock::Ending;
  timeout_.arm(kLinger);
  const auto scratch = thread_.scratch();
  for (std::uint64_t left = kLingerBytes; left > 0 && !lost_;) {
    const IoResult got = stream_->read(scratch);
    if (got.status == IoResult::Status::Done) {
      left -= std::min<std::uint64_t>(left, got.bytes);
    } else if (got.status == IoResult::Status::WouldBlock && more_is_coming) {
      stream_->await_readable();
      co_await wake_.wait();
    } else {
      break;
    }
  }
  timeout_.disarm();
}

// ---- input --------------------------------------------------------------------------------------

void H2ServerConnection::on_readable() {
  if (ending_) return wake_.open_and_resume();
  for (int reads = 0; reads < kReadsPerTurn && !lost_; ++reads) {
    const auto scratch = thread_.scratch().first(kReadBytes);
    const IoResult got = stream_->read(scratch);
    if (got.status == IoResult::Status::WouldBlock) break;
    // The client's end of stream counts as its leaving (ruling 1).
    lost_ = got.status != IoResult::Status::Done;
    if (lost_ || !feed({scratch.data(), got.bytes}) || got.bytes < scratch.size()) break;
  }
  if (!lost_ && !failed_) stream_->await_readable();
  // Not at once: whom these bytes have woken comes first, and its output leaves in the same write.
  wake_.open();
}

/// False: the client broke the protocol beyond repair, or a limit.
bool H2ServerConnection::feed(std::string_view bytes) {
  if (!session_->feed(bytes) || session_->queued_frames() > kMaxQueuedFrames) failed_ = true;
  if (failed_) {
    session_->terminate(kH2EnhanceYourCalm);
    arrived_.clear();
  } else {
    start_arrived();
  }
  return !failed_;
}

H2ClientExchange* H2ServerConnection::find(std::int32_t stream) noexcept {
  const auto found = exchanges_.find(stream);
  return found == exchanges_.end() ? nullptr : found->second;
}

H2ClientExchange* H2ServerConnection::add_exchange(std::int32_t stream, bool end_stream,
                                                   bool too_large) {
  H2Carrier& carrier = *this;
  arrived_.push_back(
      {std::make_unique<H2ClientExchange>(carrier, thread_, stream, end_stream), too_large});
  return exchanges_.emplace(stream, arrived_.back().exchange.get()).first->second;
}

void H2ServerConnection::on_fields(std::int32_t stream, H2FieldBlock&& block, bool end_stream) {
  if (H2ClientExchange* running = find(stream)) {
    // Trailers: nobody asks for them.
    if (end_stream) running->request_ended();
    return;
  }
  if (!add_exchange(stream, end_stream, false)->take_head(std::move(block))) {
    session_->reset(stream, kH2ProtocolError);
    find(stream)->stream_closed();
  }
}

void H2ServerConnection::on_fields_too_large(std::int32_t stream, bool end_stream) {
  if (H2ClientExchange* running = find(stream)) {
    if (end_stream) running->request_ended();
  } else {
    add_exchange(stream, end_stream, true);
  }
}

void H2ServerConnection::on_data(std::int32_t stream, std::string_view bytes) {
  if (H2ClientExchange* exchange = find(stream)) exchange->body_arrived(bytes);
}

void H2ServerConnection::on_end_stream(std::int32_t stream) {
  if (H2ClientExchange* exchange = find(stream)) exchange->request_ended();
}

void H2ServerConnection::on_end_sent(std::int32_t stream) {
  if (H2ClientExchange* exchange = find(stream)) exchange->response_end_sent();
}

void H2ServerConnection::on_stream_closed(std::int32_t stream, std::uint32_t) {
  H2ClientExchange* exchange = find(stream);
  if (exchange == nullptr) return;
  exchange->stream_closed();
  if (!exchange->gone()) return;
  left_.push_back(stream);
  if (resets_too_fast()) failed_ = true;
}

H2SessionObserver::BodyPiece H2ServerConnection::fill_body(std::int32_t stream,
                                                           std::span<char> into) {
  H2ClientExchange* exchange = find(stream);
  return exchange != nullptr ? exchange->fill_body(into) : BodyPiece{};
}

/// Counts a request that the client broke off, by a reset or by making us reset it.
bool H2ServerConnection::resets_too_fast() {
  const auto now = thread_.deadlines().now();
  const auto passed = std::chrono::floor<std::chrono::seconds>(now - resets_counted_);
  resets_counted_ += passed;
  const auto earned = std::min<std::int64_t>(passed.count(), kResetBurst) * kResetsPerSecond;
  resets_left_ =
      static_cast<std::uint32_t>(std::min<std::int64_t>(resets_left_ + earned, kResetBurst));
  if (resets_left_ == 0) return true;
  --resets_left_;
  return false;
}

// ---- exchanges ----------------------------------------------------------------------------------

void H2ServerConnection::start_arrived() {
  if (arrived_.empty()) return;
  clock_ = Clock::None;
  timeout_.disarm();
  for (Arrival& arrival : std::exchange(arrived_, {})) {
    if (!arrival.exchange->gone()) tasks_.spawn(run(std::move(arrival)));
  }
}

net::Task<> H2ServerConnection::run(Arrival arrival) {
  H2ClientExchange& exchange = *arrival.exchange;
  if (arrival.too_large) {
    exchange.write_head({431, {}}, BodyLength::known(0));
    exchange.write_body({}, true);
  } else {
    co_await handler_->handle(exchange);
  }
  co_await exchange.finish(settings_.idle_connection_timeout);
  arrival.exchange.reset();
  wake_.open();
}

/// Tells handlers of streams that are over: here, since the session's callbacks may not.
void H2ServerConnection::notify_gone() {
  for (const std::int32_t stream : std::exchange(left_, {})) {
    if (H2ClientExchange* exchange = find(stream)) exchange->notify_if_gone();
  }
}

// ---- output -------------------------------------------------------------------------------------

void H2ServerConnection::push_output() {
  if (lost_ || ending_) return;
  session_->take_output(out_, kOutputBytes);
  wake_.open();
}

void H2ServerConnection::reset(std::int32_t stream, std::uint32_t error_code) {
  const H2ClientExchange* exchange = find(stream);
  unread_ = unread_ || (exchange != nullptr && !exchange->request_whole());
  session_->reset(stream, error_code);
  push_output();
}

void H2ServerConnection::send_output() {
  while (!lost_) {
    session_->take_output(out_, kOutputBytes);
    if (out_.empty()) return;
    const iovec piece{out_.data(), out_.size()};
    const IoResult sent = stream_->write({&piece, 1});
    lost_ = sent.status == IoResult::Status::Failed;
    out_.erase(0, sent.bytes);
    if (!out_.empty()) break;
  }
  if (!lost_) stream_->await_writable();
}

}  // namespace smg::http
