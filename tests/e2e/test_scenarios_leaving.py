"""Rows A01, A02, A19 and A38 of the scenarios: clients that leave, and the permits they hold."""

import time

import pytest

from conformance.uploads import Upload
from scenario import *


class Watcher:
    """A worker that goes so far with its answer, and then notes when it sees its request dropped."""

    def __init__(self, depth: str) -> None:
        self.depth, self.arrived = depth, asyncio.Event()
        self.dropped_at = asyncio.get_running_loop().create_future()

    async def __call__(self, ex: Exchange) -> None:
        await ex.read_body()
        if self.depth != "nothing":
            await ex.start(200, SSE)
        if self.depth == "events":
            for n in range(3):
                await ex.write(b'data: {"n":%d}\n\n' % n)
        self.arrived.set()
        await ex.gone()
        self.dropped_at.set_result(time.monotonic())
        if not ex.seen.http2:
            raise ConnectionResetError

    async def took(self, since: float) -> float:
        return await asyncio.wait_for(self.dropped_at, 10) - since


async def until_read(client: Client, depth: str) -> None:
    if depth != "nothing":
        assert (await client.head()).status == 200
    if depth == "events":
        await client.reader.readuntil(b'{"n":2}\n\n')


@PATHS
@WIRES
@pytest.mark.parametrize("leave", ["fin", "reset"])
async def test_a01_client_leaves_during_a_long_prefill(path, http2, leave):
    """A FIN counts as leaving (ruling 1)."""
    async with scene(*path, workers=2, http2=http2) as row:
        for depth in ("nothing", "head", "events"):
            watcher = Watcher(depth)
            for w in row.workers:
                w.handler = watcher
            before = len(row.requests)
            async with row.open(BODYS) as client:
                await asyncio.wait_for(watcher.arrived.wait(), 5)
                await until_read(client, depth)
                client.reset() if leave == "reset" else client.writer.write_eof()
                assert await watcher.took(time.monotonic()) < 1
                await row.at_rest()
            assert len(row.requests) == before + 1
        if http2:
            assert all(w.open_connections == 1 for w in row.workers if w.seen)
        assert await row.breakers() == [0, 0]
        metrics = await row.g.metrics()
        assert metrics.value("smg_worker_cb_consecutive_failures") == 0


async def test_a02_client_leaves_a_call_that_does_not_stream():
    async with scene("--retry-max-retries", "5", "--max-concurrent-requests", "1", "--queue-size", "0",
                     workers=2) as row:
        watcher = Watcher("nothing")
        for w in row.workers:
            w.handler = watcher
        async with row.open() as client:
            await asyncio.wait_for(watcher.arrived.wait(), 5)
            client.reset()
            assert await watcher.took(time.monotonic()) < 1
        await row.at_rest()
        assert len(row.requests) == 1
        assert (await row.g.metrics()).value("smg_worker_cb_consecutive_failures") == 0


@PATHS
@pytest.mark.parametrize("body", [BODY, BODYS], ids=["whole", "stream"])
async def test_a19_half_close_behind_the_request_is_leaving(path, body):
    """Ruling 1 wins over the row: the worker is cancelled at once, and nothing is answered."""
    async with scene(*path) as row:
        row.w.handler = watcher = Watcher("nothing")
        async with row.open(body, headers=[("Connection", "close")]) as client:
            await asyncio.wait_for(watcher.arrived.wait(), 5)
            client.writer.write_eof()
            assert await watcher.took(time.monotonic()) < 1
            assert await asyncio.wait_for(client.reader.read(), 5) == b""
        assert len(row.requests) == 1


