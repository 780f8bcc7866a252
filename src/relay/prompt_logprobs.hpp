#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <smg/base/body_buffer.hpp>
#include <smg/relay/request_body.hpp>

namespace smg::relay::pd {

/// The insides of the arrays `meta_info.input_token_logprobs` of an answer of SGLang: one of an
/// object, one for each object of a batch's array. Views of the answer.
class PromptLogprobs {
 public:
  struct Inside {
    std::size_t offset = 0;
    std::size_t length = 0;
    bool blank = true;  ///< the array has no elements
  };

  PromptLogprobs() = default;

  /// Finds them; empty, unless every object has one. `answer` must stay in place.
  [[nodiscard]] static PromptLogprobs of(BodyBuffer& answer);

  [[nodiscard]] bool empty() const noexcept { return insides_.empty(); }

  /// What puts the elements of `prefill`, whose text is `text`, before those of this answer;
  /// nothing, if the two are not of as many sequences.
  [[nodiscard]] std::vector<BodySplice> merge_with(const PromptLogprobs& prefill,
                                                   std::string_view text) const;

 private:
  std::vector<Inside> insides_;
};

/// Merges prompt logprobs into the events of a stream, each framed as the worker sent it. Holds at
/// most one unfinished event of kMostFrameBytes; a longer one ends the merging.
class LogprobStream {
 public:
  static constexpr std::size_t kMostFrameBytes = 1024 * 1024;

  /// The prefill answer must outlive this object.
  LogprobStream(const PromptLogprobs& prefill, std::string_view text);
  LogprobStream(const LogprobStream&) = delete;
  LogprobStream& operator=(const LogprobStream&) = delete;
  ~LogprobStream();

  void feed(std::string_view bytes);

  /// Moves the next event, or other bytes that are due, to `out`; false: there is none.
  [[nodiscard]] bool next(std::string& out);

  /// What has come of an event whose end never came.
  [[nodiscard]] std::string_view rest() const noexcept;

 private:
  struct Framing;

  const PromptLogprobs& prefill_;
  const std::string_view text_;
  std::unique_ptr<Framing> framing_;
};

}  // namespace smg::relay::pd
