"""Rows A20 to A24 and A27 of the scenarios: how clients frame their requests, and how early the gateway may
refuse them."""

import tempfile
import time

import pytest

from conformance.uploads import Upload
from conformance.wire import H2Client
from programs import needs, nginx_before, output_of
from scenario import *

LIMIT = MIB
TWO = 2 * MIB
TYPE = b"Content-Type: application/json\r\n"


def post(*lines: bytes, body: bytes = BODY, version: bytes = b"1.1", host: bool = True) -> bytes:
    """A POST of exactly these further lines."""
    head = [b"POST /v1/chat/completions HTTP/" + version, b"Host: gw"][:1 + host] + [TYPE[:-2], *lines]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def length(body: bytes = BODY) -> bytes:
    return b"Content-Length: %d" % len(body)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def statuses(wire: bytes) -> list[int]:
    """The statuses of all answers in these bytes."""
    return [int(part[:3]) for part in wire.split(b"HTTP/1.1 ")[1:]]


# A20 -----------------------------------------------------------------------------


@PATHS
@pytest.mark.parametrize("why", ["size", "key"])
async def test_a20_early_refusal_of_a_big_upload(path, why):
    flags = ("--max-payload-size", LIMIT) if why == "size" else ("--api-key", "k")
    expected = 413 if why == "size" else 401
    headers = [] if why == "size" else [("Authorization", "Bearer wrong")]
    async with scene(*flags, *path, await_workers=False) as row:
        if why == "key":
            row.headers = row.admin = [("Authorization", "Bearer k")]
        await row.ready()
        async with Upload(row.g.port) as up:
            await up.post(CHAT, TWO, [("Expect", "100-continue"), *headers])
            assert (await asyncio.wait_for(up.reader.readuntil(b"\r\n"), 5)).startswith(b"HTTP/1.1 %d" % expected)
        # The whole answer is there behind the whole upload, however it is framed.
        for size in (TWO, None):
            async with Upload(row.g.port) as up:
                await up.post(CHAT, size, headers)
                piece = b" " * 65536
                for _ in range(TWO // len(piece)):
                    await (up.send(piece) if size else up.chunk(piece))
                answer = await asyncio.wait_for(up.response(), 5)
                assert answer.status == expected and answer.complete
                assert answer.header("connection") == "close"
        assert not row.w.seen


async def test_a20_an_upload_past_the_limit_is_aborted_at_the_worker():
    """A length within the limit goes on at once; nothing else can become too large on its way."""
    async with scene("--max-payload-size", LIMIT, *STREAMED) as row:
        body = big_chat(LIMIT)
        assert (await row.post(body)).status == 200
        assert (await row.g.post(CHAT, body=body + b" ")).status == 413
        assert [seen.body for seen in row.w.seen] == [body]


async def test_a20_a_chunk_that_is_too_large_is_not_waited_for():
    async with scene("--max-payload-size", LIMIT) as row:
        for size in (b"%x" % (LIMIT + 1), b"F" * 16):
            got = await row.talk(post(b"Transfer-Encoding: chunked", body=size + b"\r\n{"), patience=2)
            assert statuses(got) == [413]
        assert not row.w.seen


# A21 -----------------------------------------------------------------------------


@needs("curl")
@PATHS
async def test_a21_curl_sends_a_large_body(path):
    body = big_chat(3 * MIB)
    async with scene(*path) as row:
        row.sent.add(body)
        with tempfile.NamedTemporaryFile() as file:
            file.write(body)
            file.flush()
            said = await output_of(
                "curl", "-sS", "-m", "10", "-o", "/dev/null", "-w", "%{http_code} %{time_total}",
                "-H", "Content-Type: application/json", "-H", "Expect: 100-continue",
                "--data-binary", f"@{file.name}", f"http://{HOST}:{row.g.port}{CHAT}")
        status, seconds = said.split()
        # It would have waited for a second before it sent a body without being told to.
        assert status == b"200" and float(seconds) < 0.9
        assert row.w.seen[-1].body == body


@PATHS
async def test_a21_continue_comes_once_and_at_once(path):
    async with scene(*path) as row:
        async with Client(row.g.port) as client:
            await client.send(post(b"expect: 100-Continue", length(), body=b""))
            started = time.monotonic()
            assert await asyncio.wait_for(client.reader.readuntil(b"\r\n\r\n"), 2) == b"HTTP/1.1 100 Continue\r\n\r\n"
            assert time.monotonic() - started < 0.5
            await client.send(BODY[:20])
            await asyncio.sleep(0.05)
            await client.send(BODY[20:])
            assert (await client.reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200")
        assert row.w.seen[-1].body == BODY

        # The body is there already: nobody waits for a go-ahead.
        got = await row.talk(post(b"Expect: 100-continue", b"Connection: close", length()))
        assert statuses(got) == [200]
        # There is no body.
        got = await row.talk(post(b"Expect: 100-continue", b"Connection: close", b"Content-Length: 0", body=b""))
        assert 100 not in statuses(got)
        row.sent.add(b"")
        # HTTP/1.0 has no such thing, nor anything else to expect.
        for expectation in (b"100-continue", b"bogus"):
            got = await row.talk(post(b"Expect: " + expectation, length(), version=b"1.0"))
            assert got.startswith(b"HTTP/1.0 200") and b" 100 " not in got


@PATHS
async def test_a21_an_unknown_expectation_fails(path):
    async with scene(*path) as row:
        for lines in ((b"Expect: bogus",), (b"Expect: 100-continue", b"Expect: bogus")):
            assert statuses(await row.talk(post(*lines, length()))) == [417]
        async with H2Client(row.g.port) as client:
            answer = await client.request("POST", CHAT, BODY, [("expect", "bogus")])
            assert answer.status == 417
        assert not row.w.seen


# A22 -----------------------------------------------------------------------------

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
CODINGS = {
    "plain": (b"Transfer-Encoding: chunked",),
    "comma-behind": (b"Transfer-Encoding: chunked,",),
    "comma-before": (b"Transfer-Encoding: ,chunked",),
    "gzip-last": (b"Transfer-Encoding: chunked, gzip",),
    "gzip-first": (b"Transfer-Encoding: gzip, chunked",),
    "twice": (b"Transfer-Encoding: chunked, chunked",),
    "misspelt": (b"Transfer-Encoding: xchunked",),
    "quoted": (b'Transfer-Encoding: "chunked"',),
    "parameter": (b"Transfer-Encoding: chunked;q=1",),
    "vertical-tab": (b"Transfer-Encoding: \x0bchunked",),
    "tab-behind": (b"Transfer-Encoding: chunked\t",),
    "two-lines": (b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
    "space-before-colon": (b"Transfer-Encoding : chunked",),
    "mixed-case": (b"tRANSFER-eNCODING: cHUNKED",),
}
MAY_PASS = {"plain", "tab-behind", "mixed-case"}


@PATHS
async def test_a22_transfer_encoding_tricks(path):
    chunked = chunk(BODY) + b"0\r\n\r\n" + SMUGGLED
    async with scene(*path) as row:
        for name, lines in CODINGS.items():
            for with_length in (True, False):
                before = len(row.w.seen)
                framing = [b"Content-Length: 4", *lines] if with_length else list(lines)
                got = statuses(await row.talk(post(*framing, body=chunked)))
                if name not in MAY_PASS:
                    assert got in ([400], [501]), (name, got)
                elif with_length:
                    # Obeyed, and closed behind the answer.
                    assert got in ([200], [400]), (name, got)
                else:
                    # What is behind the body is the client's own next request.
                    assert got == [200, 404], (name, got)
                assert len(row.w.seen) - before == got.count(200)
            got = await row.talk(post(*lines, body=chunked, version=b"1.0"))
            assert b" 400 " in got[:20] or b" 501 " in got[:20], (name, got)
        assert all(seen.target == CHAT for seen in row.requests)
        assert not any(b"smuggled" in log for log in row.w.logs)


# A23 -----------------------------------------------------------------------------

N = len(BODY)
LENGTHS = {
    "twice": ([b"57", b"57"], {200, 400}), "list": ([b"57, 57"], {200, 400}), "and-none": ([b"57", b"0"], {400}),
    "none-and": ([b"0", b"57"], {400}), "plus": ([b"+57"], {400}), "blank-behind": ([b"57 "], {200}),
    "hexadecimal": ([b"0x39"], {400}), "semicolon": ([b"57;"], {400}), "negative": ([b"-1"], {400}),
    "empty": ([b""], {400}), "leading-zero": ([b"057"], {200}), "2-64": ([b"18446744073709551673"], {400}),
    "400-digits": ([b"1" * 400], {400}),
}


@PATHS
async def test_a23_content_length_tricks(path):
    assert N == 57
    async with scene(*path) as row:
        for name, (values, allowed) in LENGTHS.items():
            before = len(row.w.seen)
            lines = [b"Content-Length: " + value for value in values]
            got = statuses(await row.talk(post(*lines) + SMUGGLED))
            if got[0] == 200:
                assert got == [200, 404] and 200 in allowed, (name, got)
            else:
                assert got == [400] and 400 in allowed, (name, got)
            assert len(row.w.seen) - before == got.count(200), name


# A24 -----------------------------------------------------------------------------

EVERYTHING = (post(b"Transfer-Encoding: chunked", body=b'1;a="b\\"c;d"\r\n{\r\n00038\r\n' + BODY[1:])
              + b"\r\n0\r\nX-T: 1\r\nContent-Length: 9\r\n\r\n" + post(length(), b"Connection: close"))


@PATHS
@pytest.mark.parametrize("pieces", [[EVERYTHING], [EVERYTHING[i:i + 1] for i in range(len(EVERYTHING))]],
                         ids=["one-segment", "byte-by-byte"])
async def test_a24_a_chunked_upload_with_everything(path, pieces):
    async with scene(*path) as row:
        assert statuses(await row.talk(*pieces, pause=0.0005)) == [200, 200]
        assert [seen.body for seen in row.w.seen] == [BODY, BODY]
        assert all(seen.header("x-t") is None and seen.header("content-length") != "9" for seen in row.w.seen)


MALFORMED = {
    "overflow": b"10000000000000001\r\n" + BODY,
    "long-extension": b"39;" + b"a" * 70 * 1024 + b"\r\n" + BODY + b"\r\n0\r\n\r\n",
    "bare-lf": b"39\n" + BODY + b"\r\n0\r\n\r\n",
    "no-crlf-behind": b"39\r\n" + BODY + b"0\r\n\r\n",
}


@PATHS
async def test_a24_malformed_chunks(path):
    async with scene(*path) as row:
        for name, body in MALFORMED.items():
            got = statuses(await row.talk(post(b"Transfer-Encoding: chunked", body=body) + SMUGGLED))
            assert got == [400], (name, got)
        # A size like any other, but for the limit.
        got = statuses(await row.talk(post(b"Transfer-Encoding: chunked", body=b"F" * 16 + b"\r\n" + BODY)))
        assert got == [413]
        assert not row.w.seen


async def test_a24_the_limit_counts_decoded_bytes():
    body = big_chat(1000)
    single = b"".join(chunk(body[i:i + 1]) for i in range(1000)) + b"0\r\n\r\n"
    async with scene("--max-payload-size", 1000) as row:
        row.sent.add(body)
        assert statuses(await row.talk(post(b"Transfer-Encoding: chunked", b"Connection: close", body=single))) == [200]
        assert row.w.seen[-1].body == body


# A27 -----------------------------------------------------------------------------


async def in_step(ex: Exchange) -> None:
    """A stream whose second event is sent late."""
    if not json.loads(await ex.read_body()).get("stream"):
        return await ex.reply_json(chat_answer())
    await ex.start(200, SSE)
    await ex.write(b"data: 1\n\n")
    await asyncio.sleep(0.4)
    await ex.write(DONE)
    await ex.end()


@PATHS
@pytest.mark.parametrize("keep_alive", [False, True], ids=["close", "keep-alive"])
async def test_a27_http_1_0_clients(path, keep_alive):
    lines = [b"Connection: keep-alive"] if keep_alive else []
    async with scene(*path, handler=in_step) as row:
        for host in (True, False):
            async with Client(row.g.port) as client:
                await client.send(post(*lines, length(), version=b"1.0", host=host))
                answer = await asyncio.wait_for(client.response("POST"), 5)
                assert answer.status == 200 and answer.json() and not answer.header("transfer-encoding")
                kept = keep_alive and answer.header("content-length") is not None
                if kept:
                    assert answer.header("connection") == "keep-alive"
                    await client.send(post(length(), version=b"1.0"))
                    assert (await asyncio.wait_for(client.response("POST"), 5)).status == 200
                assert await asyncio.wait_for(client.reader.read(), 5) == b""
            async with Client(row.g.port) as client:
                await client.send(post(*lines, length(BODYS), body=BODYS, version=b"1.0", host=host))
                head = await asyncio.wait_for(client.head(), 5)
                assert not head.header("transfer-encoding") and not head.header("content-length")
                assert head.header("connection") == "close"
                assert await client.reader.read(100) == b"data: 1\n\n"
                assert await asyncio.wait_for(client.reader.read(), 5) == DONE
            # Nothing of the answers was chunked, and nothing of it is left.
        assert len(row.w.seen) == (6 if keep_alive else 4)


async def test_a27_versions_and_hosts():
    async with scene() as row:
        close = b"Connection: close"
        assert statuses(await row.talk(post(length(), close, host=False))) == [400]
        assert statuses(await row.talk(post(length(), close, version=b"1.2"))) == [200]
        for version in (b"2.0", b"0.9"):
            got = await row.talk(post(length(), version=version))
            assert statuses(got) in ([505], [400]), got
        assert len(row.w.seen) == 1


@needs("nginx")
@PATHS
async def test_a27_an_nginx_in_front(path):
    async with scene(*path, handler=in_step) as row, nginx_before(row.g.port, "proxy_buffering off;") as front:
        answer = await request(front, "POST", CHAT, body=BODY)
        assert answer.status == 200 and answer.json()["model"] == "m"
        answer = await request(front, "POST", CHAT, body=BODYS)
        assert answer.status == 200 and answer.complete and answer.body == b"data: 1\n\n" + DONE
        # The events came one by one.
        assert answer.pieces[-1][0] - answer.pieces[0][0] > 0.2


@needs("nginx")
async def test_a28_a_strict_nginx_in_front_of_doubled_framing():
    wires = {
        "length-and-chunked": b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(b'{"a":1}') + b"0\r\n\r\n",
        "equal-lengths": b'Content-Length: 7\r\nContent-Length: 7\r\n\r\n{"a":1}',
    }
    async with scene() as row, nginx_before(row.g.port, "proxy_buffering off;") as front:
        for name, wire in wires.items():
            row.w.handler = raw(b"HTTP/1.1 200 OK\r\n" + TYPE + wire, close=False)
            answer = await request(front, "POST", CHAT, body=BODY)
            assert (answer.status, answer.body) == (200, b'{"a":1}'), name
