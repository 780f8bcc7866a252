#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "support/raw_socket.hpp"
#include "support/run_on.hpp"
#include <smg/net/listener.hpp>
#include <smg/net/tcp_stream.hpp>

namespace smg::net {
namespace {

using std::chrono::hours;
using test::RawListener;
using test::RawSocket;
using Status = IoResult::Status;
using StreamPtr = std::unique_ptr<ByteStream>;
using Connected = Result<StreamPtr>;

iovec piece_of(std::string_view bytes) {
  return {const_cast<char*>(bytes.data()), bytes.size()};
}

/// As long as it lives the process can open no further descriptor.
class NoDescriptorsLeft {
 public:
  NoDescriptorsLeft() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest_free = ::dup(0);
    ::close(lowest_free);
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(lowest_free);
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptorsLeft() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptorsLeft(const NoDescriptorsLeft&) = delete;
  NoDescriptorsLeft& operator=(const NoDescriptorsLeft&) = delete;

 private:
  rlimit before_{};
};

class TcpTest : public testing::Test {
 protected:
  IoThread& loop() { return loops[0]; }

  std::future<Connected> start_connecting(std::string host, std::uint16_t port, Duration timeout) {
    return test::start_on(loop(), [this, host, port, timeout](IoThread& thread) -> Task<Connected> {
      auto connected = co_await connect_tcp(thread, host, port, timeout, abort);
      co_return connected;
    });
  }

  /// Streams are used and destroyed on their thread only.
  void destroy(StreamPtr& stream) {
    test::call_on(loop(), [&] { stream.reset(); });
  }

  test::Loops loops;
  AbortSwitch abort;
};

// ---- connecting ---------------------------------------------------------------------------------

TEST_F(TcpTest, ConnectsToAnAddressAndAName) {
  RawListener listener;
  for (const char* host : {"127.0.0.1", "localhost"}) {
    auto connected = start_connecting(host, listener.port(), hours(1)).get();
    ASSERT_TRUE(connected) << host << ": " << connected.error().message;
    RawSocket peer = listener.accept();
    test::call_on(loop(), [&] {
      const iovec piece = piece_of("hello");
      EXPECT_EQ((*connected)->write({&piece, 1}).bytes, 5U);
    });
    EXPECT_EQ(peer.receive_exactly(5), "hello");
    destroy(*connected);
  }
}

TEST_F(TcpTest, RefusedIsTheWorkersFault) {
  RawListener listener;
  const auto port = listener.port();
  listener.close();
  const auto connected = start_connecting("127.0.0.1", port, hours(1)).get();
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code, ErrorCode::UpstreamConnect);
}

TEST_F(TcpTest, AHostThatDoesNotResolveIsTheWorkersFault) {
  const auto connected = start_connecting("no-such-host.invalid", 80, hours(1)).get();
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code, ErrorCode::UpstreamConnect);
}

TEST_F(TcpTest, OutOfDescriptorsIsOurOwnFaultAndPasses) {
  RawListener listener;
  const auto connect = [&] {
    return start_connecting("127.0.0.1", listener.port(), hours(1)).get();
  };
  const auto expect_connected = [&] {
    auto connected = connect();
    ASSERT_TRUE(connected);
    destroy(*connected);
  };
  // The first time is also for the sanitizers, which open descriptors for what they see first.
  expect_connected();
  {
    const NoDescriptorsLeft none;
    const auto connected = connect();
    EXPECT_TRUE(!connected && connected.error().code == ErrorCode::LocalResources);
  }
  expect_connected();
}

/// A listener whose queue is full leaves further connections in mid-handshake.
class HangingConnectTest : public TcpTest {
 protected:
  RawListener listener{0};
  RawSocket filler = RawSocket::connect_to(listener.port());
};

TEST_F(HangingConnectTest, TimesOut) {
  auto connecting = start_connecting("127.0.0.1", listener.port(), hours(1));
  while (connecting.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    test::expire_deadlines(loop());
  }
  const auto connected = connecting.get();
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code, ErrorCode::UpstreamTimeout);
}

