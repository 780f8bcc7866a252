"""Rows A08 to A11 of the scenarios: event streams pass as they are and when they are."""

import hashlib
import time

import pytest

from scenario import *


def writes(*pieces: bytes | float) -> Handler:
    """A worker's event stream: these writes, and pauses at numbers."""
    async def handler(ex: Exchange) -> None:
        await ex.read_body()
        await ex.start(200, SSE)
        for piece in pieces:
            await (asyncio.sleep(piece) if isinstance(piece, float) else ex.write(piece))
        await ex.end()
    return handler


EVENTS = [b'data: {"n":1}', b'data: {"n":2}', b"data: [DONE]"]
LINE_ENDS = {
    "lf": [e + b"\n\n" for e in EVENTS],
    "crlf": [e + b"\r\n\r\n" for e in EVENTS],
    "cr": [e + b"\r\r" for e in EVENTS],
    "cut-crlf": [p for e in EVENTS for p in (e + b"\r", 0.1, b"\n\r", 0.1, b"\n")],
    "no-space": [e.replace(b": ", b":") + b"\n\n" for e in EVENTS],
    "two-lines": [b'data: {"n":1,\ndata: "m":2}\n\n', *[e + b"\n\n" for e in EVENTS[1:]]],
    "bom": [b"\xef\xbb\xbf" + EVENTS[0] + b"\n\n", *[e + b"\n\n" for e in EVENTS[1:]]],
    "large": [b'data: {"n":"' + b"x" * (2 * MIB) + b'"}\n\n', *[e + b"\n\n" for e in EVENTS[1:]]],
}


@PATHS
@WIRES
async def test_a08_line_ends_and_the_optional_space(path, http2):
    async with scene(*path, http2=http2) as row:
        derived = set()
        for name, pieces in LINE_ENDS.items():
            row.w.handler = writes(*pieces)
            before = await row.g.metrics()
            answer = await row.post(BODYS)
            assert answer.complete, name
            assert answer.body == b"".join(p for p in pieces if isinstance(p, bytes)), name
            after = await row.g.metrics()
            derived.add(tuple(after.value(m) - before.value(m) for m in (
                "smg_router_ttft_seconds_count", "smg_router_requests_total",
                "smg_router_request_duration_seconds_count", "smg_router_request_errors_total")))
        assert len(derived) == 1


@PATHS
@WIRES
async def test_a09_characters_cut_across_chunks(path, http2):
    text = bytes.fromhex("E58C97F09F8C8D")
    pieces = [b'data: {"t":"', *[p for b in text for p in (bytes([b]), 0.03)], b'"}\n\n', b"data: \xff\n\n", DONE]
    async with scene(*path, http2=http2, handler=writes(*pieces)) as row:
        answer = await row.post(BODYS)
        sent = b"".join(p for p in pieces if isinstance(p, bytes))
        assert answer.complete and hashlib.sha256(answer.body).digest() == hashlib.sha256(sent).digest()


# The silence of 20 s is 3 s here.
CONTROL_EVENTS = [b": OPENROUTER PROCESSING\n\n", b"retry: 3000\n\n", b'id: 7\ndata: {"n":1}\n\n', 3.0,
                  b'data: {"n":2}\n\n', DONE]


@PATHS
async def test_a10_comments_and_control_events(path):
    async with scene(*path, handler=writes(*CONTROL_EVENTS)) as row:
        answer = await row.post(BODYS)
        assert answer.complete
        assert answer.body == b"".join(p for p in CONTROL_EVENTS if isinstance(p, bytes))


async def test_a10_the_official_client_gets_through_the_silence():
    """It takes an event without data for JSON, so here the worker's comment belongs to one with data."""
    said = [delta_event(t).encode() for t in ("Hel", "lo")]
    pieces = [b": OPENROUTER PROCESSING\n", b"id: 7\n" + said[0], 2.0, said[1], DONE]
    async with scene(handler=writes(*pieces)) as row:
        client = openai.AsyncOpenAI(base_url=f"http://{HOST}:{row.g.port}/v1", api_key="unused", max_retries=0)
        heard = []

        async def listen() -> None:
            async with client, await client.chat.completions.create(
                    model="m", messages=user("hi"), stream=True) as stream:
                heard.extend([event.choices[0].delta.content async for event in stream])

        async def seen_body(ex: Exchange) -> None:
            row.sent.add(await ex.read_body())
            await writes(*pieces)(ex)

        row.w.handler = seen_body
        await listen()
        assert heard == ["Hel", "lo"]


class InStep:
    """A worker that writes the next piece only when the client has the last: none can be held back for a
    later one, and no two can be merged."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces, self.turn = pieces, asyncio.Semaphore(0)

    async def __call__(self, ex: Exchange) -> None:
        await ex.read_body()
        await ex.start(200, SSE)
        for piece in self.pieces:
            await asyncio.wait_for(self.turn.acquire(), 5)
            await ex.write(piece)
        await ex.end()

    async def listen(self, client: Client) -> None:
        head = await asyncio.wait_for(client.head(), 2)
        arrived = client.pieces(head, time.monotonic())
        for piece in self.pieces:
            self.turn.release()
            assert await asyncio.wait_for(anext(arrived), 2) == piece
        assert [rest async for rest in arrived] == [] and head.complete


@PATHS
@WIRES
async def test_a11_each_event_goes_on_at_once(path, http2):
    events = [b"data: %032d\n\n" % n for n in range(50)]
    async with scene(*path, http2=http2) as row:
        row.w.handler = worker = InStep(events)
        async with row.open(BODYS) as client:
            await worker.listen(client)


@WIRES
async def test_a11_thirty_streams_at_once(http2):
    events = [b"data: %032d\n\n" % n for n in range(20)]
    async with scene(http2=http2) as row:
        worker = {n: InStep(events) for n in range(30)}

        async def by_user(ex: Exchange) -> None:
            await worker[json.loads(await ex.read_body())["user"]](ex)

        row.w.handler = by_user

        async def one(n: int) -> None:
            async with row.open(json.dumps(chat(user=n, stream=True)).encode()) as client:
                await worker[n].listen(client)

        await asyncio.gather(*(one(n) for n in range(30)))


@WIRES
async def test_a11_one_byte_at_a_time(http2):
    """An acknowledgement that is waited for costs 40 ms, for each of these bytes."""
    async with scene(http2=http2) as row:
        row.w.handler = worker = InStep([b"%d" % (n % 10) for n in range(200)])
        async with row.open(BODYS) as client:
            started = time.monotonic()
            await worker.listen(client)
            assert time.monotonic() - started < 4
