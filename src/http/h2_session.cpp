#include <algorithm>
#include <stdexcept>

#include <nghttp2/nghttp2.h>

#include <smg/http/h2_session.hpp>

namespace smg::http {
namespace {

/// CONTINUATION frames of one block: eight, if their heads of nine bytes arrive byte by byte, since
/// nghttp2 counts each piece of a head that it reads.
constexpr std::size_t kMaxContinuations = 8 * 9;
/// What a client may make us do or keep before the connection fails.
constexpr std::size_t kMaxSettingsEntries = 32;
constexpr std::size_t kMaxUnsentAcks = 1000;
constexpr std::uint32_t kFrameBytes = 16384;
/// Bytes of a response head that we may send: twice what a worker's head may have.
constexpr std::size_t kMaxSentFields = 512 * 1024;

struct FreeCallbacks {
  void operator()(nghttp2_session_callbacks* callbacks) const noexcept {
    nghttp2_session_callbacks_del(callbacks);
  }
};
struct FreeOption {
  void operator()(nghttp2_option* option) const noexcept { nghttp2_option_del(option); }
};
using CallbacksPtr = std::unique_ptr<nghttp2_session_callbacks, FreeCallbacks>;
using OptionPtr = std::unique_ptr<nghttp2_option, FreeOption>;

OptionPtr make_option(const H2Session::Settings& settings, bool server) {
  nghttp2_option* made = nullptr;
  if (nghttp2_option_new(&made) != 0) throw std::bad_alloc();
  OptionPtr option(made);
  nghttp2_option_set_no_auto_window_update(made, 1);
  nghttp2_option_set_no_closed_streams(made, 1);
  nghttp2_option_set_max_send_header_block_length(made, kMaxSentFields);
  nghttp2_option_set_max_continuations(made, kMaxContinuations);
  if (server) {
    nghttp2_option_set_stream_reset_rate_limit(made, settings.max_resets,
                                               settings.max_resets_per_second);
    nghttp2_option_set_max_settings(made, kMaxSettingsEntries);
    nghttp2_option_set_max_outbound_ack(made, kMaxUnsentAcks);
  }
  return option;
}

std::vector<nghttp2_nv> to_nv(std::span<const Field> fields) {
  std::vector<nghttp2_nv> nv;
  nv.reserve(fields.size());
  for (const auto& [name, value] : fields) {
    nv.push_back({reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
                  reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
                  value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  return nv;
}

}  // namespace

void H2FieldBlock::add(std::string_view name, std::string_view value) {
  const auto offset = static_cast<std::uint32_t>(text.size());
  text.append(name).append(value);
  entries.push_back({offset, static_cast<std::uint32_t>(name.size()),
                     offset + static_cast<std::uint32_t>(name.size()),
                     static_cast<std::uint32_t>(value.size())});
}

/// nghttp2's C callbacks, led to the session and its observer.
struct H2Session::Callbacks {
  static H2Session& self(void* user_data) noexcept { return *static_cast<H2Session*>(user_data); }

  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    self(user_data).open_blocks_.push_back({frame->hd.stream_id, {}});
    return 0;
  }

  static int header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void* user_data) {
    const bool kept = self(user_data).add_field(frame->hd.stream_id,
                                                {reinterpret_cast<const char*>(name), name_size},
                                                {reinterpret_cast<const char*>(value), value_size});
    return kept ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  /// A field that nghttp2 would merely drop makes the request malformed (RFC 9113 8.2.1).
  static int invalid_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t*,
                            std::size_t, const std::uint8_t*, std::size_t, std::uint8_t, void*) {
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  static int frame_sent(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    if (frame->hd.type == NGHTTP2_HEADERS) self(user_data).last_sent_ = frame->hd.stream_id;
    const bool may_end = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
    if (may_end && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      self(user_data).observer_.on_end_sent(frame->hd.stream_id);
    }
    return 0;
  }

  /// A head that cannot be sent, by its size: the stream would wait for it for ever.
  static int frame_not_sent(nghttp2_session* session, const nghttp2_frame* frame, int, void*) {
    if (frame->hd.type == NGHTTP2_HEADERS) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                NGHTTP2_INTERNAL_ERROR);
    }
    return 0;
  }

