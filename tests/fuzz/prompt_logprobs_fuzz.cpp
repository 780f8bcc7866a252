#include <string>
#include <vector>

#include "fuzz/fuzz_input.hpp"
#include "relay/prompt_logprobs.hpp"
#include "unit/relay/body_text.hpp"
#include "unit/relay/json_oracle.hpp"

namespace {

using namespace smg;
using namespace smg::fuzz;
using namespace smg::relay;
using Oracle = relay::test::JsonOracle;

std::string joined(std::string_view text, std::vector<BodySplice> splices) {
  const EditedBody edited(text, std::move(splices));
  std::string all;
  for (const auto piece : edited.pieces()) all += piece;
  require(edited.size() == all.size(), "the size is that of the pieces");
  return all;
}

/// A stream of a decode worker in pieces.
std::string merged(const pd::PromptLogprobs& prefill, std::string_view text, std::string_view wire,
                   std::size_t piece_size) {
  pd::LogprobStream stream(prefill, text);
  std::string all;
  in_pieces(wire, piece_size, [&](std::vector<char>& piece) {
    stream.feed({piece.data(), piece.size()});
    std::string event;
    while (stream.next(event)) all += event;
    return true;
  });
  return all.append(stream.rest());
}

}  // namespace

/// The first byte: the size of the pieces. Then the prefill worker's answer, an empty line, and the
/// decode worker's, which is read as one answer and as a stream.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Input input(bytes, size);
  const std::size_t piece = 1U + input.byte();
  const auto text = input.rest();
  const auto gap = std::min(text.find("\n\n"), text.size());
  BodyBuffer prefill = buffer_of(text.substr(0, gap));
  const auto wire = text.substr(std::min(gap + 2, text.size()));
  const auto from_prefill = pd::PromptLogprobs::of(prefill);
  require(merged(from_prefill, prefill.view(), wire, piece) ==
              merged(from_prefill, prefill.view(), wire, std::string_view::npos),
          "pieces make no difference");

  BodyBuffer decode = buffer_of(wire);
  const auto answer = decode.view();
  const bool valid = Oracle::judge(answer) != Oracle::Verdict::Invalid &&
                     Oracle::judge(prefill.view()) != Oracle::Verdict::Invalid;
  const auto from_decode = pd::PromptLogprobs::of(decode);
  const auto all = joined(answer, from_decode.merge_with(from_prefill, prefill.view()));
  require(all.size() >= answer.size(), "nothing is lost");
  if (valid) require(Oracle::judge(all) != Oracle::Verdict::Invalid, "a merged answer is JSON");
  return 0;
}