TEST_F(HangingConnectTest, IsGivenUpByItsSwitch) {
  auto connecting = start_connecting("127.0.0.1", listener.port(), Duration::zero());
  test::call_on(loop(), [this] { abort.abort(); });
  const auto connected = connecting.get();
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code, ErrorCode::Aborted);
}

TEST_F(TcpTest, AnAbortedSwitchEndsItAtTheStart) {
  abort.abort();
  RawListener listener;
  const auto connected = start_connecting("127.0.0.1", listener.port(), hours(1)).get();
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code, ErrorCode::Aborted);
  EXPECT_FALSE(listener.has_pending());
}

TEST(AbortSwitch, CallsBackOnceAndOnlyWhileSet) {
  int calls = 0;
  AbortSwitch cleared;
  cleared.set([&] { ++calls; });
  cleared.clear();
  cleared.abort();
  EXPECT_TRUE(cleared.aborted());
  EXPECT_EQ(calls, 0);
  AbortSwitch twice;
  twice.set([&] { ++calls; });
  twice.abort();
  twice.abort();
  EXPECT_EQ(calls, 1);
}

// ---- a connected stream -------------------------------------------------------------------------

struct Observer final : StreamObserver {
  void on_readable() override { readable.set_value(); }
  void on_writable() override { writable.set_value(); }
  std::promise<void> readable;
  std::promise<void> writable;
};

class StreamTest : public TcpTest {
 protected:
  StreamTest() {
    stream = test::call_on(loop(), [this] {
      auto adopted = adopt_tcp(loop(), listener.accept().release());
      adopted->observe(&observer);
      return adopted;
    });
  }
  ~StreamTest() override { destroy(stream); }

  IoResult read(std::string& into) {
    return test::call_on(loop(), [&] {
      const auto got = stream->read(into);
      into.resize(got.bytes);
      return got;
    });
  }
  void await_readable() {
    test::call_on(loop(), [this] {
      stream->await_readable();
      stream->await_readable();
    });
    observer.readable.get_future().get();
    observer.readable = {};
  }

  RawListener listener;
  RawSocket peer = RawSocket::connect_to(listener.port());
  Observer observer;
  StreamPtr stream;
};

TEST_F(StreamTest, ReadsWhatIsThereAndAnnouncesMore) {
  std::string bytes(100, '\0');
  EXPECT_EQ(read(bytes).status, Status::WouldBlock);
  peer.send("hello");
  await_readable();
  bytes.resize(3);
  EXPECT_EQ(read(bytes).status, Status::Done);
  EXPECT_EQ(bytes, "hel");
  await_readable();
  bytes.resize(100);
  EXPECT_EQ(read(bytes).bytes, 2U);
  EXPECT_EQ(bytes, "lo");
}

TEST_F(StreamTest, EndsWhenThePeerSendsItsEnd) {
  peer.finish_sending();
  await_readable();
  EXPECT_TRUE(test::call_on(loop(), [this] { return stream->peer_ended(); }));
  std::string bytes(10, '\0');
  EXPECT_EQ(read(bytes).status, Status::End);
}

/// The stream hears of bytes and of what ended it in one go, and must not forget the latter.
class EndBehindBytesTest : public StreamTest {
 protected:
  void send_and(const std::function<void()>& end) {
    std::string none(10, '\0');
    ASSERT_EQ(read(none).status, Status::WouldBlock);
    // On the loop itself, which therefore cannot look at the socket in between.
    test::call_on(loop(), [&] {
      stream->await_readable();
      peer.send("ab");
      end();
    });
    observer.readable.get_future().get();
    observer.readable = {};
    std::string bytes(10, '\0');
    ASSERT_EQ(read(bytes).status, Status::Done);
    EXPECT_EQ(bytes, "ab");
    await_readable();
  }
};

