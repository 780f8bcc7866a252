"""The client leaves: in each phase of a request, whichever way its body goes and whatever both sides speak,
the worker sees it at once and nothing is left behind."""

import asyncio
import contextlib
import select
import socket
import time

import pytest

from binary import *
from conformance.wire import H2Client, Stage

AT_ONCE = 0.1
# A busy machine may be late; a gateway that notices by chance, or at some interval, is late each time.
TRIES = 4
CHAT, RERANK = "/v1/chat/completions", "/v1/rerank"
BUFFERED_UP_TO = 64 * 1024
LARGE = 8 << 20


class LabWorker(Worker):
    """A worker that does as the running case says, and notes when it saw the client's leaving."""

    def __init__(self, protocol: str) -> None:
        super().__init__(http1=protocol == "h1", http2=protocol == "h2")
        self.sockets: list[socket.socket] = []

    async def _serve(self, reader, writer) -> None:
        connected = writer.get_extra_info("socket")
        # Of a fixed size: one that grows with its connection might take all that a test sends.
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
        self.sockets.append(connected)
        await super()._serve(reader, writer)

    async def end_seen(self, ex: Exchange) -> None:
        """Wait for the exchange's end without reading what comes before it."""
        if ex.seen.http2:
            await ex.gone()
            # The connection goes on, and its window with it.
            while not ex.pieces.empty():
                if piece := ex.pieces.get_nowait():
                    ex.session.conn.increment_flow_control_window(len(piece))
            return await ex.session.flush()
        poll = select.poll()
        poll.register(self.sockets[ex.seen.connection - 1], select.POLLRDHUP)
        while not poll.poll(0):
            await asyncio.sleep(0.002)


class Case:
    """One request whose client leaves: the phase says when, and what the worker does until then."""

    path = CHAT
    reaches_worker = True
    answer_read = False  # the client waits for the answer's beginning
    size = 1000
    whole = True  # the client sends its whole body
    streams = False  # the client asks for a stream

    def __init__(self, streamed: bool) -> None:
        self.streamed = streamed
        if streamed:
            self.size = max(self.size, 2 * BUFFERED_UP_TO)
        self.arrived = asyncio.Event()  # the request is in its phase
        self.cancelled_at = asyncio.get_running_loop().create_future()

    def body(self) -> bytes:
        if self.path == RERANK:
            bare = {"model": "m", "query": "q", "documents": [""]}
            bare["documents"] = ["x" * (self.size - len(json.dumps(bare)))]
            return json.dumps(bare).encode()
        return big_chat(self.size, stream=self.streams)

    async def handle(self, worker: LabWorker, ex: Exchange) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await self.work(worker, ex)
        if not self.cancelled_at.done():
            self.cancelled_at.set_result(time.monotonic())
        raise ConnectionResetError

    async def work(self, worker: LabWorker, ex: Exchange) -> None:
        raise NotImplementedError

    async def client_is_ready(self, client) -> None:
        await self.arrived.wait()


class Uploading(Case):
    """The worker reads as fast as the client sends, which stops in the middle."""

    whole = False

    async def work(self, worker, ex):
        await ex.read_some()
        self.arrived.set()
        await ex.read_body()


class Collecting(Case):
    """A buffered body is not whole yet: no worker has the request."""

    whole = False
    reaches_worker = False

    async def client_is_ready(self, client):
        await asyncio.sleep(0.05)


class HeldBack(Case):
    """The worker takes no more of the body, and has not answered."""

    size = LARGE

    @property
    def path(self) -> str:
        return CHAT if self.streamed else RERANK

    async def work(self, worker, ex):
        self.arrived.set()
        await worker.end_seen(ex)

    async def client_is_ready(self, client):
        await self.arrived.wait()
        await client.until_held_back(whole=not self.streamed)


class WaitingForHead(Case):
    async def work(self, worker, ex):
        await ex.read_body()
        self.arrived.set()
        await ex.gone()


class WaitingForBody(Case):
    """The answer's head has come, but not all of its body, which the gateway reads whole."""

    async def work(self, worker, ex):
        await ex.read_body()
        await ex.start(200, [("Content-Type", "application/json"), ("Content-Length", "1000")])
        await ex.write(b'{"half":')
        self.arrived.set()
        await ex.gone()


