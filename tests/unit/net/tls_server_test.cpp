#include <future>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "support/run_on.hpp"
#include "unit/net/tls_peer.hpp"
#include <smg/net/tcp_stream.hpp>
#include <smg/net/tls_server.hpp>

namespace smg::net {
namespace {

using Status = IoResult::Status;
using Stream = std::unique_ptr<ByteStream>;

/// Wakes the one coroutine that uses a stream.
class Readiness final : public StreamObserver {
 public:
  explicit Readiness(IoThread& thread) : gate_(thread.executor()) {}
  void on_readable() override { gate_.open_and_resume(); }
  void on_writable() override { gate_.open_and_resume(); }
  Task<> wait() { return gate_.wait(); }

 private:
  Gate gate_;
};

Task<> write_all(ByteStream& stream, Readiness& ready, std::string bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    // In two pieces, of which the first is small, as a chunk and its head are.
    const std::size_t head = std::min<std::size_t>(bytes.size() - sent, 5);
    const iovec pieces[] = {{bytes.data() + sent, head},
                            {bytes.data() + sent + head, bytes.size() - sent - head}};
    const IoResult result = stream.write(pieces);
    if (result.status == Status::Failed) co_return;
    sent += result.bytes;
    if (result.status == Status::Done && result.bytes > 0) continue;
    stream.await_writable();
    co_await ready.wait();
  }
}

/// Sends everything back until the client has ended, and then `last`.
Task<> echo(IoThread& thread, Stream stream, std::string last = {}) {
  Readiness ready(thread);
  stream->observe(&ready);
  for (;;) {
    const IoResult got = stream->read(thread.scratch());
    if (got.status == Status::End || got.status == Status::Failed) break;
    if (got.status == Status::Done) {
      co_await write_all(*stream, ready, std::string(thread.scratch().data(), got.bytes));
    } else {
      stream->await_readable();
      co_await ready.wait();
    }
  }
  co_await write_all(*stream, ready, std::move(last));
  stream->close();
}

std::string long_text(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 4096) % 26);
  return text;
}

class TlsServerTest : public testing::Test {
 protected:
  TlsServerTest() {
    make_certificate(folder, "first");
    make_certificate(folder, "second");
    use("first");
    server = std::make_unique<TlsServer>(
        TlsServerSettings{folder.file("server.pem"), folder.file("server.key")});
  }

  void use(const std::string& name) {
    for (const char* kind : {".pem", ".key"}) {
      std::filesystem::copy_file(folder.file(name + kind),
                                 folder.file(std::string("server") + kind),
                                 std::filesystem::copy_options::overwrite_existing);
    }
  }

  /// A client's socket; the gateway's end shakes hands from now on.
  [[nodiscard]] test::RawSocket open(int send_buffer = 0, int receive_buffer = 0) {
    auto client = test::RawSocket::connect_to(listener.port(), receive_buffer);
    const int descriptor = listener.accept().release();
    if (send_buffer > 0) {
      ::setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    }
    accepted = test::start_on(loops[0], [this, descriptor](IoThread& thread) {
      return server->accept(thread, adopt_tcp(thread, descriptor), std::chrono::hours(1), abort);
    });
    return client;
  }

  /// A client that is through the handshake, and an echo at the other end.
  [[nodiscard]] TlsPeer talk(const TlsPeer::Settings& settings = {}, std::string last = {}) {
    TlsPeer peer(open(), settings);
    EXPECT_TRUE(peer.connect());
    echo_back(last);
    return peer;
  }

  void echo_back(const std::string& last = {}) {
    served = test::start_on(loops[0], [stream = accepted.get(), last](IoThread& thread) mutable {
      return echo(thread, std::move(stream), last);
    });
  }

  Folder folder;
  test::Loops loops;
  test::RawListener listener;
  std::unique_ptr<TlsServer> server;
  AbortSwitch abort;
  std::future<Stream> accepted;
  std::future<void> served;
};

TEST_F(TlsServerTest, SpeaksTheVersionsThatAreSafe) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    auto peer = talk({.version = version});
    peer.send("hello");
    EXPECT_EQ(peer.receive(), "hello");
    peer.finish_sending();
    EXPECT_EQ(peer.receive_rest(), "");
    EXPECT_TRUE(peer.ended_well());
    served.get();
  }
  TlsPeer old(open(), {.version = TLS1_1_VERSION});
  EXPECT_FALSE(old.connect());
  EXPECT_EQ(accepted.get(), nullptr);
}

TEST_F(TlsServerTest, PrefersHttp2) {
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"\x02h2", "h2"},
      {"\x08http/1.1\x02h2", "h2"},
      {"\x06spdy/1\x08http/1.1", "http/1.1"},
  };
  for (const auto& [offer, chosen] : cases) {
    auto peer = talk({.alpn = offer});
    EXPECT_EQ(peer.protocol(), chosen);
    peer.close();
    served.get();
  }
  TlsPeer stranger(open(), {.alpn = "\x06spdy/1"});
  EXPECT_FALSE(stranger.connect());
  EXPECT_EQ(ERR_GET_REASON(ERR_get_error()), SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL);
  EXPECT_EQ(accepted.get(), nullptr);
}

TEST_F(TlsServerTest, ResumesSessions) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    auto first = talk({.version = version});
    first.send("x");
    EXPECT_EQ(first.receive(), "x");  // the tickets of TLS 1.3 come along
    const std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)> session(
        SSL_get1_session(first.ssl()), SSL_SESSION_free);
    first.close();
    served.get();
    auto second = talk({.version = version, .resume = session.get()});
    EXPECT_EQ(SSL_session_reused(second.ssl()), 1) << version;
    second.close();
    served.get();
  }
}

