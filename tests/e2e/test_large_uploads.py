"""Uploads that are large enough to pass through a kernel pipe, uncopied."""

import asyncio
import os

from binary import *
from uploads import MIB, STREAM_ALL, Upload

CHAT = "/v1/chat/completions"
SIZE = 12 * MIB


class Taker:
    """A worker's handler that keeps what it gets, at a pace of its own."""

    def __init__(self, pause: float = 0.0) -> None:
        self.pause = pause
        self.got = bytearray()

    async def __call__(self, ex: Exchange) -> None:
        while piece := await ex.read_some():
            self.got += piece
            await asyncio.sleep(self.pause)
        await ex.reply_json(chat_answer())


async def test_every_byte_arrives_at_a_worker_that_lags():
    body = os.urandom(SIZE)
    async with Worker() as w, Launched(*STREAM_ALL, workers=[w]) as g:
        for _ in range(2):
            w.handler = taker = Taker(pause=0.002)
            assert (await g.post(CHAT, body=body)).status == 200
            assert taker.got == body


async def test_what_has_been_sent_arrives_before_the_rest():
    body = os.urandom(SIZE)
    async with Worker() as w, Launched(*STREAM_ALL, workers=[w]) as g:
        w.handler = taker = Taker()
        async with Upload(g.port) as up:
            await up.post(CHAT, SIZE)
            for start, end in ((0, 3), (3, 7 * MIB), (7 * MIB, 7 * MIB + 1), (7 * MIB + 1, SIZE)):
                await up.send(body[start:end])
                await eventually(lambda: len(taker.got) == end)
                assert taker.got == body[:end]
            assert (await up.head()).status == 200


async def test_client_that_leaves_takes_the_upload_along():
    async with Worker() as w, Launched(*STREAM_ALL, workers=[w]) as g:
        for leave in (Upload.reset, Upload._close):
            w.handler = taker = Taker()
            async with Upload(g.port) as up:
                await up.post(CHAT, SIZE)
                await up.send(bytes(5 * MIB))
                await eventually(lambda: len(taker.got) == 5 * MIB)
                leave(up)
                await eventually(lambda: w.seen[-1].aborted)
            await g.wait_for(lambda ws: ws[0]["load"] == 0)
        w.handler = Taker()
        assert (await g.post(CHAT, chat())).status == 200


async def test_answer_in_mid_upload_reaches_the_client():
    async def refuse(ex: Exchange) -> None:
        await ex.read_some()
        await ex.reply(413, b'{"error":"too much"}')

    async with Worker(handler=refuse) as w, Launched(*STREAM_ALL, workers=[w]) as g:
        async with Upload(g.port) as up:
            await up.post(CHAT, SIZE)
            await up.send(bytes(2 * MIB))
            assert (await up.head()).status == 413


async def test_buffered_body_stays_until_it_is_sent_though_its_answer_streams():
    body, reading = big_chat(SIZE, stream=True), asyncio.Event()

    async def answer_first(ex: Exchange) -> None:
        await ex.start(200, [("Content-Type", "text/event-stream")])
        await ex.write(delta_event("hi").encode())
        await reading.wait()
        await ex.read_body()
        await ex.end()

    async with Worker() as w, Launched("--max-buffered-request-bytes", str(2 * SIZE), workers=[w]) as g:
        w.handler = answer_first
        async with Client(g.port) as client:
            await client.send_head("POST", CHAT, [("Content-Type", "application/json"),
                                                  ("Content-Length", str(len(body)))], body)
            assert (await client.head()).status == 200
            reading.set()
            await eventually(lambda: w.seen[-1].body_complete)
            assert w.seen[-1].body == body


async def test_many_at_a_time_beyond_what_the_kernel_grants_pipes_for():
    bodies = [os.urandom(2 * MIB + i) for i in range(80)]
    async with Worker() as w, Launched(*STREAM_ALL, workers=[w]) as g:
        async def echo_size(ex: Exchange) -> None:
            await ex.reply_json({"bytes": len(await ex.read_body())})

        w.handler = echo_size
        answers = await asyncio.gather(*(g.post(CHAT, body=body) for body in bodies))
        assert [a.json()["bytes"] for a in answers] == [len(body) for body in bodies]