class MidStream(Case):
    streams = answer_read = True

    async def work(self, worker, ex):
        await ex.read_body()
        await ex.start(200, [("Content-Type", "text/event-stream")])
        await ex.write(delta_event("one").encode())
        self.arrived.set()
        await ex.gone()


class DeafClient(Case):
    """The client does not read its stream, so that the worker is held back."""

    streams = True

    async def work(self, worker, ex):
        await ex.read_body()
        await ex.start(200, [("Content-Type", "text/event-stream")])
        ending = asyncio.create_task(worker.end_seen(ex))
        with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
            while not ending.done():
                await asyncio.wait_for(ex.write(delta_event("x" * 16384).encode()), 0.3)
        if not ending.done():
            self.arrived.set()
        await ending


class BackingOff(Case):
    """The worker refused, and the gateway waits before it tries again."""

    attempts = 0

    async def handle(self, worker, ex):
        await ex.read_body()
        self.attempts += 1
        await ex.reply_json({"error": "busy"}, 503)
        self.arrived.set()

    async def client_is_ready(self, client):
        await self.arrived.wait()
        await asyncio.sleep(0.05)


class Connecting(Case):
    """The worker's host does not answer the connect."""

    async def client_is_ready(self, client):
        await asyncio.sleep(0.1)


PHASES = [Uploading, Collecting, HeldBack, WaitingForHead, WaitingForBody, MidStream, DeafClient, BackingOff,
          Connecting]
WAYS = [(phase, streamed) for phase in PHASES for streamed in (False, True)
        # What a path does not have.
        if (phase, streamed) not in ((Uploading, False), (Collecting, True), (BackingOff, True))]


# Clients -------------------------------------------------------------------------


def unread_by(port: int, peer: int) -> int:
    """Bytes that have arrived at the socket of `port` connected with `peer`, and are not read."""
    with open("/proc/net/tcp") as table:
        for row in list(table)[1:]:
            _, local, remote, _, queues, *_ = row.split()
            if (int(local[-4:], 16), int(remote[-4:], 16)) == (port, peer):
                return int(queues.split(":")[1], 16)
    return 0


