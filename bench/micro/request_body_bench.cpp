#include "micro/allocations.hpp"
#include <smg/relay/request_body.hpp>
#include <smg/relay/routing_text.hpp>

namespace smg::bench {
namespace {

constexpr auto kChat = InferenceRoute::ChatCompletions;
constexpr std::size_t kMessage = 2000;  // characters

/// A conversation of this many bytes, with room behind it as a collected body has.
BodyBuffer chat_body(std::size_t bytes) {
  std::string text = R"({"model":"m","stream":true,"temperature":0.95,"messages":[)";
  constexpr std::string_view kStart = R"({"role":"user","content":")";
  for (bool more = true; more;) {
    const auto left = bytes - text.size() - kStart.size() - 4;
    more = left > 2 * kMessage;
    text.append(kStart).append(more ? kMessage : left, 'x').append(more ? "\"}," : "\"}");
  }
  BodyBuffer body;
  body.append(text + "]}");
  body.reserve_behind(relay::kBodyPadding);
  return body;
}

/// What the buffered path reads of every body: is it sound, whose model, a stream or not?
void inspect_chat_body(benchmark::State& state) {
  BodyBuffer body = chat_body(static_cast<std::size_t>(state.range()));
  const CountAllocations count(state);
  for (auto _ : state) {
    auto fields = relay::inspect_body(kChat, body);
    benchmark::DoNotOptimize(fields);
  }
  report_bytes(state, body.size());
}
BENCHMARK(inspect_chat_body)->ArgName("bytes")->Arg(1024)->Arg(256 * 1024);

/// What policies that read prompts need besides.
void read_chat_prompt(benchmark::State& state) {
  BodyBuffer body = chat_body(static_cast<std::size_t>(state.range()));
  const routing::PromptUse use{.tokens = true, .text_bytes = routing::PromptUse::kWhole};
  const CountAllocations count(state);
  for (auto _ : state) {
    auto prompt = relay::read_prompt(kChat, body, use);
    benchmark::DoNotOptimize(prompt);
  }
  report_bytes(state, body.size());
}
BENCHMARK(read_chat_prompt)->ArgName("bytes")->Arg(1024)->Arg(256 * 1024);

/// The body's way to a worker with a name of its own for the model and a data-parallel rank.
void edit_body(benchmark::State& state) {
  BodyBuffer body = chat_body(static_cast<std::size_t>(state.range()));
  const auto fields = relay::inspect_body(kChat, body).value();
  const relay::BodyEdits edits{.model = "served-model", .data_parallel_rank = 3};
  const CountAllocations count(state);
  for (auto _ : state) {
    const relay::EditedBody edited(body.view(), fields, edits);
    auto pieces = edited.pieces();
    benchmark::DoNotOptimize(pieces);
  }
}
BENCHMARK(edit_body)->ArgName("bytes")->Arg(1024)->Arg(256 * 1024);

}  // namespace
}  // namespace smg::bench
