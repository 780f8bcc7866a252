"""Rows A35, A36 and A37 of the scenarios: many requests at once, no descriptors, and clients that do not read."""

import os
import resource
import statistics
import time

import pytest

from conformance.wire import H2Client
from scenario import *


@pytest.fixture
def many_descriptors():
    """The laboratory's own ends of many connections."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(65536, before[1]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


class Gathering(Logged):
    """Answers nobody before it has the whole crowd."""

    def __init__(self, crowd: int, **options) -> None:
        super().__init__(handler=self.gather, **options)
        self.crowd, self.here, self.all_here = crowd, 0, asyncio.Event()

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, HOST, self.port, limit=1 << 20, backlog=4096)

    async def gather(self, ex: Exchange) -> None:
        await ex.read_body()
        self.here += 1
        if self.here == self.crowd:
            self.all_here.set()
        await self.all_here.wait()
        await ex.reply_json(chat_answer())


@WIRES
@pytest.mark.parametrize("crowd", [101, 300, 2048])
async def test_a35_no_hidden_ceiling(many_descriptors, crowd, http2):
    """The laboratory's HTTP/2 worker allows 100 streams on a connection."""
    worker = Gathering(crowd, http2=http2)
    flags = ("--upstream-http2",) if http2 else ()
    async with scene(*flags, "--disable-health-check", "--disable-load-monitoring", workers=[worker]) as row:
        answers = await asyncio.wait_for(asyncio.gather(*(row.post() for _ in range(crowd))), 40)
        assert [a.status for a in answers] == [200] * crowd
        assert worker.here == crowd
        assert await row.breakers() == [0]
        assert (await row.g.metrics()).value("smg_worker_cb_consecutive_failures") == 0


# A36 -----------------------------------------------------------------------------


class Cramped(Launched):
    """`smg launch` under a small limit on descriptors, with a probe port."""

    def __init__(self, *flags: str, **options) -> None:
        self.probe_port = free_port()
        super().__init__("--health-check-port", self.probe_port, *flags, **options)

    def argv(self) -> list[str]:
        return ["prlimit", "--nofile=256:256", *super().argv()]

    def cpu_seconds(self) -> float:
        with open(f"/proc/{self.process.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def test_a36_probes_answer_and_streams_go_on():
    """The crowd is held for 2 s instead of 30."""
    gate = asyncio.Event()

    async def stream(ex):
        await ex.read_body()
        await ex.start(200, SSE)
        await ex.write(delta_event("a").encode())
        await gate.wait()
        await ex.write(DONE)
        await ex.end()

    async with scene(gateway=Cramped, handler=stream) as row, contextlib.AsyncExitStack() as stack:
        g = row.g
        streams = [asyncio.create_task(row.post(BODYS)) for _ in range(20)]
        await eventually(lambda: len(row.w.seen) == 20)
        crowd = [await stack.enter_async_context(Client(g.port)) for _ in range(400)]
        await eventually(lambda: "out of file descriptors" in g.log)

        before = g.cpu_seconds()
        for _ in range(20):
            for path in ("/liveness", "/readiness", "/health"):
                answer = await asyncio.wait_for(request(g.probe_port, "GET", path), 2)
                assert answer.status == 200
            assert (await g.metrics()).value("smg_worker_requests_active") == 20
            await asyncio.sleep(0.1)
        assert g.cpu_seconds() - before < 0.5
        assert g.log.count("out of file descriptors") == 1

        # The earliest of the crowd is connected; for its request no descriptor is left.
        await crowd[0].send_head("POST", CHAT, [("Content-Type", "application/json"),
                                                ("Content-Length", str(len(BODY)))], BODY)
        answer = await asyncio.wait_for(crowd[0].response(), 5)
        assert (answer.status, answer.error_code) == (503, "local_resources_exhausted")
        assert (await g.metrics()).value("smg_worker_cb_consecutive_failures") == 0

        for client in crowd[:300]:
            client.reset()
        assert (await asyncio.wait_for(g.get("/health"), 2)).status == 200
        gate.set()
        for answer in await asyncio.gather(*streams):
            assert answer.complete and answer.events()[-1] == "[DONE]"
        assert len(row.w.seen) == 20


# A37 -----------------------------------------------------------------------------

DEAF = 24


@pytest.mark.memory
@WIRES
@pytest.mark.parametrize("client_speaks", ["h1", "h2"])
async def test_a37_deaf_clients_fill_no_memory(http2, client_speaks):
    """24 clients instead of 100, of which each is offered 200 MiB. What they have cost serves the next ones:
    the allocator need not have given all of it back to the system."""
    event = delta_event("x" * 16384).encode()
    written: dict[object, int] = {}
    normal = json.dumps(chat("normal", stream=True)).encode()

    async def push(ex: Exchange) -> None:
        if await ex.read_body() == normal:
            return await ex.sse([delta_event("a"), DONE])
        await ex.start(200, SSE)
        me = object()
        written[me] = 0
        while written.get(me, 0) < 200 * MIB:
            await ex.write(event)
            written[me] = written.get(me, 0) + len(event)

    async def at_rest() -> int:
        total = -1
        while total != (total := sum(written.values())) or len(written) < DEAF:
            await asyncio.sleep(0.3)
        return total

    async with scene(*BUFFERED, http2=http2, handler=push) as row:
        async def chatting() -> float:
            times = []
            for _ in range(20):
                started = time.monotonic()
                answer = await row.post(normal)
                times.append(time.monotonic() - started)
                assert answer.status == 200 and answer.complete
            return statistics.median(times)

        await chatting()
        quiet, rss = await chatting(), row.g.rss_bytes()
        for _ in range(2):
            written.clear()
            async with contextlib.AsyncExitStack() as stack:
                if client_speaks == "h1":
                    for _ in range(DEAF):
                        client = await stack.enter_async_context(row.open(BODYS))
                        client.writer.transport.pause_reading()
                else:
                    await stack.enter_async_context(deaf_streams(row))
                total = await asyncio.wait_for(at_rest(), 30)
                # The worker is held back, all of them are, and nobody else is.
                assert total < DEAF * 20 * MIB
                grown = row.g.rss_bytes() - rss
                assert grown < DEAF * MIB, grown
                assert await chatting() < quiet + 0.05
            await row.at_rest()
            await eventually(lambda: not row.w.open_connections or http2)
        left = row.g.rss_bytes() - rss
        assert left < max(16 * MIB, grown / 2), left


@contextlib.asynccontextmanager
async def deaf_streams(row: Scene):
    """Streams of one HTTP/2 connection that give back no window."""
    async with H2Client(row.g.port) as client:
        client.conn.acknowledge_received_data = lambda *_: None
        for _ in range(DEAF):
            await client.send("POST", CHAT, BODYS, [("content-type", "application/json"),
                                                    ("content-length", str(len(BODYS)))])
        yield
