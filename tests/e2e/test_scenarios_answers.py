"""Rows A05, A06, A25, A26, A28, A29 and A30 of the scenarios: what a worker's answer looks like at the client."""

import gzip
import time

import pytest

from scenario import *

OK = b"HTTP/1.1 200 OK\r\n"
JSON_TYPE = b"Content-Type: application/json\r\n"


@PATHS
async def test_a05_an_error_under_stream_true_stays_what_it_is(path):
    error = b'{"error":{"message":"x","code":400}}'
    async with scene("--cb-failure-threshold", "99", *path) as row:
        for status in (400, 500, 503, 200):
            row.w.handler = reply(status, error)
            answer = await row.post(BODYS)
            assert (answer.status, answer.body) == (status, error)
            assert answer.header_all("content-type") == ["application/json"]

        async def untyped(ex):
            await ex.read_body()
            await ex.start(200, [])
            await ex.write(DONE)
            await ex.end()

        row.w.handler = untyped
        answer = await row.post(BODYS)
        assert (answer.status, answer.body) == (200, DONE)
        # A body that nobody has read is not known to ask for a stream: the default is the buffered path's.
        assert answer.header_all("content-type") == ([] if path is STREAMED else ["text/event-stream"])


@PATHS
@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json"])
async def test_a06_a_stale_content_length(path, content_type):
    head = OK + b"Content-Type: %s\r\nContent-Length: 40\r\n\r\n" % content_type.encode()
    forty = b"data: " + b"x" * 32 + b"\n\n"
    async with scene("--cb-failure-threshold", "99", *path) as row:
        row.w.handler = raw(head + forty, close=False)
        answer = await row.post(BODYS)
        assert (answer.status, answer.body, answer.complete) == (200, forty, True)
        assert answer.header_all("content-length") == ["40"] and not answer.header("transfer-encoding")

        row.w.handler = raw(head + forty[:25])
        answer = await row.post(BODYS)
        # Begun, or an error: never a whole one.
        assert not answer.complete if answer.status == 200 else answer.status == 502

        row.w.handler = raw(head + forty + b"0123456789abcde", close=False)
        answer = await row.post(BODYS)
        assert (answer.status, answer.body, answer.complete) == (200, forty, True)
        connection = row.w.seen[-1].connection
        row.w.handler = row.w.default_handler
        answer = await row.post()
        assert answer.status == 200 and answer.json()["worker"] == row.w.port
        assert row.w.seen[-1].connection != connection


