#include "gateway/echo_worker.hpp"

#include <thread>

#include <simdjson.h>

#include <smg/base/text.hpp>
#include <smg/config/inference_route.hpp>
#include <smg/http/server_shard.hpp>
#include <smg/net/listener.hpp>
#include <smg/net/thread.hpp>

namespace smg::gateway {
namespace {

using text::json_quoted;

/// Larger prompts are refused: this is a worker to try things with.
constexpr std::size_t kMaxBody = 64 * 1024 * 1024;

/// What an echo needs of a request.
struct Prompt {
  std::string words;
  bool stream = false;
};

/// The text of a message's content: a string, or the text blocks of a list.
std::string content_text(simdjson::dom::element content) {
  if (content.is_string()) return std::string(content.get_string().value());
  std::string joined;
  simdjson::dom::array blocks;
  if (content.get_array().get(blocks)) return joined;
  for (simdjson::dom::element block : blocks) {
    std::string_view part;
    if (block["text"].get(part) == simdjson::SUCCESS) joined += part;
  }
  return joined;
}

std::optional<Prompt> read_prompt(const std::string& body) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (parser.parse(body).get(document) || !document.is_object()) return std::nullopt;
  Prompt prompt;
  prompt.stream = document["stream"].get_bool().value_unsafe() && document["stream"].is_bool();
  for (const char* name : {"prompt", "text", "input", "query"}) {
    simdjson::dom::element value;
    if (document[name].get(value) == simdjson::SUCCESS) prompt.words = content_text(value);
  }
  simdjson::dom::array messages;
  if (document["messages"].get(messages) == simdjson::SUCCESS) {
    for (simdjson::dom::element message : messages) {
      std::string_view role;
      simdjson::dom::element content;
      if (message["role"].get(role) == simdjson::SUCCESS && role == "user" &&
          message["content"].get(content) == simdjson::SUCCESS) {
        prompt.words = content_text(content);
      }
    }
  }
  return prompt;
}

/// Cuts a text behind its blanks: the pieces of a stream.
std::vector<std::string_view> pieces_of(std::string_view words) {
  std::vector<std::string_view> pieces;
  while (!words.empty()) {
    const auto blank = words.find(' ');
    const auto length = blank == std::string_view::npos ? words.size() : blank + 1;
    pieces.push_back(words.substr(0, length));
    words.remove_prefix(length);
  }
  return pieces;
}

std::string usage(std::size_t tokens) {
  const std::string n = std::to_string(tokens);
  return R"({"prompt_tokens":)" + n + R"(,"completion_tokens":)" + n + R"(,"total_tokens":)" +
         std::to_string(2 * tokens) + "}";
}

std::string whole_answer(InferenceRoute route, const Prompt& prompt) {
  const std::string quoted = json_quoted(prompt.words);
  const std::size_t tokens = pieces_of(prompt.words).size();
  switch (route) {
    case InferenceRoute::ChatCompletions:
      return R"({"id":"chatcmpl-echo","object":"chat.completion","created":1,"model":"echo",)"
             R"("choices":[{"index":0,"message":{"role":"assistant","content":)" +
             quoted + R"(},"finish_reason":"stop"}],"usage":)" + usage(tokens) + "}";
    case InferenceRoute::Completions:
      return R"({"id":"cmpl-echo","object":"text_completion","created":1,"model":"echo",)"
             R"("choices":[{"index":0,"text":)" +
             quoted + R"(,"logprobs":null,"finish_reason":"stop"}],"usage":)" + usage(tokens) + "}";
    case InferenceRoute::Messages:
      return R"({"id":"msg_echo","type":"message","role":"assistant","model":"echo",)"
             R"("content":[{"type":"text","text":)" +
             quoted +
             R"(}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":)" +
             std::to_string(tokens) + R"(,"output_tokens":)" + std::to_string(tokens) + "}}";
    case InferenceRoute::Embeddings:
      return R"({"object":"list","model":"echo","data":[{"object":"embedding","index":0,)"
             R"("embedding":[0.25,-0.5,0.125]}],"usage":{"prompt_tokens":1,"total_tokens":1}})";
    case InferenceRoute::Classify:
      return R"({"object":"list","model":"echo","data":[{"index":0,"label":"echo","probs":[1.0]}]})";
    case InferenceRoute::Rerank:
    case InferenceRoute::RerankV1:
      return R"([{"score":1.0,"document":)" + quoted + R"(,"index":0}])";
    case InferenceRoute::Responses:
      return R"({"id":"resp_echo","object":"response","created_at":1,"status":"completed",)"
             R"("model":"echo","output":[{"type":"message","id":"msg_echo","role":"assistant",)"
             R"("status":"completed","content":[{"type":"output_text","annotations":[],"text":)" +
             quoted + "}]}]}";
    case InferenceRoute::Generate: break;
  }
  return R"({"text":)" + quoted + R"(,"meta_info":{"id":"echo","finish_reason":{"type":"stop"}}})";
}

std::string stream_event(InferenceRoute route, std::string_view piece) {
  const std::string quoted = json_quoted(piece);
  switch (route) {
    case InferenceRoute::ChatCompletions:
      return R"(data: {"id":"chatcmpl-echo","object":"chat.completion.chunk","created":1,)"
             R"("model":"echo","choices":[{"index":0,"delta":{"content":)" +
             quoted + "},\"finish_reason\":null}]}\n\n";
    case InferenceRoute::Completions:
      return R"(data: {"id":"cmpl-echo","object":"text_completion","created":1,"model":"echo",)"
             R"("choices":[{"index":0,"text":)" +
             quoted + ",\"logprobs\":null,\"finish_reason\":null}]}\n\n";
    case InferenceRoute::Messages:
      return "event: content_block_delta\n"
             R"(data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":)" +
             quoted + "}}\n\n";
    default: return R"(data: {"text":)" + quoted + "}\n\n";
  }
}