  static int frame_received(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    auto& session = self(user_data);
    const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS: session.finish_block(frame->hd.stream_id, ends); break;
      case NGHTTP2_DATA:
        if (ends) session.observer_.on_end_stream(frame->hd.stream_id);
        break;
      case NGHTTP2_GOAWAY:
        session.observer_.on_goaway(frame->goaway.last_stream_id, frame->goaway.error_code);
        break;
      case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) session.observer_.on_ping_ack();
        break;
      case NGHTTP2_SETTINGS:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) session.observer_.on_settings();
        break;
      default: break;
    }
    return 0;
  }

  static int data_received(nghttp2_session* session, std::uint8_t, std::int32_t stream,
                           const std::uint8_t* data, std::size_t size, void* user_data) {
    nghttp2_session_consume_connection(session, size);
    self(user_data).observer_.on_data(stream, {reinterpret_cast<const char*>(data), size});
    return 0;
  }

  static int stream_closed(nghttp2_session*, std::int32_t stream, std::uint32_t error_code,
                           void* user_data) {
    auto& session = self(user_data);
    std::erase_if(session.open_blocks_, [&](const auto& open) { return open.stream == stream; });
    session.observer_.on_stream_closed(stream, error_code);
    return 0;
  }

  static ssize_t read_body(nghttp2_session*, std::int32_t stream, std::uint8_t* buffer,
                           std::size_t size, std::uint32_t* flags, nghttp2_data_source*,
                           void* user_data) {
    const auto piece =
        self(user_data).observer_.fill_body(stream, {reinterpret_cast<char*>(buffer), size});
    if (piece.last) *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (piece.size == 0 && !piece.last) return NGHTTP2_ERR_DEFERRED;
    return static_cast<ssize_t>(piece.size);
  }
};

/// False: the block has grown too large for a client, and is given up.
bool H2Session::add_field(std::int32_t stream, std::string_view name, std::string_view value) {
  for (auto& open : open_blocks_) {
    if (open.stream != stream) continue;
    open.size += name.size() + value.size() + 32;
    if (open.size <= max_header_list_) {
      open.block.add(name, value);
    } else if (!server_) {
      return false;
    }
    break;
  }
  return true;
}

void H2Session::finish_block(std::int32_t stream, bool end_stream) {
  for (std::size_t i = 0; i < open_blocks_.size(); ++i) {
    if (open_blocks_[i].stream != stream) continue;
    OpenBlock done = std::move(open_blocks_[i]);
    open_blocks_.erase(open_blocks_.begin() + static_cast<std::ptrdiff_t>(i));
    if (done.size > max_header_list_) return observer_.on_fields_too_large(stream, end_stream);
    return observer_.on_fields(stream, std::move(done.block), end_stream);
  }
}

std::unique_ptr<H2Session> H2Session::client(H2SessionObserver& observer,
                                             const Settings& settings) {
  return std::unique_ptr<H2Session>(new H2Session(observer, settings, false));
}

std::unique_ptr<H2Session> H2Session::server(H2SessionObserver& observer,
                                             const Settings& settings) {
  return std::unique_ptr<H2Session>(new H2Session(observer, settings, true));
}

