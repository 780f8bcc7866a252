"""A side that does not listen stops the other side; the gateway's memory stays as it is."""

import asyncio
import time
from contextlib import AsyncExitStack

import pytest

from binary import *
from uploads import MIB, Upload

CHAT = "/v1/chat/completions"
MAY_GROW = 4 * MIB
# More than all socket buffers between a client and a worker can hold.
MUCH = 64 * MIB


async def until_still(count, quiet: float = 1.0, timeout: float = 60) -> int:
    """Wait until `count()` has moved and then not moved for a while; its value."""
    deadline = time.monotonic() + timeout
    value, since = count(), time.monotonic()
    while not value or time.monotonic() - since < quiet:
        assert time.monotonic() < deadline, f"never came to rest: {value}"
        await asyncio.sleep(0.05)
        if count() != value:
            value, since = count(), time.monotonic()
    return value


@pytest.mark.memory
async def test_deaf_worker_stops_the_upload():
    released = asyncio.Event()

    async def deaf(ex: Exchange) -> None:
        await released.wait()

    async with Worker() as w, Launched("--disable-retries", workers=[w]) as g:
        assert (await g.post(CHAT, body=big_chat(2 * MIB))).status == 200
        w.handler = deaf
        before = g.rss_bytes()
        async with Upload(g.port) as up:
            await up.post(CHAT, MUCH)

            async def feed() -> None:
                while up.sent < MUCH and await up.send(b" " * 65536):
                    pass

            feeder = asyncio.create_task(feed())
            assert await until_still(lambda: up.sent) < MUCH
            assert g.peak_rss_bytes() - before < MAY_GROW
            feeder.cancel()
        # A client that leaves behind full buffers shows only once they empty.
        released.set()
        await g.wait_for(lambda ws: ws[0]["load"] == 0)


@pytest.mark.memory
async def test_deaf_client_stops_the_worker():
    written = 0

    async def endless(ex: Exchange) -> None:
        nonlocal written
        await ex.read_body()
        await ex.start(200, [("Content-Type", "text/event-stream")])
        while True:
            event = delta_event("x" * 16384).encode()
            await ex.write(event)
            written += len(event)

    async with Worker() as w, Launched(workers=[w]) as g:
        assert (await g.post(CHAT, chat(stream=True))).status == 200
        w.handler = endless
        before = g.rss_bytes()
        async with Client(g.port) as client:
            body = json.dumps(chat(stream=True)).encode()
            await client.send_head("POST", CHAT, [("Content-Type", "application/json"),
                                                  ("Content-Length", str(len(body)))], body)
            assert (await client.head()).status == 200
            assert await until_still(lambda: written) < MUCH
            assert g.peak_rss_bytes() - before < MAY_GROW
            assert (await g.worker_list())[0]["load"] == 1
        await g.wait_for(lambda ws: ws[0]["load"] == 0)


@pytest.mark.memory
@pytest.mark.parametrize("policy", ["round_robin", "cache_aware"])
async def test_long_prompts_are_gone_while_their_answers_stream(policy):
    streams, prompt = 64, 512 * 1024
    released = asyncio.Event()

    async def generating(ex: Exchange) -> None:
        await ex.read_body()
        await ex.start(200, [("Content-Type", "text/event-stream")])
        await ex.write(delta_event("hi").encode())
        await released.wait()

    async with Worker() as w, Launched("--policy", policy, workers=[w]) as g, AsyncExitStack() as clients:
        body = json.dumps(chat("x" * prompt, stream=True)).encode()
        assert (await g.post(CHAT, body=body)).status == 200
        w.handler = generating
        before = g.rss_bytes()
        for _ in range(streams):
            client = await clients.enter_async_context(Client(g.port))
            await client.send_head("POST", CHAT, [("Content-Type", "application/json"),
                                                  ("Content-Length", str(len(body)))], body)
            assert (await client.head()).status == 200
        assert g.rss_bytes() - before < streams * prompt / 4
        released.set()


async def test_deaf_client_does_not_hold_up_others():
    """Each request has its own way through the gateway, on the same threads."""
    async with Echo() as g, Client(g.port) as client:
        body = json.dumps({"model": "echo", "stream": True,
                           "messages": user("word " * (2 * MIB // 5))}).encode()
        await client.send_head("POST", CHAT, [("Content-Type", "application/json"),
                                              ("Content-Length", str(len(body)))], body)
        assert (await client.head()).status == 200
        for _ in range(20):
            response = await g.post(CHAT, {"model": "echo", "messages": user("hi")})
            assert response.json()["choices"][0]["message"]["content"] == "hi"