TEST_F(EndBehindBytesTest, TheEndIsAnnounced) {
  send_and([this] { peer.finish_sending(); });
  std::string bytes(10, '\0');
  EXPECT_EQ(read(bytes).status, Status::End);
}

TEST_F(EndBehindBytesTest, AFailureIsAnnounced) {
  send_and([this] { peer.reset(); });
  std::string bytes(10, '\0');
  EXPECT_EQ(read(bytes).status, Status::Failed);
}

TEST_F(StreamTest, QuietAsksTheKernel) {
  const auto quiet = [this] { return test::call_on(loop(), [this] { return stream->quiet(); }); };
  std::string bytes(10, '\0');
  ASSERT_EQ(read(bytes).status, Status::WouldBlock);
  EXPECT_TRUE(quiet());
  const bool at_once = test::call_on(loop(), [this] {
    peer.send("x");
    return stream->quiet();
  });
  EXPECT_FALSE(at_once) << "the loop has not looked at the socket yet";
  bytes.resize(10);
  EXPECT_EQ(read(bytes).bytes, 1U);
}

TEST_F(StreamTest, AQuietStreamIsNotAnnounced) {
  peer.send("hello");
  await_readable();
  std::string bytes(5, '\0');
  ASSERT_EQ(read(bytes).bytes, 5U) << "a full read, which does not tell whether there is more";
  test::call_on(loop(), [this] {
    EXPECT_TRUE(stream->quiet());
    stream->await_readable();
  });
  const auto announced = [this] {
    return observer.readable.get_future().wait_for(hours(0)) == std::future_status::ready;
  };
  // What was due would come in the turn of that call; this one's is later.
  EXPECT_FALSE(test::call_on(loop(), announced));
}

/// Told of the first of two sockets, and asks after the second meanwhile.
struct Inquirer final : StreamObserver {
  void on_readable() override {
    if (meanwhile) meanwhile();
    was_quiet.set_value(other->was_quiet());
  }
  void on_writable() override {}
  std::function<void()> meanwhile;
  ByteStream* other = nullptr;
  std::promise<bool> was_quiet;
};

TEST_F(StreamTest, WhatIsStillToBeToldOfATurnIsKnown) {
  RawSocket second_peer = RawSocket::connect_to(listener.port());
  Inquirer inquirer;
  StreamPtr second = test::call_on(loop(), [&] {
    auto adopted = adopt_tcp(loop(), listener.accept().release());
    inquirer.other = adopted.get();
    stream->observe(&inquirer);
    return adopted;
  });
  std::string none(10, '\0');
  ASSERT_EQ(read(none).status, Status::WouldBlock);
  const bool before = test::call_on(loop(), [&] {
    std::string bytes(10, '\0');
    EXPECT_EQ(second->read(bytes).status, Status::WouldBlock);
    stream->await_readable();
    const bool quiet = second->was_quiet();
    // Both in the loop's next look, in this order.
    peer.send("x");
    second_peer.send("x");
    return quiet;
  });
  EXPECT_TRUE(before);
  EXPECT_FALSE(inquirer.was_quiet.get_future().get());
  destroy(second);
}