TEST_F(TlsServerTest, WhatIsTakenArrivesThoughTheStreamIsClosed) {
  const std::string text = long_text(3'000'000);
  TlsPeer peer(open(4096, 4096), {});
  ASSERT_TRUE(peer.connect());
  echo_back(text);
  peer.finish_sending();
  EXPECT_EQ(peer.receive_rest(), text);
  served.get();
}

TEST_F(TlsServerTest, CarriesMuchBothWaysAtOnce) {
  const std::string text = long_text(5'000'000);
  TlsPeer peer(open(8192, 8192), {});
  ASSERT_TRUE(peer.connect());
  echo_back();
  std::string back;
  for (std::size_t sent = 0; sent < text.size(); sent += 50'000) {
    peer.send(std::string_view(text).substr(sent, 50'000));
    while (back.size() < std::min(text.size(), sent + 50'000)) back += peer.receive();
  }
  EXPECT_EQ(back, text);
  peer.close();
  served.get();
}

TEST_F(TlsServerTest, AWriteThatWouldBlockTakesNothingMore) {
  TlsPeer peer(open(4096, 4096), {});
  ASSERT_TRUE(peer.connect());
  const std::string text = long_text(10'000'000);
  auto stream = accepted.get();
  std::size_t taken = 0;
  test::call_on(loops[0], [&] {
    for (;;) {
      const iovec piece{const_cast<char*>(text.data()) + taken, text.size() - taken};
      const IoResult result = stream->write({&piece, 1});
      if (result.status != Status::Done) break;
      taken += result.bytes;
    }
    stream->close();
  });
  ASSERT_LT(taken, text.size());
  // The record that was being sent has been taken by nobody, and broke off.
  EXPECT_EQ(peer.receive_rest(), text.substr(0, taken));
  EXPECT_FALSE(peer.ended_well());
  test::call_on(loops[0], [&] { stream.reset(); });
}

TEST_F(TlsServerTest, AResetDoesNotLookLikeAnEnd) {
  TlsPeer peer(open(), {});
  ASSERT_TRUE(peer.connect());
  auto stream = accepted.get();
  test::call_on(loops[0], [&] {
    stream->reset_on_close();
    stream.reset();
  });
  EXPECT_EQ(peer.receive_rest(), "");
  EXPECT_FALSE(peer.ended_well());
}

TEST_F(TlsServerTest, AnEndWithoutANoticeIsAFailure) {
  TlsPeer peer(open(), {});
  ASSERT_TRUE(peer.connect());
  auto stream = accepted.get();
  peer.close();
  const auto status = test::run_on(loops[0], [&](IoThread& thread) -> Task<Status> {
    Readiness ready(thread);
    stream->observe(&ready);
    IoResult got = stream->read(thread.scratch());
    while (got.status == Status::WouldBlock) {
      stream->await_readable();
      co_await ready.wait();
      got = stream->read(thread.scratch());
    }
    stream.reset();
    co_return got.status;
  });
  EXPECT_EQ(status, Status::Failed);
}

TEST_F(TlsServerTest, ClosesOnWhoDoesNotSpeakTls) {
  auto client = open();
  client.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(accepted.get(), nullptr);
  EXPECT_EQ(client.receive_rest().find("HTTP"), std::string::npos);
}

TEST_F(TlsServerTest, AHandshakeEndsByTimeOrOrder) {
  auto slow = open();
  slow.send("\x16\x03\x01");  // a hello begins
  test::expire_deadlines(loops[0]);
  EXPECT_EQ(accepted.get(), nullptr);
  EXPECT_EQ(slow.receive_rest(), "");

  auto silent = open();
  test::call_on(loops[0], [this] { abort.abort(); });
  EXPECT_EQ(accepted.get(), nullptr);
  EXPECT_EQ(silent.receive_rest(), "");
}

TEST_F(TlsServerTest, ReloadsWhileConnectionsGoOn) {
  auto before = talk();
  EXPECT_EQ(before.name_seen(), "first");
  use("second");
  server->reload();
  before.send("still here");
  EXPECT_EQ(before.receive(), "still here");
  before.close();
  served.get();
  auto after = talk();
  EXPECT_EQ(after.name_seen(), "second");
  after.close();
  served.get();
}

TEST_F(TlsServerTest, KeepsWhatItHasWhenTheNewFilesAreBad) {
  std::filesystem::copy_file(folder.file("second.key"), folder.file("server.key"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THROW(server->reload(), std::runtime_error);
  folder.write("server.pem", "not a certificate");
  EXPECT_THROW(server->reload(), std::runtime_error);
  auto peer = talk();
  EXPECT_EQ(peer.name_seen(), "first");
  peer.close();
  served.get();
}

TEST_F(TlsServerTest, RefusesFilesThatCannotBeUsed) {
  folder.write("junk", "junk");
  const struct {
    std::string cert;
    std::string key;
    std::string_view message;
  } cases[] = {
      {"absent", "first.key", "Failed to read server certificate from "},
      {"junk", "first.key", "Failed to read server certificate from "},
      {"first.key", "first.key", "Failed to read server certificate from "},
      {"first.pem", "absent", "Failed to create TLS config: "},
      {"first.pem", "junk", "Failed to create TLS config: "},
      {"first.pem", "second.key", "Failed to create TLS config: "},
  };
  for (const auto& c : cases) {
    try {
      const TlsServer refused({folder.file(c.cert), folder.file(c.key)});
      ADD_FAILURE() << c.cert << " " << c.key;
    } catch (const std::runtime_error& e) {
      EXPECT_TRUE(std::string_view(e.what()).starts_with(c.message)) << e.what();
    }
  }
}

}  // namespace
}  // namespace smg::net
