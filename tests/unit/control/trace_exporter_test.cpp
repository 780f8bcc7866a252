#include <future>
#include <sstream>

#include <gtest/gtest.h>

#include "support/raw_socket.hpp"
#include <smg/control/trace_exporter.hpp>

namespace smg::control {
namespace {

using namespace std::chrono_literals;
using observability::RequestTrace;
using test::RawListener;
using test::RawSocket;

/// An exporter, and a collector that the test plays.
class TraceExporterTest : public testing::Test {
 protected:
  TraceExporterTest() {
    settings_.enabled = true;
    settings_.otlp_endpoint = "127.0.0.1:" + std::to_string(collector_.port());
  }

  TraceExporter& exporter() {
    if (!exporter_) exporter_ = std::make_unique<TraceExporter>(settings_, pools_, metrics_);
    return *exporter_;
  }

  void submit(std::size_t traces = 1) {
    for (std::size_t i = 0; i < traces; ++i) {
      auto trace = std::make_unique<RequestTrace>("", "", std::chrono::steady_clock::now());
      trace->method = "POST";
      trace->route = "/generate";
      exporter().submit(std::move(trace));
    }
  }

  /// Leaving, with the patience to be answered by a test.
  [[nodiscard]] std::future<void> leave() {
    return std::async(std::launch::async, [this] { exporter().stop(1h); });
  }

  void answer(RawSocket& socket, std::string_view status, const std::string& body) {
    head_ = socket.receive_until("\r\n\r\n");
    const auto length = head_.find("content-length: ") + 16;
    body_ = socket.receive_exactly(std::stoul(head_.substr(length)));
    socket.send("HTTP/1.1 " + std::string(status) +
                "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }

  [[nodiscard]] std::string sample(const std::string& series) const {
    std::istringstream lines(metrics_.exposition());
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(series + " ")) return line.substr(series.size() + 1);
    }
    return {};
  }
  [[nodiscard]] std::string exported() const { return sample("smg_trace_spans_exported_total"); }
  [[nodiscard]] std::string dropped(const std::string& reason) const {
    return sample("smg_trace_spans_dropped_total{reason=\"" + reason + "\"}");
  }

  RawListener collector_;
  config::Tracing settings_;
  observability::Metrics metrics_{{1}, "1"};
  net::IoThreads threads_{1};
  upstream::PoolDirectory pools_{threads_, {}};
  std::unique_ptr<TraceExporter> exporter_;
  std::string head_;
  std::string body_;
};

TEST_F(TraceExporterTest, IsNothingUnlessItIsEnabled) {
  settings_.enabled = false;
  EXPECT_FALSE(exporter().enabled());
  exporter().start();
  exporter().stop(1h);
  EXPECT_EQ(exported(), "");
}

TEST_F(TraceExporterTest, DeliversWhatWaitsBeforeItLeaves) {
  EXPECT_TRUE(exporter().enabled());
  EXPECT_EQ(exported(), "0");
  exporter().start();
  submit(2);
  auto left = leave();
  RawSocket socket = collector_.accept();
  answer(socket, "200 OK", "{}");
  left.get();
  EXPECT_TRUE(head_.starts_with("POST /v1/traces HTTP/1.1\r\n")) << head_;
  EXPECT_NE(head_.find("content-type: application/json\r\n"), std::string::npos) << head_;
  EXPECT_TRUE(body_.starts_with(R"({"resourceSpans":)")) << body_;
  EXPECT_TRUE(body_.ends_with("}]}]}]}")) << body_;
  EXPECT_EQ(exported(), "2");
  EXPECT_EQ(dropped("shutdown"), "0");
}

TEST_F(TraceExporterTest, SendsAFullBatchAtOnceAndAgainWhereAsked) {
  exporter().start();
  submit(600);
  RawSocket socket = collector_.accept();
  answer(socket, "503 No", "");
  const std::string first = body_;
  answer(socket, "200 OK", "");
  EXPECT_EQ(body_, first);
  auto left = leave();
  answer(socket, "200 OK", "");
  left.get();
  EXPECT_EQ(exported(), "600");
}

TEST_F(TraceExporterTest, CountsWhatTheCollectorRefuses) {
  exporter().start();
  submit(5);
  auto left = leave();
  RawSocket socket = collector_.accept();
  answer(socket, "200 OK", R"({"partialSuccess":{"rejectedSpans":"2"}})");
  left.get();
  EXPECT_EQ(exported(), "3");
  EXPECT_EQ(dropped("rejected"), "2");
}

TEST_F(TraceExporterTest, DropsABatchThatIsRefusedWhole) {
  exporter().start();
  submit(5);
  auto left = leave();
  RawSocket socket = collector_.accept();
  answer(socket, "400 Bad", "");
  left.get();
  EXPECT_EQ(exported(), "0");
  EXPECT_EQ(dropped("rejected"), "5");
}

TEST_F(TraceExporterTest, LeavesAtOnceWhereNobodyListens) {
  {
    const RawListener gone;
    settings_.otlp_endpoint = "127.0.0.1:" + std::to_string(gone.port());
  }
  exporter().start();
  submit(3);
  exporter().stop(1h);
  EXPECT_EQ(dropped("shutdown"), "3");
}

TEST_F(TraceExporterTest, LeavesASilentCollectorBehind) {
  for (const auto patience : {0ms, 1ms}) {
    exporter_.reset();
    exporter().start();
    submit(1);
    exporter().stop(patience);
    exporter().stop(patience);
  }
  EXPECT_EQ(dropped("shutdown"), "2");
}

TEST_F(TraceExporterTest, DropsWhatTheQueueDoesNotHold) {
  submit(8192);
  EXPECT_EQ(dropped("queue_full"), "0");
  submit(2);
  EXPECT_EQ(dropped("queue_full"), "2");
}

}  // namespace
}  // namespace smg::control
