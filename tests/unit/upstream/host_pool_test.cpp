#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "unit/upstream/upstream_fixture.hpp"

namespace smg::upstream {
namespace {

using test::RawSocket;

class HostPoolTest : public UpstreamFixture {
 protected:
  /// The worker sees the end of its connection: the pool has let it go.
  void expect_closed(RawSocket& socket) { EXPECT_EQ(socket.receive(), ""); }

  /// The next exchange takes a new connection.
  void expect_new_connection(std::size_t index = 0) {
    EXPECT_EQ(exchange_anew(kOk, index).status, 200);
  }
};

// ---- what is used again -------------------------------------------------------------------------

TEST_F(HostPoolTest, ACleanConnectionIsUsedAgain) {
  const std::string_view responses[] = {
      kOk,
      "HTTP/1.1 500 Oops\r\nContent-Length: 1\r\n\r\nx",
      "HTTP/1.1 204 No Content\r\n\r\n",
      "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T: v\r\n\r\n",
      "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
      "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
      kOk,
  };
  ASSERT_EQ(exchange_anew(kOk).status, 200);
  for (const auto response : responses) {
    EXPECT_NE(exchange(*connection, response).status, 0) << response;
  }
  EXPECT_FALSE(worker.has_pending());
}

TEST_F(HostPoolTest, TheRequestNamesTheWorker) {
  ASSERT_EQ(exchange_anew(kOk).status, 200);
  EXPECT_EQ(request_, "GET /t HTTP/1.1\r\nhost: w:" + std::to_string(worker.port()) + "\r\n\r\n");
}

TEST_F(HostPoolTest, WhatIsSentAgainTakesANewConnection) {
  ASSERT_EQ(exchange_anew(kOk).status, 200);
  RawSocket idle = std::move(*connection);
  auto running = test::start_on(loops[0], [this](net::IoThread& thread) -> net::Task<Exchanged> {
    auto opened = co_await pool->open(thread, abort, Reuse::No);
    auto answer = co_await exchange_on(**opened);
    co_return answer;
  });
  RawSocket fresh = worker.accept();
  static_cast<void>(fresh.receive_until("\r\n\r\n"));
  fresh.send(kOk);
  EXPECT_EQ(running.get().status, 200);
  EXPECT_EQ(pool->totals().idle, 2U) << "the idle one was left alone";
}

TEST_F(HostPoolTest, ASpoiltConnectionIsClosed) {
  const struct {
    std::string_view name;
    std::string_view response;
  } cases[] = {
      {"close", "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok"},
      {"close in a list", "HTTP/1.1 200 OK\r\nConnection: x, close\r\nContent-Length: 2\r\n\r\nok"},
      {"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"},
      {"surplus behind a length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok!"},
      {"surplus behind no body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n!"},
      {"surplus behind a 204", "HTTP/1.1 204 No Content\r\n\r\n!"},
      {"surplus behind chunks",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n!"},
      {"a second response", "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"},
      {"length beside chunked",
       "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
  };
  for (const auto& c : cases) {
    EXPECT_NE(exchange_anew(c.response).status, 0) << c.name;
    expect_closed(*connection);
  }
}

TEST_F(HostPoolTest, AnAbandonedResponseClosesTheConnection) {
  auto running = test::start_on(loops[0], [this](net::IoThread& thread) -> net::Task<int> {
    auto opened = co_await pool->open(thread, abort);
    auto& exchange = **opened;
    exchange.write_head({"GET", "/t", {}, http::BodyLength::none()});
    exchange.flush();
    auto head = co_await exchange.read_head();
    co_return head ? (*head)->status : 0;
  });
  connection = std::make_unique<RawSocket>(worker.accept());
  static_cast<void>(connection->receive_until("\r\n\r\n"));
  connection->send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
  EXPECT_EQ(running.get(), 200);
  expect_closed(*connection);
}

/// A worker may answer before it has read the request: what is left of it must not meet the next
/// one.
TEST_F(HostPoolTest, AnUnsentRestOfTheRequestClosesTheConnection) {
  const std::string body(32 << 20, 'x');
  auto running = test::start_on(loops[0], [this, &body](net::IoThread& thread) -> net::Task<int> {
    auto opened = co_await pool->open(thread, abort);
    auto& exchange = **opened;
    exchange.write_head({"POST", "/t", {}, http::BodyLength::known(body.size())});
    const std::string_view piece = body;
    EXPECT_FALSE(exchange.send({&piece, 1}, true)) << "more than the kernel takes";
    auto head = co_await exchange.read_head();
    EXPECT_TRUE(exchange.body_ended());
    co_return head ? (*head)->status : 0;
  });
  connection = std::make_unique<RawSocket>(worker.accept());
  static_cast<void>(connection->receive_until("\r\n\r\n"));
  connection->send("HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(running.get(), 413);
  static_cast<void>(connection->receive_rest());
  expect_new_connection();
}

// ---- totals -------------------------------------------------------------------------------------

TEST_F(HostPoolTest, CountsWhatIsOpenOnAnyThread) {
  EXPECT_EQ(pool->totals().idle + pool->totals().in_use, 0U);
  ASSERT_EQ(exchange_anew(kOk).status, 200);
  EXPECT_EQ(pool->totals().idle, 1U);
  EXPECT_EQ(pool->totals().in_use, 0U);

  auto running = start(1);
  static_cast<void>(connection->receive_until("\r\n\r\n"));
  test::settle(loops[0]);  // for it to have let go
  EXPECT_EQ(pool->totals().idle, 0U) << "taken over by the other thread";
  EXPECT_EQ(pool->totals().in_use, 1U);
  connection->send(kOk);
  EXPECT_EQ(running.get().status, 200);
  EXPECT_EQ(pool->totals().idle, 1U);
  EXPECT_EQ(pool->totals().in_use, 0U);

  retire();
  EXPECT_EQ(pool->totals().idle + pool->totals().in_use, 0U);
}

TEST_F(HostPoolTest, ADirectoryAddsUpTheProtocolsOfAHost) {
  PoolDirectory pools(loops.threads, {});
  const Origin one{"127.0.0.1", worker.port(), "w:1"};
  const Origin other{"127.0.0.1", worker.port(), "w:2"};
  PoolSettings http2;
  http2.http2 = true;
  const auto kept = {pools.find_or_create(one, {}), pools.find_or_create(one, http2),
                     pools.find_or_create(other, {})};
  ASSERT_EQ(kept.size(), 3U);
  const auto totals = pools.totals();
  ASSERT_EQ(totals.size(), 2U);
  EXPECT_EQ(totals[0].origin, one);
  EXPECT_EQ(totals[1].origin, other);
  EXPECT_EQ(totals[0].http1.idle + totals[0].http2.idle, 0U);
}

// ---- idle connections ---------------------------------------------------------------------------

TEST_F(HostPoolTest, AnIdleConnectionThatTheWorkerEndsIsDropped) {
  ASSERT_EQ(exchange_anew(kOk).status, 200);
  connection->finish_sending();
  expect_closed(*connection);
  expect_new_connection();
}

TEST_F(HostPoolTest, AnIdleConnectionThatSpeaksUnaskedIsDropped) {
  ASSERT_EQ(exchange_anew(kOk).status, 200);
  connection->send("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
  expect_closed(*connection);
  expect_new_connection();
}

/// Bytes that arrived between two exchanges are no answer to the second, even if no turn of the
/// loop lies between them.
TEST_F(HostPoolTest, LateBytesAreNeverTakenForTheNextAnswer) {
  std::promise<void> read;
  std::promise<void> spoken;
  auto running = test::start_on(loops[0], [&](net::IoThread& thread) -> net::Task<Exchanged> {
    {
      auto opened = co_await pool->open(thread, abort);
      const auto first = co_await exchange_on(**opened);
      EXPECT_EQ(first.status, 200);
      read.set_value();
      spoken.get_future().get();  // holds the loop up
    }
    auto opened = co_await pool->open(thread, abort);
    auto second = co_await exchange_on(**opened);
    co_return second;
  });
  RawSocket first = worker.accept();
  static_cast<void>(first.receive_until("\r\n\r\n"));
  first.send(kOk);
  read.get_future().get();
  first.send("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
  spoken.set_value();
  RawSocket second = worker.accept();
  static_cast<void>(second.receive_until("\r\n\r\n"));
  second.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew");
  EXPECT_EQ(running.get().body, "new");
  expect_closed(first);
}

TEST_F(HostPoolTest, TheIdleTimeoutClosesIt) {
  use({config::Seconds{3600}, 500, config::Seconds{0}});
  ASSERT_EQ(exchange_anew(kOk).status, 200);
  test::expire_deadlines(loops[0]);
  expect_closed(*connection);
  expect_new_connection();
}

TEST_F(HostPoolTest, AnIdleTimeoutOfZeroKeepsItForEver) {
  ASSERT_EQ(exchange_anew(kOk).status, 200);
  EXPECT_TRUE(test::call_on(loops[0], [this] { return loops[0].deadlines().empty(); }));
}

TEST_F(HostPoolTest, TheIdleTimeoutStandsDuringAnExchange) {
  use({config::Seconds{3600}, 500, config::Seconds{0}});
  ASSERT_EQ(exchange_anew(kOk).status, 200);
  auto running = start();
  static_cast<void>(connection->receive_until("\r\n\r\n"));
  test::expire_deadlines(loops[0]);
  connection->send(kOk);
  EXPECT_EQ(running.get().status, 200);
}

TEST_F(HostPoolTest, NoMoreThanMaxIdleAreKept) {
  for (const std::size_t most : {0U, 2U}) {
    use({config::Seconds{0}, most, config::Seconds{0}});
    std::vector<std::future<Exchanged>> running;
    std::vector<RawSocket> sockets;
    for (int i = 0; i < 4; ++i) {
      running.push_back(start());
      sockets.push_back(worker.accept());
      static_cast<void>(sockets.back().receive_until("\r\n\r\n"));
    }
    for (std::size_t i = 0; i < 4; ++i) {
      sockets[i].send(kOk);
      EXPECT_EQ(running[i].get().status, 200);
    }
    for (std::size_t i = most; i < 4; ++i) expect_closed(sockets[i]);
    for (std::size_t i = 0; i < most; ++i) EXPECT_FALSE(sockets[i].readable()) << i;
  }
}

TEST_F(HostPoolTest, RetireClosesIdleOnesAndTheOthersBehindTheirExchange) {
  ASSERT_EQ(exchange_anew(kOk).status, 200);
  auto idle = std::move(connection);
  auto first = start();
  static_cast<void>(idle->receive_until("\r\n\r\n"));
  auto second = start();
  RawSocket busy = worker.accept();
  static_cast<void>(busy.receive_until("\r\n\r\n"));
  idle->send(kOk);
  EXPECT_EQ(first.get().status, 200);
  retire();
  EXPECT_TRUE(pool->retired());
  expect_closed(*idle);
  busy.send(kOk);
  EXPECT_EQ(second.get().status, 200);
  expect_closed(busy);
}

// ---- between threads ----------------------------------------------------------------------------

TEST_F(HostPoolTest, AThreadTakesOverAnothersIdleConnection) {
  ASSERT_EQ(exchange_anew(kOk, 0).status, 200);
  for (const std::size_t index : {1U, 1U, 0U, 1U}) {
    EXPECT_EQ(exchange(*connection, kOk, index).status, 200) << index;
  }
  EXPECT_FALSE(worker.has_pending());
}

TEST_F(HostPoolTest, ItsOwnIdleConnectionComesFirst) {
  auto a = start(0);
  RawSocket of_first = worker.accept();
  static_cast<void>(of_first.receive_until("\r\n\r\n"));
  auto b = start(1);
  RawSocket of_second = worker.accept();
  static_cast<void>(of_second.receive_until("\r\n\r\n"));
  of_first.send(kOk);
  of_second.send(kOk);
  EXPECT_EQ(a.get().status, 200);
  EXPECT_EQ(b.get().status, 200);
  EXPECT_EQ(exchange(of_second, kOk, 1).status, 200);
  EXPECT_EQ(exchange(of_first, kOk, 0).status, 200);
}

TEST_F(HostPoolTest, ATakenOverConnectionIsWatchedOnItsNewThread) {
  use({config::Seconds{3600}, 500, config::Seconds{0}});
  ASSERT_EQ(exchange_anew(kOk, 0).status, 200);
  EXPECT_EQ(exchange(*connection, kOk, 1).status, 200);
  test::expire_deadlines(loops[0]);
  EXPECT_FALSE(connection->readable());
  test::expire_deadlines(loops[1]);
  expect_closed(*connection);
}

TEST_F(HostPoolTest, WhatComesForOneWhoHasGivenUpIsClosed) {
  for (const bool on_its_way : {false, true}) {
    ASSERT_EQ(exchange_anew(kOk, 0).status, 200);
    test::HeldLoop held(loops[0]);
    auto asking = start(1);
    test::settle(loops[1]);
    test::call_on(loops[1], [&] {
      if (on_its_way) {
        held.release();
        test::call_on(loops[0], [] {});
      }
      abort.abort();
    });
    EXPECT_EQ(asking.get().error.code, ErrorCode::Aborted);
    held.release();
    expect_closed(*connection);
    abort = {};
  }
}

/// Answers every request on every connection until it goes.
class BusyWorker {
 public:
  explicit BusyWorker(test::RawListener& listener) : listener_(listener) {}
  ~BusyWorker() {
    done_ = true;
    const RawSocket wake = RawSocket::connect_to(listener_.port());
    accepting_.join();
    for (auto& thread : serving_) thread.join();
  }
  BusyWorker(const BusyWorker&) = delete;
  BusyWorker& operator=(const BusyWorker&) = delete;

 private:
  void accept() {
    for (RawSocket socket = listener_.accept(); !done_; socket = listener_.accept()) {
      serving_.emplace_back([connection = std::make_shared<RawSocket>(std::move(socket))] {
        while (!connection->receive_until("\r\n\r\n").empty()) connection->send(kOk);
      });
    }
  }

  test::RawListener& listener_;
  std::atomic<bool> done_{false};
  std::vector<std::thread> serving_;
  std::thread accepting_{[this] { accept(); }};
};

TEST_F(HostPoolTest, ManyExchangesOnTwoThreadsAllSucceed) {
  constexpr int kRounds = 200;
  const BusyWorker busy(worker);
  const auto many = [this](std::size_t index) {
    return test::start_on(loops[index], [this](net::IoThread& thread) -> net::Task<int> {
      net::AbortSwitch own;
      int good = 0;
      for (int i = 0; i < kRounds; ++i) {
        auto opened = co_await pool->open(thread, own);
        if (!opened) continue;
        good += (co_await exchange_on(**opened)).status == 200 ? 1 : 0;
      }
      co_return good;
    });
  };
  auto first = many(0);
  auto second = many(1);
  EXPECT_EQ(first.get(), kRounds);
  EXPECT_EQ(second.get(), kRounds);
  retire();
}

// ---- the directory ------------------------------------------------------------------------------

TEST_F(HostPoolTest, DirectorySharesPoolsOfEqualHostAndSettings) {
  PoolDirectory directory(loops.threads, {});
  const Origin origin{"127.0.0.1", worker.port(), "w"};
  const auto first = directory.find_or_create(origin, {});
  EXPECT_EQ(directory.find_or_create(origin, {}), first);
  EXPECT_NE(directory.find_or_create({"127.0.0.1", 1, "w"}, {}), first);
  PoolSettings others;
  others.max_idle = 7;
  EXPECT_NE(directory.find_or_create(origin, others), first);
  directory.retire_all();
  EXPECT_TRUE(first->retired());
  EXPECT_NE(directory.find_or_create(origin, {}), first) << "a retired pool takes no new worker";
}

}  // namespace
}  // namespace smg::upstream
