#include "http/h2_client_exchange.hpp"

#include <charconv>

#include "http/h2_request_head.hpp"
#include "http/http_date.hpp"

namespace smg::http {
namespace {

/// Input that has been read is dropped from this size on, if it is the larger part.
constexpr std::size_t kCompactBytes = 64 * 1024;
/// How long and how far an upload is still taken behind its answer.
constexpr std::chrono::seconds kLinger{2};
constexpr std::uint64_t kLingerBytes = 8 * 1024 * 1024;

/// What has no meaning, or another one, in HTTP/2 (RFC 9113 8.2.2), and what the connection writes
/// itself.
bool is_connection_field(std::string_view name) noexcept {
  constexpr std::string_view kNames[] = {
      "connection", "content-length",    "keep-alive", "proxy-connection",
      "te",         "transfer-encoding", "upgrade"};
  for (const std::string_view other : kNames) {
    if (text::equals_ignoring_case(name, other)) return true;
  }
  return false;
}

/// A decimal number and its text.
class Digits {
 public:
  explicit Digits(std::uint64_t value) noexcept
      : end_(std::to_chars(text_, text_ + sizeof text_, value).ptr) {}
  Digits(const Digits&) = delete;
  Digits& operator=(const Digits&) = delete;

  [[nodiscard]] std::string_view view() const noexcept {
    return {text_, static_cast<std::size_t>(end_ - text_)};
  }