std::string stream_start(InferenceRoute route) {
  if (route == InferenceRoute::ChatCompletions) {
    return R"(data: {"id":"chatcmpl-echo","object":"chat.completion.chunk","created":1,)"
           R"("model":"echo","choices":[{"index":0,"delta":{"role":"assistant","content":""},)"
           "\"finish_reason\":null}]}\n\n";
  }
  if (route != InferenceRoute::Messages) return {};
  return "event: message_start\n"
         R"(data: {"type":"message_start","message":{"id":"msg_echo","type":"message",)"
         R"("role":"assistant","model":"echo","content":[],"stop_reason":null,)"
         "\"stop_sequence\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n"
         "event: content_block_start\n"
         R"(data: {"type":"content_block_start","index":0,"content_block":{"type":"text",)"
         "\"text\":\"\"}}\n\n";
}

std::string stream_end(InferenceRoute route) {
  switch (route) {
    case InferenceRoute::ChatCompletions:
      return R"(data: {"id":"chatcmpl-echo","object":"chat.completion.chunk","created":1,)"
             R"("model":"echo","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"
             "\n\ndata: [DONE]\n\n";
    case InferenceRoute::Completions:
      return R"(data: {"id":"cmpl-echo","object":"text_completion","created":1,"model":"echo",)"
             R"("choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"stop"}]})"
             "\n\ndata: [DONE]\n\n";
    case InferenceRoute::Messages:
      return "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
             "event: message_delta\n"
             R"(data: {"type":"message_delta","delta":{"stop_reason":"end_turn",)"
             "\"stop_sequence\":null},\"usage\":{\"output_tokens\":1}}\n\n"
             "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    default: return "data: [DONE]\n\n";
  }
}

void answer(http::ClientExchange& client, int status, std::string_view content_type,
            std::string_view body) {
  client.write_head({status, {{"content-type", content_type}}},
                    http::BodyLength::known(body.size()));
  client.write_body(body, true);
}

/// Answers what an engine answers: probes, and the inference routes.
class EchoWorker final : public http::RequestHandler {
 public:
  net::Task<> handle(http::ClientExchange& client) override {
    const auto route = inference_route(client.head().path);
    if (!route) {
      answer_probe(client);
      co_return;
    }
    std::string body;
    while (!client.body_ended()) {
      const auto scratch = client.thread().scratch();
      auto got = co_await client.read_body(scratch);
      if (!got) co_return;
      body.append(scratch.data(), *got);
      if (body.size() > kMaxBody) co_return answer(client, 413, "text/plain", "too large");
    }
    const auto prompt = read_prompt(body);
    if (!prompt) {
      answer(client, 400, "application/json", R"({"error":"the body is not a JSON object"})");
    } else if (prompt->stream) {
      co_await stream(client, *route, *prompt);
    } else {
      answer(client, 200, "application/json", whole_answer(*route, *prompt));
    }
  }

 private:
  static void answer_probe(http::ClientExchange& client) {
    const auto path = client.head().path;
    if (path == "/health" || path == "/health_generate") {
      answer(client, 200, "text/plain", "OK");
    } else if (path == "/v1/models") {
      answer(client, 200, "application/json",
             R"({"object":"list","data":[{"id":"echo","object":"model","created":1,)"
             R"("owned_by":"smg"}]})");
    } else {
      answer(client, 404, "application/json", R"({"error":"not found"})");
    }
  }

  static net::Task<> stream(http::ClientExchange& client, InferenceRoute route,
                            const Prompt& prompt) {
    client.write_head({200, {{"content-type", "text/event-stream"}}}, http::BodyLength::chunked());
    client.write_body(stream_start(route), false);
    for (const std::string_view piece : pieces_of(prompt.words)) {
      client.write_body(stream_event(route, piece), false);
      if (!client.queue_full()) continue;
      const bool room = co_await client.wait_for_room();
      if (!room) co_return;
    }
    client.write_body(stream_end(route), true);
  }
};

}  // namespace

struct EchoBackend::State {
  net::IoThread thread{0};
  config::Listen settings;
  EchoWorker worker;
  std::vector<std::unique_ptr<http::ServerShard>> shards;
  std::vector<std::unique_ptr<net::Listener>> listeners;
  std::thread runner;

  void stop_when_ended(std::size_t first) {
    if (first == shards.size()) return thread.stop();
    shards[first]->when_ended([this, first] { stop_when_ended(first + 1); });
  }
};

EchoBackend::EchoBackend(unsigned workers) : state_(std::make_unique<State>()) {
  for (unsigned i = 0; i < workers; ++i) {
    state_->shards.push_back(
        std::make_unique<http::ServerShard>(state_->thread, state_->settings, state_->worker));
    state_->listeners.push_back(std::make_unique<net::Listener>(state_->thread, "127.0.0.1", 0));
    state_->listeners.back()->start([shard = state_->shards.back().get()](int descriptor) {
      shard->expect_one();
      shard->take(descriptor);
    });
  }
  state_->runner = net::start_thread("smg-echo", [this] { state_->thread.run(); });
}

EchoBackend::~EchoBackend() {
  state_->thread.post([this] {
    for (auto& listener : state_->listeners) listener->close();
    for (auto& shard : state_->shards) shard->abort_all();
    state_->stop_when_ended(0);
  });
  state_->runner.join();
}

std::vector<std::string> EchoBackend::urls() const {
  std::vector<std::string> urls;
  for (const auto& listener : state_->listeners) {
    urls.push_back("http://127.0.0.1:" + std::to_string(listener->port()));
  }
  return urls;
}

}  // namespace smg::gateway