BODILESS = {
    "204-chunked": (204, b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"),
    "204-length": (204, b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"),
    "304-length": (304, b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
    "200-crlf": (200, OK + b"Content-Length: 0\r\n\r\n\r\n"),
}


@PATHS
@pytest.mark.parametrize("kind", BODILESS)
async def test_a25_an_answer_without_a_body(path, kind):
    status, wire = BODILESS[kind]
    async with scene(*path) as row:
        row.w.handler = raw(wire, close=False)
        async with row.open() as client:
            started = time.monotonic()
            head = await asyncio.wait_for(client.head(), 2)
            assert time.monotonic() - started < 1
            assert head.status == status and not head.header("transfer-encoding")
            assert head.header("content-length") == ("0" if status == 200 else None)
            # The next bytes are those of the next answer.
            row.w.handler = row.w.default_handler
            await client.send_head("POST", CHAT, [("Content-Type", "application/json"),
                                                  ("Content-Length", str(len(BODY)))], BODY)
            assert (await asyncio.wait_for(client.response("POST"), 2)).status == 200


@pytest.mark.parametrize("target", ["/health", "/v1/models", "/workers"])
async def test_a25_head_is_get_without_content(target):
    async with scene() as row:
        get = await row.g.get(target)
        async with Client(row.g.port) as client:
            for _ in range(2):
                await client.send_head("HEAD", target, [])
                head = await asyncio.wait_for(client.response("HEAD"), 2)
                assert head.status == get.status == 200
                assert head.header("content-type") == get.header("content-type")
                assert head.header("content-length") == get.header("content-length")


@PATHS
@pytest.mark.parametrize("stream", [False, True], ids=["json", "events"])
async def test_a26_interim_answers_are_not_the_answer(path, stream):
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
    final = (OK + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n" + DONE + b"\r\n0\r\n\r\n"
             if stream else OK + JSON_TYPE + b'Content-Length: 7\r\n\r\n{"a":1}')
    async with scene(*path) as row:
        row.w.handler = raw(b"HTTP/1.1 100 Continue\r\n\r\n", hints, 0.3, hints, 0.3, final, close=False)
        async with row.open(BODYS if stream else BODY) as client:
            got = await asyncio.wait_for(client.reader.readuntil(b"\r\n\r\n"), 3)
            assert got.startswith(b"HTTP/1.1 200") and b"link" not in got.lower()
        answer = await row.post(BODYS if stream else BODY)
        assert (answer.status, answer.body, answer.complete) == (200, DONE if stream else b'{"a":1}', True)


@PATHS
async def test_a26_an_unasked_upgrade_and_a_flood(path):
    async with scene("--cb-failure-threshold", "99", *path) as row:
        row.w.handler = raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
                            close=False)
        assert (await row.post()).status == 502
        before = row.g.rss_bytes()
        row.w.handler = raw(*[b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"] * 1000,
                            OK + JSON_TYPE + b"Content-Length: 2\r\n\r\n{}", close=False)
        answer = await row.post()
        assert answer.status in (200, 502)
        assert os.environ.get("SMG_SANITIZED") or row.g.rss_bytes() - before < 4 * MIB


# A28 -----------------------------------------------------------------------------

CHUNKS = b'7\r\n{"a":1}\r\n0\r\n\r\n'
FRAMINGS = {
    "chunked-twice": (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", CHUNKS, 502),
    "length-and-chunked": (b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", CHUNKS, 200),
    "equal-lengths": (b"Content-Length: 7\r\nContent-Length: 7\r\n", b'{"a":1}', 200),
    "unequal-lengths": (b"Content-Length: 7\r\nContent-Length: 3\r\n", b'{"a":1}', 502),
    "identity": (b"Transfer-Encoding: identity\r\n", b'{"a":1}', 502),
}


@PATHS
@pytest.mark.parametrize("kind", FRAMINGS)
async def test_a28_one_framing_reaches_the_client(path, kind):
    fields, body, status = FRAMINGS[kind]
    async with scene("--cb-failure-threshold", "99", *path) as row:
        row.w.handler = raw(OK + JSON_TYPE + fields + b"\r\n" + body, close=False)
        answer = await row.post()
        assert answer.status == status
        framings = answer.header_all("content-length") + answer.header_all("transfer-encoding")
        assert len(framings) == 1 and answer.complete
        if status == 200:
            assert answer.body == b'{"a":1}'
        # Where two framings were there, the connection is not trusted further.
        connection = row.w.seen[-1].connection
        row.w.handler = row.w.default_handler
        assert (await row.post()).status == 200
        if kind != "equal-lengths":
            assert row.w.seen[-1].connection != connection


@PATHS
async def test_a29_repeated_response_headers(path):
    lines = [("Set-Cookie", "a=1; Expires=Thu, 01 Jan 2030 00:00:00 GMT"), ("Set-Cookie", "b=2"), ("X-Multi", "1"),
             ("x-multi", "2"), ("X-Empty", ""), ("X-Bytes", bytes(range(0x80, 0x100)).decode("latin1")),
             *[(f"X-Many-{n}", str(n)) for n in range(91)]]
    async with scene(*path, handler=reply(headers=lines)) as row:
        answer = await row.post()
        assert answer.status == 200
        assert [line for line in answer.headers if line[0] in dict(lines)] == lines


@PATHS
@pytest.mark.parametrize("asked", ["gzip", "identity", None])
async def test_a30_a_coded_answer(path, asked):
    headers = [("Accept-Encoding", asked)] if asked else []
    coded = [("Content-Encoding", "gzip")]
    whole = gzip.compress(b'{"a":1}')
    async with scene(*path, handler=reply(body=whole, headers=coded)) as row:
        answer = await row.post(headers=headers)
        assert (answer.header("content-encoding"), answer.body) == ("gzip", whole)
        # The worker is never asked for a coding (request_path.md section 5).
        assert row.w.seen[-1].header("accept-encoding") is None

        events = [gzip.compress(b"data: %d\n\n" % n) for n in range(4)]
        read = asyncio.Queue()

        async def in_step(ex: Exchange) -> None:
            await ex.read_body()
            await ex.start(200, SSE + coded)
            for event in events:
                await ex.write(event)
                await read.get()
            await ex.end()

        row.w.handler = in_step
        async with row.open(BODYS, headers=headers) as client:
            head = await client.head()
            assert head.header("content-encoding") == "gzip"
            pieces = client.pieces(head, time.monotonic())
            # The next event is written when this one has arrived.
            for event in events:
                got = b""
                while len(got) < len(event):
                    got += await asyncio.wait_for(anext(pieces), 2)
                assert gzip.decompress(got) == gzip.decompress(event)
                read.put_nowait(True)


# At rest -------------------------------------------------------------------------


def cpu_seconds(gateway) -> float:
    with open(f"/proc/{gateway.process.pid}/stat") as f:
        user, system = f.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@PATHS
@WIRES
@pytest.mark.parametrize("size", [600, 16 * 1024, 100_000, 256 * 1024])
async def test_nothing_is_computed_behind_an_answer(path, http2, size):
    # The last read of an answer may be a full one, which leaves open whether there is more.
    async with scene(*path, http2=http2, handler=reply(body=b'{"a":"%s"}' % (b"x" * (size - 8)))) as row:
        assert len((await row.post()).body) == size
        before = cpu_seconds(row.g)
        await asyncio.sleep(1)
        assert cpu_seconds(row.g) - before < 0.5