@PATHS
async def test_a19_half_close_within_the_body(path):
    async with scene(*path) as row:
        async with Upload(row.g.port) as up:
            await up.post(CHAT, len(BODY))
            await up.send(BODY[:30])
            if path is STREAMED:
                await eventually(lambda: row.w.seen and row.w.seen[0].body == BODY[:30])
            up.half_close()
            # An error may be told to the half that is still open, never a success.
            answer = await asyncio.wait_for(up.reader.read(), 5)
            assert not answer or answer.startswith(b"HTTP/1.1 400")
        if path is STREAMED:
            await eventually(lambda: row.w.seen[0].aborted)
        assert len(row.w.seen) == (1 if path is STREAMED else 0)


# A38 -----------------------------------------------------------------------------


async def as_told(ex: Exchange) -> None:
    """Does what the request's `user` says."""
    how = json.loads(await ex.read_body()).get("user", "")
    if how == "reset":
        return await ex.abort()
    if how == "stream":
        await ex.start(200, SSE)
        await ex.write(delta_event("a").encode())
    if how in ("stream", "hold"):
        return await ex.gone()
    await ex.reply_json(chat_answer())


def told(how: str) -> bytes:
    return json.dumps(chat(user=how, stream=how == "stream")).encode()


@contextlib.asynccontextmanager
async def two_permits(row: Scene, how: str):
    """Both permits are taken, and the third request is refused."""
    async def taken() -> bool:
        return (await row.g.metrics()).value("smg_admission_inflight") == 2

    async with row.open(told(how)), row.open(told(how)):
        await eventually(taken)
        yield
    await row.at_rest()


async def test_a38_the_cap_counts_running_streams():
    async def timed(ex):
        await ex.read_body()
        await ex.start(200, SSE)
        for _ in range(3):
            await ex.write(delta_event("a").encode())
            await asyncio.sleep(0.5)
        await ex.write(DONE)
        await ex.end()

    async with scene("--max-concurrent-requests", "2", "--queue-size", "0", handler=timed) as row:
        streams = [asyncio.create_task(row.post(BODYS)) for _ in range(2)]
        await eventually(lambda: len(row.w.seen) == 2)
        for _ in range(3):
            await asyncio.sleep(0.4)
            assert (await row.post()).status == 429
        for answer in await asyncio.gather(*streams):
            assert answer.status == 200 and answer.complete and answer.body.endswith(DONE)
        assert (await row.post(BODYS)).status == 200
        assert len(row.w.seen) == 3


async def test_a38_no_round_loses_or_makes_a_permit():
    async with scene("--max-concurrent-requests", "2", "--queue-size", "0", "--disable-retries",
                     "--disable-circuit-breaker", "--request-timeout-secs", "1", handler=as_told) as row:
        timeouts = asyncio.gather(*(row.post(told("hold")) for _ in range(2)))
        assert [a.status for a in await timeouts] == [504, 504]
        for turn in range(60):
            async with row.open(told("hold")) as client:
                if turn % 2:
                    client.reset()
            await row_has_room(row)
            async with row.open(told("stream")) as client:
                await client.head()
                if turn % 2:
                    client.reset()
            await row_has_room(row)
            assert (await row.post(told("reset"))).status == 502
        await row.w.close()
        for _ in range(20):
            assert (await row.post(told("refused"))).status == 502
        await row.w.open()
        async with two_permits(row, "hold"):
            assert (await row.post()).status == 429


async def row_has_room(row: Scene) -> None:
    async def none() -> bool:
        return (await row.g.metrics()).value("smg_admission_inflight") == 0
    await eventually(none)


async def test_a38_a_client_leaves_while_queued():
    async with scene("--max-concurrent-requests", "2", "--queue-size", "1", "--queue-timeout-secs", "1",
                     handler=as_told) as row:
        async def depth(count: int) -> None:
            async def so_deep() -> bool:
                return (await row.g.metrics()).value("smg_admission_queue_depth") == count
            await eventually(so_deep, 2)

        async with two_permits(row, "stream"):
            for _ in range(3):
                async with row.open():
                    await depth(1)
                    assert (await row.post()).status == 429
                await depth(0)
            # The place in the queue is free again: who takes it waits for its own time.
            assert (await row.post()).status == 503
        assert len(row.w.seen) == 2
