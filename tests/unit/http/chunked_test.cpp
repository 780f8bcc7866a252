#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <smg/http/chunked.hpp>

namespace smg::http {
namespace {

using namespace std::string_literals;
using std::string;
using std::string_view;

struct Decoded {
  string body;
  std::size_t consumed = 0;
  bool failed = false;
  bool ended = false;
};

/// Feeds the pieces one after the other, as a connection does: nothing after a failure or the end.
Decoded decode(const std::vector<string_view>& pieces) {
  ChunkDecoder decoder;
  Decoded result;
  for (const string_view piece : pieces) {
    string bytes(piece);
    const auto progress = decoder.decode(bytes);
    EXPECT_LE(progress.produced, progress.consumed);
    EXPECT_LE(progress.consumed, bytes.size());
    result.body.append(bytes, 0, progress.produced);
    result.consumed += progress.consumed;
    result.failed = progress.failed;
    if (result.failed || decoder.ended()) break;
    EXPECT_EQ(progress.consumed, bytes.size()) << "only the end and a failure leave bytes over";
  }
  result.ended = decoder.ended();
  return result;
}

/// The result must not depend on how the bytes are cut: in one piece, in two at every offset,
/// singly.
Decoded decode_every_way(const string& bytes) {
  const string_view view = bytes;
  const Decoded whole = decode({view});
  const auto expect_same = [&](const Decoded& other, std::size_t cut) {
    EXPECT_EQ(other.body, whole.body) << bytes << " cut at " << cut;
    EXPECT_EQ(other.consumed, whole.consumed) << bytes << " cut at " << cut;
    EXPECT_EQ(other.failed, whole.failed) << bytes << " cut at " << cut;
    EXPECT_EQ(other.ended, whole.ended) << bytes << " cut at " << cut;
  };
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    expect_same(decode({view.substr(0, cut), view.substr(cut)}), cut);
  }
  std::vector<string_view> single;
  for (std::size_t i = 0; i < bytes.size(); ++i) single.push_back(view.substr(i, 1));
  expect_same(decode(single), string::npos);
  return whole;
}

TEST(ChunkDecoder, ValidCodingsGiveTheirBody) {
  const struct {
    string_view name;
    string coded;
    string body;
  } cases[] = {
      {"empty body", "0\r\n\r\n", ""},
      {"one chunk", "5\r\nhello\r\n0\r\n\r\n", "hello"},
      {"two chunks", "1\r\nh\r\n4\r\nello\r\n0\r\n\r\n", "hello"},
      {"upper hex and zeros", "000A\r\n0123456789\r\n0\r\n\r\n", "0123456789"},
      {"lower hex", "a\r\n0123456789\r\n00000\r\n\r\n", "0123456789"},
      {"many zeros", string(200, '0') + "1\r\nx\r\n0\r\n\r\n", "x"},
      {"extensions", "5;a=b;c=\"d\"\r\nhello\r\n0;e\r\n\r\n", "hello"},
      {"blanks behind a size", "5 \t\r\nhello\r\n0\r\n\r\n", "hello"},
      {"blank before an extension", "5 ;a\r\nhello\r\n0\r\n\r\n", "hello"},
      {"trailers", "5\r\nhello\r\n0\r\nX-T: v\r\nContent-Length: 5\r\n\r\n", "hello"},
      {"framing look-alikes", "7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n", "\r\n0\r\n\r\n"},
      {"NUL", "3\r\na\0b\r\n0\r\n\r\n"s, "a\0b"s},
  };
  for (const auto& c : cases) {
    const auto result = decode_every_way(c.coded);
    EXPECT_FALSE(result.failed) << c.name;
    EXPECT_TRUE(result.ended) << c.name;
    EXPECT_EQ(result.body, c.body) << c.name;
    EXPECT_EQ(result.consumed, c.coded.size()) << c.name;
  }
}

TEST(ChunkDecoder, StopsBehindTheEnd) {
  const string coded = "5\r\nhello\r\n0\r\n\r\n";
  const auto result = decode_every_way(coded + "GET / HTTP/1.1\r\n");
  EXPECT_TRUE(result.ended);
  EXPECT_EQ(result.body, "hello");
  EXPECT_EQ(result.consumed, coded.size());
}

TEST(ChunkDecoder, MalformedCodingsFail) {
  const struct {
    string_view name;
    string coded;
  } cases[] = {
      {"not hex", "zz\r\nhello\r\n0\r\n\r\n"},
      {"hex then not", "5g\r\nhello\r\n0\r\n\r\n"},
      {"0x prefix", "0x5\r\nhello\r\n0\r\n\r\n"},
      {"negative", "-1\r\nhello\r\n0\r\n\r\n"},
      {"plus", "+5\r\nhello\r\n0\r\n\r\n"},
      {"overflows 64 bits", "fffffffffffffffff\r\nhello\r\n0\r\n\r\n"},
      {"2^64", "10000000000000000\r\nhello\r\n0\r\n\r\n"},
      {"empty size", "\r\nhello\r\n0\r\n\r\n"},
      {"only an extension", ";a=b\r\nhello\r\n0\r\n\r\n"},
      {"blank first", " 5\r\nhello\r\n0\r\n\r\n"},
      {"LF in an extension", "5;a\nb\r\nhello\r\n0\r\n\r\n"},
      {"LF for CRLF", "5\nhello\n0\n\n"},
      {"CR without LF", "5\rhello\r\n0\r\n\r\n"},
      {"CR CR LF", "5\r\r\nhello\r\n0\r\n\r\n"},
      {"CR in an extension", "5;a\rb\r\nhello\r\n0\r\n\r\n"},
      {"no CRLF after data", "5\r\nhello0\r\n\r\n"},
      {"LF after data", "5\r\nhello\n0\r\n\r\n"},
      {"data longer than size", "3\r\nhello\r\n0\r\n\r\n"},
      {"data shorter than size", "6\r\nhello\r\n0\r\n\r\n"},
      {"LF ends a trailer", "0\r\nX: v\n\r\n"},
      {"LF ends the trailers", "0\r\n\n"},
      {"CR in a trailer", "0\r\nX: a\rb\r\n\r\n"},
      {"CR without LF at the end", "0\r\n\rx"},
  };
  for (const auto& c : cases) {
    const auto result = decode_every_way(c.coded);
    EXPECT_TRUE(result.failed) << c.name;
    EXPECT_FALSE(result.ended) << c.name;
  }
}

/// Blanks after a size are BWS before an extension (RFC 9112 7.1.1); nothing else may follow them.
TEST(ChunkDecoder, SizeWithABlankIsNotReadAsTwoNumbers) {
  for (const string_view coded : {"5 5\r\nhello\r\n0\r\n\r\n", "1\t0\r\nh\r\n0\r\n\r\n"}) {
    EXPECT_TRUE(decode_every_way(string(coded)).failed) << coded;
  }
}

/// Trailers are field lines: checked for their form before they are dropped (RFC 9112 7.1.2).
TEST(ChunkDecoder, ControlBytesInExtensionsAndTrailersFail) {
  for (const string& coded : {"5;a\0\r\nhello\r\n0\r\n\r\n"s, "0\r\nX: a\0b\r\n\r\n"s,
                              "5;\x01\r\nhello\r\n0\r\n\r\n"s, "0\r\nX: \x7f\r\n\r\n"s}) {
    EXPECT_TRUE(decode_every_way(coded).failed) << coded;
  }
}

TEST(ChunkDecoder, GoesOnFailingOnceItFailed) {
  ChunkDecoder decoder;
  string broken = "zz";
  EXPECT_TRUE(decoder.decode(broken).failed);
  string valid = "5\r\nhello\r\n0\r\n\r\n";
  const auto progress = decoder.decode(valid);
  EXPECT_TRUE(progress.failed);
  EXPECT_EQ(progress.produced, 0U);
  EXPECT_FALSE(decoder.ended());
}

TEST(ChunkDecoder, LargestSizeIsCounted) {
  ChunkDecoder decoder;
  string bytes = "ffffffffffffffff\r\nabc";
  const auto progress = decoder.decode(bytes);
  EXPECT_FALSE(progress.failed);
  EXPECT_EQ(progress.produced, 3U);
  EXPECT_EQ(decoder.chunk_remaining(), 0xffffffffffffffffU - 3);
}

TEST(ChunkDecoder, ChunkRemainingIsZeroWithinFraming) {
  ChunkDecoder decoder;
  const auto feed = [&](string bytes) { EXPECT_FALSE(decoder.decode(bytes).failed); };
  EXPECT_EQ(decoder.chunk_remaining(), 0U);
  feed("1");
  EXPECT_EQ(decoder.chunk_remaining(), 0U) << "the size is not whole";
  feed("0\r\n");
  EXPECT_EQ(decoder.chunk_remaining(), 16U);
  feed("abc");
  EXPECT_EQ(decoder.chunk_remaining(), 13U);
  feed(string(13, 'x'));
  EXPECT_EQ(decoder.chunk_remaining(), 0U);
  feed("\r\n0\r\n\r\n");
  EXPECT_TRUE(decoder.ended());
}

TEST(ChunkDecoder, OverheadIsBounded) {
  const auto extended = [](std::size_t size) {
    return "1;" + string(size, 'e') + "\r\nx\r\n0\r\n\r\n";
  };
  const auto trailed = [](std::size_t size) { return "0\r\nX: " + string(size, 't') + "\r\n\r\n"; };
  EXPECT_FALSE(decode({extended(16000)}).failed);
  EXPECT_TRUE(decode({extended(17000)}).failed);
  EXPECT_FALSE(decode({trailed(16000)}).failed);
  EXPECT_TRUE(decode({trailed(17000)}).failed);
  string many;
  for (int i = 0; i < 20; ++i) many += "1;" + string(1000, 'e') + "\r\nx\r\n";
  EXPECT_TRUE(decode({many}).failed) << "the bound is of the whole body";
}

TEST(ChunkDecoder, BodiesOfRandomChunksComeBackInPlace) {
  std::minstd_rand random(11);
  for (int round = 0; round < 50; ++round) {
    string body;
    string coded;
    for (unsigned chunks = random() % 40; chunks > 0; --chunks) {
      const string data(random() % 300 + 1, static_cast<char>(random() % 256));
      char size[16];
      std::snprintf(size, sizeof size, "%zx\r\n", data.size());
      body += data;
      coded += size + data + "\r\n";
    }
    coded += "0\r\n\r\n";
    std::vector<string_view> pieces;
    for (string_view left = coded; !left.empty();) {
      pieces.push_back(left.substr(0, random() % 500 + 1));
      left.remove_prefix(pieces.back().size());
    }
    const auto result = decode(pieces);
    EXPECT_TRUE(result.ended);
    EXPECT_EQ(result.body, body);
  }
}

TEST(ChunkDecoder, CountsTheChunksOfAPiece) {
  struct Case {
    std::string_view piece;
    std::size_t chunks;
  };
  ChunkDecoder decoder;
  for (const auto& [piece, chunks] :
       {Case{"1\r\na\r\n2\r\nbc\r\n", 2}, Case{"4\r\nde", 1}, Case{"fg\r\n1\r\nh", 2},
        Case{"\r\n", 0}, Case{"0\r\n\r\n", 0}}) {
    std::string bytes(piece);
    EXPECT_EQ(decoder.decode(bytes).chunks, chunks) << piece;
  }
  EXPECT_TRUE(decoder.ended());
}

}  // namespace
}  // namespace smg::http
