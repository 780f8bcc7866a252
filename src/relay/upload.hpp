#pragma once

#include <functional>

#include "relay/attempt.hpp"

namespace smg::relay {

/// The streamed path's upload: the client's bytes go to the worker as they arrive, at the pace of
/// the slower of the two. Client faults (stall, abort, growth past the limit) cut the attempt off;
/// a worker that takes no more bytes merely ends the upload, since its answer may be on its way.
class StreamedUpload {
 public:
  StreamedUpload(const Services& services, Attempt& attempt);

  /// Starts the upload: what has arrived already leaves within this call if the kernel takes it.
  void start();

  [[nodiscard]] bool is_running() const noexcept { return task_.size() > 0; }

  /// Ends it, and waits for that. Only while it is running.
  [[nodiscard]] net::Task<> stop();

 private:
  [[nodiscard]] net::Task<> run();
  [[nodiscard]] net::Task<bool> forward_piece();
  [[nodiscard]] bool forward(const Result<std::size_t>& got, net::Pipe* pipe);
  [[nodiscard]] net::Pipe* pipe_for_rest();
  void fail_client(const GatewayError& error);

  const Services& services_;
  Attempt& attempt_;
  net::Deadline stall_;
  net::TaskGroup task_;
  std::unique_ptr<net::Pipe> pipe_;
  bool pipe_refused_ = false;
  std::uint64_t forwarded_ = 0;
  bool all_sent_ = false;
  bool stalled_ = false;
  bool stopping_ = false;
};

/// The buffered path's upload: pieces that lie ready, sent in one go as far as the kernel takes
/// them and behind the response's back otherwise.
class BufferedUpload {
 public:
  /// `sent` runs once, when the kernel has taken everything.
  BufferedUpload(Attempt& attempt, std::function<void()> sent);

  /// Starts sending `pieces`, which stay in place until `stop`.
  void start(std::span<const std::string_view> pieces);

  [[nodiscard]] bool is_running() const noexcept { return task_.size() > 0; }

  /// Gives up what is unsent, and waits for that. Only while it is running.
  [[nodiscard]] net::Task<> stop();

 private:
  [[nodiscard]] net::Task<> run();

  Attempt& attempt_;
  std::function<void()> sent_;
  net::TaskGroup task_;
};

}  // namespace smg::relay