class H1Leaver(Client):
    async def ask(self, case: Case) -> None:
        body = case.body()
        small = self.writer.get_extra_info("socket")
        small.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        self.local_port = small.getsockname()[1]
        await self.send_head("POST", case.path, [("Content-Type", "application/json"),
                                                 ("Content-Length", str(len(body)))])
        self._rest = body if case.whole else body[:len(body) // 2]
        self._sender = asyncio.create_task(self._feed(case.streamed))

    async def _feed(self, may_stop: bool) -> None:
        """No more than a gateway that may stop reading takes: an end behind that would not get to it."""
        with contextlib.suppress(ConnectionError):
            while self._rest:
                while may_stop and unread_by(self.port, self.local_port) > 0:
                    await asyncio.sleep(0.001)
                piece, self._rest = self._rest[:1 << 15], self._rest[1 << 15:]
                await self.send(piece)

    async def until_held_back(self, whole: bool) -> None:
        if whole:
            await self._sender
            return await asyncio.sleep(0.1)
        since = time.monotonic()
        while time.monotonic() - since < 0.2:
            if not unread_by(self.port, self.local_port):
                since = time.monotonic()
            await asyncio.sleep(0.01)

    async def answer_begun(self) -> None:
        assert (await self.head()).status == 200
        assert await self.reader.read(1)

    async def leave(self) -> None:
        self._sender.cancel()
        self.writer.close()


class H2Leaver(H2Client):
    async def ask(self, case: Case) -> None:
        body = case.body()
        self.stream = await self.send("POST", case.path, headers=[
            ("content-type", "application/json"), ("content-length", str(len(body)))], end=False)
        self._sender = asyncio.create_task(
            self.send_data(self.stream, body if case.whole else body[:len(body) // 2], end=case.whole))

    async def until_held_back(self, whole: bool) -> None:
        if whole:
            await self._sender
        else:
            before = None
            while before != (before := self.conn.local_flow_control_window(self.stream)) or before > 0:
                await asyncio.sleep(0.2)
        await asyncio.sleep(0.1)

    async def answer_begun(self) -> None:
        await eventually(lambda: self.stream in self.responses and self.responses[self.stream].body)

    async def leave(self) -> None:
        self._sender.cancel()
        self.conn.reset_stream(self.stream, 8)
        await self.flush()


class DeafH2Leaver(H2Leaver):
    """Gives back no window."""

    async def _read(self) -> None:
        self.conn.acknowledge_received_data = lambda *_: None
        await super()._read()


# The stage -----------------------------------------------------------------------


class Scene(Stage):
    def __init__(self, protocol: str) -> None:
        flags = ["--upstream-http2", "--max-buffered-request-bytes", str(BUFFERED_UP_TO),
                 "--max-concurrent-requests", "16", "--disable-circuit-breaker", "--disable-load-monitoring",
                 "--disable-health-check", "--retry-initial-backoff-ms", "3000", "--retry-jitter-factor", "0"]
        super().__init__(*flags, workers=[LabWorker(protocol)])

    async def play(self, case: Case, client_speaks: str) -> float | None:
        """How long after the client's leaving the worker saw it; None if it has nothing to see."""
        [worker] = self.workers
        worker.handler = lambda ex: case.handle(worker, ex)
        seen_before = len(worker.seen)
        deaf = isinstance(case, DeafClient)
        kind = H1Leaver if client_speaks == "h1" else DeafH2Leaver if deaf else H2Leaver
        async with kind(self.gateway.port) as client:
            await client.ask(case)
            await asyncio.wait_for(case.client_is_ready(client), 60)
            if case.answer_read:
                await client.answer_begun()
            left_at = time.monotonic()
            await client.leave()
            took = None
            if case.reaches_worker and not isinstance(case, (BackingOff, Connecting)):
                took = await asyncio.wait_for(case.cancelled_at, 10) - left_at
            await self.nothing_left(client_speaks)
            if took is None:
                took = time.monotonic() - left_at
        expected = 1 if case.reaches_worker and not isinstance(case, Connecting) else 0
        assert len(worker.seen) - seen_before == expected
        return took

    async def nothing_left(self, client_speaks: str) -> None:
        async def at_rest() -> bool:
            metrics = await self.gateway.metrics()
            [worker] = await self.gateway.worker_list()
            # The list itself is not in service any more when the metrics are asked for.
            return (worker["load"] == 0 and metrics.value("smg_worker_requests_active") == 0
                    and metrics.value("smg_http_connections_active") == 0
                    and metrics.value("smg_admission_inflight") == 0
                    and metrics.value("smg_upstream_connections", state="in_use") == 0)

        await eventually(at_rest, 10)


@pytest.fixture(scope="module", params=["h1", "h2"])
def scene(request):
    with Scene(request.param) as scene:
        yield scene


@contextlib.asynccontextmanager
async def unreachable(worker: LabWorker):
    """The worker's port listens, but has no place for one more connection."""
    await worker.close()
    await asyncio.sleep(0.1)
    fillers = []
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, worker.port))
        listening.listen(0)
        try:
            for _ in range(3):
                fillers.append(socket.socket())
                fillers[-1].setblocking(False)
                fillers[-1].connect_ex((HOST, worker.port))
            await asyncio.sleep(0.05)
            yield
        finally:
            for filler in fillers:
                filler.close()
    worker.sockets.clear()
    worker.connections = 0
    await worker.open()


def connecting_to(port: int) -> int:
    """Connects that are under way to a port."""
    with open("/proc/net/tcp") as table:
        rows = [row.split() for row in list(table)[1:]]
    return sum(1 for _, _, remote, state, *_ in rows if int(remote[-4:], 16) == port and state == "02")


@pytest.mark.parametrize("client_speaks", ["h1", "h2"])
@pytest.mark.parametrize("phase,streamed", WAYS,
                         ids=[f"{phase.__name__}-{'streamed' if s else 'buffered'}" for phase, s in WAYS])
def test_client_leaves(scene, phase, streamed, client_speaks):
    async def play() -> float:
        if phase is not Connecting:
            return await scene.play(phase(streamed), client_speaks)
        [worker] = scene.workers
        async with unreachable(worker):
            before = connecting_to(worker.port)
            took = await scene.play(phase(streamed), client_speaks)
            await eventually(lambda: connecting_to(worker.port) == before, 2)
            return took

    slow = []
    for _ in range(TRIES):
        took = scene.run(play())
        if took <= AT_ONCE:
            return
        slow.append(round(took, 3))
    raise AssertionError(f"seen after {slow} s")