 private:
  char text_[24];
  char* end_;
};

}  // namespace

H2ClientExchange::H2ClientExchange(H2Carrier& carrier, net::IoThread& thread, std::int32_t stream,
                                   bool ended)
    : carrier_(carrier),
      thread_(thread),
      stream_(stream),
      read_gate_(thread.executor()),
      write_gate_(thread.executor()),
      request_ended_(ended),
      body_ended_(ended) {}

H2ClientExchange::~H2ClientExchange() {
  if (!closed_) carrier_.reset(stream_, kH2InternalError);
  carrier_.forget(stream_);
}

bool H2ClientExchange::take_head(H2FieldBlock&& block) {
  const bool accepted = fill_request_head(head_, std::move(block));
  continue_due_ = head_.expects_continue && !body_ended_;
  return accepted;
}

net::Task<> H2ClientExchange::finish(net::Duration patience) {
  on_gone_ = nullptr;
  flush();
  bool is_drained = drained();
  if (!is_drained && !gone_) is_drained = co_await deliver(patience);
  if (is_drained && end_sent_) co_await discard_upload();
  if (!is_drained || closed_) co_return;
  reset(end_sent_ ? kH2NoError : kH2InternalError);
}

/// Waits until the client has taken what is written, for as long as it takes something at all.
/// False: it did not.
net::Task<bool> H2ClientExchange::deliver(net::Duration patience) {
  std::uint64_t seen = bytes_taken_;
  net::Deadline progress(thread_.deadlines(), [&] {
    if (bytes_taken_ == seen) return abort();
    seen = bytes_taken_;
    progress.arm(patience);
  });
  progress.arm(patience);
  const bool is_drained = co_await wait_until_drained();
  co_return is_drained;
}

/// Takes the rest of an upload whose answer is whole, within bounds: many a client reads the answer
/// only behind its upload, or loses it by a reset that comes along (ruling 13).
net::Task<> H2ClientExchange::discard_upload() {
  bool timed_out = false;
  net::Deadline limit(thread_.deadlines(), [&] {
    timed_out = true;
    read_gate_.open();
  });
  limit.arm(kLinger);
  for (std::uint64_t discarded = 0; !closed_ && !timed_out && discarded < kLingerBytes;) {
    const auto size = input_.size() - input_start_;
    input_.clear();
    input_start_ = 0;
    discarded += size;
    carrier_.session().consume(stream_, size);
    carrier_.push_output();
    if (!closed_) co_await read_gate_.wait();
  }
}

void H2ClientExchange::reset(std::uint32_t error_code) {
  closed_ = true;
  carrier_.reset(stream_, error_code);
}

void H2ClientExchange::notify_if_gone() {
  if (gone_ && on_gone_) std::exchange(on_gone_, nullptr)();
}

void H2ClientExchange::client_left() noexcept {
  if (std::exchange(gone_, true)) return;
  queue_.clear();
  read_gate_.open();
  write_gate_.open();
}

void H2ClientExchange::stream_closed() noexcept {
  closed_ = true;
  if (!end_sent_) {
    client_left();
  } else {
    // The response is whole; somebody may still be reading the rest of the request.
    read_gate_.open();
  }
}

void H2ClientExchange::abort() noexcept {
  if (closed_ || gone_) return;
  aborted_ = true;
  reset(kH2InternalError);
  client_left();
  notify_if_gone();
}

// ---- the request body ---------------------------------------------------------------------------

void H2ClientExchange::body_arrived(std::string_view bytes) {
  if (gone_) return;
  if (input_start_ >= kCompactBytes && input_start_ > input_.size() / 2) {
    input_.erase(0, input_start_);
    input_start_ = 0;
  }
  input_.append(bytes);
  read_gate_.open();
}

void H2ClientExchange::request_ended() {
  request_ended_ = true;
  read_gate_.open();
}

bool H2ClientExchange::body_ready() const noexcept {
  return !body_ended_ && (request_ended_ || !input_.empty());
}

std::optional<Result<std::size_t>> H2ClientExchange::try_read_body(std::span<char> into) {
  if (body_ended_) return std::size_t{0};
  if (body_ready()) return take_input(into);
  if (read_cancelled_ || aborted_) return fail(ErrorCode::Aborted);
  if (closed_ || gone_) {
    return fail(ErrorCode::BodyAborted,
                "The request body stream failed before it was fully forwarded");
  }
  if (continue_due_) send_continue();
  return std::nullopt;
}

std::size_t H2ClientExchange::take_input(std::span<char> into) {
  const auto size = std::min(into.size(), input_.size() - input_start_);
  std::copy_n(input_.data() + input_start_, size, into.data());
  input_start_ += size;
  bytes_received_ += size;
  continue_due_ = false;
  if (input_start_ == input_.size()) {
    input_.clear();
    input_start_ = 0;
    body_ended_ = request_ended_;
  }
  if (!closed_ && !request_ended_) {
    carrier_.session().consume(stream_, size);
    carrier_.push_output();
  }
  return size;
}

void H2ClientExchange::send_continue() {
  continue_due_ = false;
  if (head_written_ || closed_) return;
  const Field status{":status", "100"};
  carrier_.session().submit_interim(stream_, {&status, 1});
  carrier_.push_output();
}

void H2ClientExchange::cancel_read() noexcept {
  read_cancelled_ = true;
  read_gate_.open();
}

// ---- the response -------------------------------------------------------------------------------

void H2ClientExchange::write_head(const ClientResponse& response, BodyLength length) {
  using Kind = BodyLength::Kind;
  head_written_ = true;
  const bool bodiless = head_.method == Method::Head || is_bodiless(response.status);
  has_body_ =
      !bodiless && length.kind != Kind::None && !(length.kind == Kind::Known && length.bytes == 0);
  if (closed_ || gone_) return;

  const Digits status(static_cast<std::uint64_t>(response.status));
  const Digits content_length(length.bytes);
  std::size_t name_bytes = 0;
  for (const auto& field : response.fields) name_bytes += field.name.size();
  std::string names;
  names.reserve(name_bytes);  // the views below point into it
  Fields fields;
  fields.reserve(response.fields.size() + 3);
  fields.push_back({":status", status.view()});
  bool dated = false;
  for (const auto& [name, value] : response.fields) {
    if (is_connection_field(name)) continue;
    const auto start = names.size();
    for (const char c : name) names.push_back(text::lower(c));
    fields.push_back({std::string_view(names).substr(start), value});
    dated = dated || fields.back().name == "date";
  }
  if (!dated) fields.push_back({"date", date_now()});
  if (length.kind == Kind::Known && !is_bodiless(response.status)) {
    fields.push_back({"content-length", content_length.view()});
  }
  carrier_.session().submit_response(stream_, fields, has_body_);
}

void H2ClientExchange::flush() {
  if (!closed_) carrier_.push_output();
}

void H2ClientExchange::write_body(std::string_view bytes, bool last) {
  if (gone_ || closed_ || response_complete_ || (bytes.empty() && !last)) return;
  response_complete_ = last;
  if (!has_body_) return carrier_.push_output();
  bytes_sent_ += bytes.size();
  if (!queue_.empty()) {
    if (!bytes.empty()) queue_.add(bytes.size()).append(bytes);
    return;
  }
  // The session takes what the window and the output buffer have room for; only the rest is copied.
  direct_ = bytes;
  carrier_.session().resume_body(stream_);
  carrier_.push_output();
  const std::string_view rest = std::exchange(direct_, {});
  if (!rest.empty() && !gone_) queue_.add(rest.size()).append(rest);
}

H2SessionObserver::BodyPiece H2ClientExchange::fill_body(std::span<char> into) {
  std::size_t size = 0;
  const auto take = [&](std::string_view bytes) {
    const auto count = std::min(bytes.size(), into.size() - size);
    std::copy_n(bytes.data(), count, into.data() + size);
    size += count;
    return count;
  };
  while (!queue_.empty() && size < into.size()) {
    if (queue_.take(take(queue_[0]))) write_gate_.open();
  }
  if (queue_.empty()) direct_.remove_prefix(take(direct_));
  bytes_taken_ += size;
  return {size, response_complete_ && queue_.empty() && direct_.empty()};
}

void H2ClientExchange::response_end_sent() {
  end_sent_ = true;
  write_gate_.open();
}

net::Task<bool> H2ClientExchange::wait_for_room() {
  while (queue_full() && !gone_) co_await write_gate_.wait();
  co_return !gone_;
}

net::Task<bool> H2ClientExchange::wait_until_drained() {
  flush();
  while (!drained() && !gone_) co_await write_gate_.wait();
  co_return !gone_;
}

}  // namespace smg::http