H2Session::H2Session(H2SessionObserver& observer, const Settings& settings, bool server)
    : observer_(observer), max_header_list_(settings.max_header_list), server_(server) {
  nghttp2_session_callbacks* made = nullptr;
  if (nghttp2_session_callbacks_new(&made) != 0) throw std::bad_alloc();
  const CallbacksPtr callbacks(made);
  nghttp2_session_callbacks_set_on_begin_headers_callback(made, Callbacks::begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(made, Callbacks::header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(made, Callbacks::frame_received);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, Callbacks::data_received);
  nghttp2_session_callbacks_set_on_stream_close_callback(made, Callbacks::stream_closed);
  nghttp2_session_callbacks_set_on_frame_send_callback(made, Callbacks::frame_sent);
  if (server) {
    nghttp2_session_callbacks_set_on_invalid_header_callback(made, Callbacks::invalid_header);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(made, Callbacks::frame_not_sent);
  }
  const OptionPtr option = make_option(settings, server);
  const auto make = server ? nghttp2_session_server_new2 : nghttp2_session_client_new2;
  if (make(&session_, made, this, option.get()) != 0) throw std::bad_alloc();
  submit_settings(settings);
}

void H2Session::submit_settings(const Settings& settings) {
  std::vector<nghttp2_settings_entry> entries{
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.initial_window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, settings.max_header_list}};
  if (server_) {
    entries.push_back({NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings.max_concurrent_streams});
    entries.push_back({NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kFrameBytes});
  } else {
    entries.push_back({NGHTTP2_SETTINGS_ENABLE_PUSH, 0});
  }
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, entries.data(), entries.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<std::int32_t>(settings.connection_window));
}

H2Session::~H2Session() {
  nghttp2_session_del(session_);
}

bool H2Session::feed(std::string_view bytes) {
  const auto taken = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return taken >= 0;
}

void H2Session::take_output(std::string& out, std::size_t limit) {
  while (out.size() < limit) {
    const std::uint8_t* data = nullptr;
    const auto size = nghttp2_session_mem_send(session_, &data);
    if (size <= 0) return;
    out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
  }
}

bool H2Session::finished() const noexcept {
  return nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
}

std::int32_t H2Session::submit_request(std::span<const Field> fields, bool has_body) {
  const auto nv = to_nv(fields);
  nghttp2_data_provider body{};
  body.read_callback = Callbacks::read_body;
  const auto stream = nghttp2_submit_request(session_, nullptr, nv.data(), nv.size(),
                                             has_body ? &body : nullptr, nullptr);
  return stream > 0 ? stream : -1;
}

void H2Session::submit_response(std::int32_t stream, std::span<const Field> fields, bool has_body) {
  const auto nv = to_nv(fields);
  nghttp2_data_provider body{};
  body.read_callback = Callbacks::read_body;
  nghttp2_submit_response(session_, stream, nv.data(), nv.size(), has_body ? &body : nullptr);
}

void H2Session::submit_interim(std::int32_t stream, std::span<const Field> fields) {
  const auto nv = to_nv(fields);
  nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, stream, nullptr, nv.data(), nv.size(),
                         nullptr);
}

void H2Session::resume_body(std::int32_t stream) {
  nghttp2_session_resume_data(session_, stream);
}

void H2Session::consume(std::int32_t stream, std::size_t bytes) {
  nghttp2_session_consume_stream(session_, stream, bytes);
}

void H2Session::widen_window(std::int32_t stream, std::uint32_t bytes) {
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, stream,
                                        static_cast<std::int32_t>(bytes));
}

void H2Session::reset(std::int32_t stream, std::uint32_t error_code) {
  if (!server_ && stream > last_sent_) {
    // nghttp2 withdraws a request that waits to be sent. Told so twice, it would reset a stream
    // that the peer has never heard of, which costs the connection (RFC 9113 5.1).
    std::erase_if(withdrawn_, [this](std::int32_t known) { return known < last_sent_; });
    if (std::find(withdrawn_.begin(), withdrawn_.end(), stream) != withdrawn_.end()) return;
    withdrawn_.push_back(stream);
  }
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, error_code);
}

void H2Session::ping() {
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
}

void H2Session::warn_of_shutdown() {
  nghttp2_submit_shutdown_notice(session_);
}

void H2Session::announce_shutdown() {
  const auto last = nghttp2_session_get_last_proc_stream_id(session_);
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0);
}

void H2Session::terminate(std::uint32_t error_code) {
  nghttp2_session_terminate_session(session_, error_code);
}

std::uint32_t H2Session::peer_max_streams() const noexcept {
  return nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

std::size_t H2Session::queued_frames() const noexcept {
  return nghttp2_session_get_outbound_queue_size(session_);
}

}  // namespace smg::http