TEST_F(StreamTest, WhatComesWithinALongTurnIsKnown) {
  RawSocket second_peer = RawSocket::connect_to(listener.port());
  Inquirer inquirer;
  inquirer.meanwhile = [&second_peer] {
    second_peer.send("x");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  StreamPtr second = test::call_on(loop(), [&] {
    auto adopted = adopt_tcp(loop(), listener.accept().release());
    inquirer.other = adopted.get();
    stream->observe(&inquirer);
    std::string bytes(10, '\0');
    EXPECT_EQ(adopted->read(bytes).status, Status::WouldBlock);
    return adopted;
  });
  std::string none(10, '\0');
  ASSERT_EQ(read(none).status, Status::WouldBlock);
  test::call_on(loop(), [this] { stream->await_readable(); });
  peer.send("x");
  EXPECT_FALSE(inquirer.was_quiet.get_future().get());
  destroy(second);
}

TEST_F(StreamTest, FailsWhenThePeerResets) {
  peer.reset();
  await_readable();
  std::string bytes(10, '\0');
  const auto got = read(bytes);
  EXPECT_EQ(got.status, Status::Failed);
  EXPECT_EQ(got.error, ECONNRESET);
}

TEST_F(StreamTest, AnEndBehindUnreadBytesIsAnnounced) {
  const auto closed = [this] {
    return test::call_on(loop(), [this] { return stream->peer_ended(); });
  };
  peer.send("x");
  await_readable();
  test::call_on(loop(), [this] { stream->await_end(); });
  EXPECT_FALSE(closed());
  peer.finish_sending();
  observer.readable.get_future().get();
  EXPECT_TRUE(closed());
  std::string bytes(10, '\0');
  EXPECT_EQ(read(bytes).bytes, 1U) << "they are still there";
}

TEST_F(StreamTest, TellsWhatThePeerHasNotGot) {
  const auto undelivered = [this] {
    return test::call_on(loop(), [this] { return stream->has_undelivered(); });
  };
  EXPECT_FALSE(undelivered());
  test::call_on(loop(), [this] {
    const std::string much(1 << 20, 'x');
    const iovec piece = piece_of(much);
    while (stream->write({&piece, 1}).status == Status::Done) {
    }
  });
  EXPECT_TRUE(undelivered());
}

TEST_F(StreamTest, WritesUntilTheKernelIsFullAndAnnouncesRoom) {
  const std::string block(1 << 20, 'x');
  std::size_t written = 0;
  test::call_on(loop(), [&] {
    for (;;) {
      const iovec pieces[] = {piece_of("ab"), piece_of(block)};
      const auto sent = stream->write(pieces);
      if (sent.status == Status::WouldBlock) break;
      ASSERT_EQ(sent.status, Status::Done);
      written += sent.bytes;
    }
    stream->await_writable();
    stream->await_writable();
  });
  EXPECT_EQ(peer.receive_exactly(written).substr(0, 4), "abxx");
  observer.writable.get_future().get();
}

TEST_F(StreamTest, WriteToAPeerThatIsGoneFailsWithoutASignal) {
  peer.reset();
  await_readable();
  const auto sent = test::call_on(loop(), [this] {
    const iovec piece = piece_of("x");
    static_cast<void>(stream->write({&piece, 1}));
    return stream->write({&piece, 1});
  });
  EXPECT_EQ(sent.status, Status::Failed);
}

TEST_F(StreamTest, ShutdownOfWritingLeavesReading) {
  test::call_on(loop(), [this] { stream->shutdown_write(); });
  EXPECT_EQ(peer.receive(), "");
  EXPECT_FALSE(peer.was_reset());
  peer.send("late");
  await_readable();
  std::string bytes(10, '\0');
  read(bytes);
  EXPECT_EQ(bytes, "late");
}

TEST_F(StreamTest, ResetOnCloseIsSeenAsAReset) {
  test::call_on(loop(), [this] {
    stream->reset_on_close();
    stream->close();
  });
  EXPECT_EQ(peer.receive(), "");
  EXPECT_TRUE(peer.was_reset());
}

TEST_F(StreamTest, ClosedStreamFailsAndCallsNobody) {
  test::call_on(loop(), [this] {
    stream->await_readable();
    stream->await_writable();
    stream->close();
    stream->close();
    char byte = 0;
    EXPECT_EQ(stream->read({&byte, 1}).status, Status::Failed);
  });
  EXPECT_EQ(peer.receive(), "");
  test::settle(loop());
  EXPECT_EQ(observer.readable.get_future().wait_for(std::chrono::seconds(0)),
            std::future_status::timeout);
}

TEST_F(StreamTest, AReleasedDescriptorGoesOnOnAnotherThread) {
  test::Loops others;
  int descriptor = -1;
  test::call_on(loop(), [&] {
    stream->await_readable();
    descriptor = stream->release();
  });
  ASSERT_GE(descriptor, 0);
  destroy(stream);
  auto moved = test::call_on(others[0], [&] { return adopt_tcp(others[0], descriptor); });
  Observer second;
  peer.send("hello");
  test::call_on(others[0], [&] {
    moved->observe(&second);
    moved->await_readable();
  });
  second.readable.get_future().get();
  test::call_on(others[0], [&] {
    char bytes[10];
    EXPECT_EQ(moved->read(bytes).bytes, 5U);
    const iovec piece = piece_of("bye");
    EXPECT_EQ(moved->write({&piece, 1}).bytes, 3U);
    moved.reset();
  });
  EXPECT_EQ(peer.receive_rest(), "bye");
}

// ---- listening ----------------------------------------------------------------------------------

class ListenerTest : public TcpTest {
 protected:
  ListenerTest() {
    listener = test::call_on(loop(), [this] {
      return std::make_unique<Listener>(loop(), "127.0.0.1", std::uint16_t{0});
    });
  }
  ~ListenerTest() override {
    test::call_on(loop(), [this] { listener.reset(); });
  }
  void start(Listener::Accepted accepted) {
    test::call_on(loop(), [&] { listener->start(accepted); });
  }

  std::unique_ptr<Listener> listener;
};

TEST_F(ListenerTest, HandsOverEveryConnection) {
  constexpr int kCount = 40;  // more than one batch
  std::promise<void> all;
  int accepted = 0;
  start([&](int descriptor) {
    ::close(descriptor);
    if (++accepted == kCount) all.set_value();
  });
  std::vector<RawSocket> clients;
  for (int i = 0; i < kCount; ++i) clients.push_back(RawSocket::connect_to(listener->port()));
  all.get_future().get();
}

TEST_F(ListenerTest, RefusesOnceItIsClosed) {
  start([](int descriptor) { ::close(descriptor); });
  const auto port = listener->port();
  test::call_on(loop(), [this] { listener->close(); });
  EXPECT_THROW(static_cast<void>(RawSocket::connect_to(port)), std::runtime_error);
}

TEST_F(ListenerTest, MayBeClosedByWhoeverIsGivenADescriptor) {
  std::promise<void> closed;
  start([&](int descriptor) {
    ::close(descriptor);
    listener->close();
    closed.set_value();
  });
  const RawSocket client = RawSocket::connect_to(listener->port());
  closed.get_future().get();
}

TEST_F(ListenerTest, ResumesByItselfWhenDescriptorsAreBack) {
  std::promise<int> accepted;
  bool first = true;
  start([&](int descriptor) {
    if (std::exchange(first, false)) {
      ::close(descriptor);
    } else {
      accepted.set_value(descriptor);
    }
  });
  // The first time is also for the sanitizers, which open descriptors for what they see first.
  static_cast<void>(RawSocket::connect_to(listener->port()).receive());
  const auto turn_of_the_loop = [this] { test::settle(loop()); };
  turn_of_the_loop();
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  {
    const NoDescriptorsLeft none;
    const sockaddr_in address = RawSocket::loopback(listener->port());
    ASSERT_EQ(::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    // It has tried to accept by then, and could not.
    turn_of_the_loop();
    turn_of_the_loop();
  }
  const int descriptor = accepted.get_future().get();
  EXPECT_GE(descriptor, 0);
  ::close(descriptor);
  ::close(client);
}

TEST_F(ListenerTest, AnAddressInUseIsRefusedAtOnce) {
  const auto port = listener->port();
  test::call_on(loop(), [&] { EXPECT_ANY_THROW(Listener(loop(), "127.0.0.1", port)); });
}

TEST_F(ListenerTest, TakesIpv6LiteralsWithBrackets) {
  test::call_on(loop(), [&] {
    try {
      const Listener six(loop(), "[::1]", 0);
      EXPECT_GT(six.port(), 0);
    } catch (const std::exception&) {
      GTEST_SKIP() << "no IPv6 here";
    }
  });
}

}  // namespace
}  // namespace smg::net
