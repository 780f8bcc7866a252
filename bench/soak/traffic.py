"""The clients: each plays one scene after the other, drawn from a generator of its own, and judges what it gets."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import random
import time

import h2.exceptions
from clients import *

PATIENCE = 240.0
MIB = 1 << 20

# The statuses of scripts that do not end with 200.
STATUSES = {"error": {500}, "early": {400}, "reset": {502}, "drop": {502}, "garble": {502}, "short": {502},
            "flaky": {200, 503}}

BAD = ["close", "hangup", "flaky", "error", "early", "cut", "short", "reset", "drop", "garble"]

MALFORMED = [
    b"no such protocol\r\n\r\n",
    b"GET /health HTTP/1.1\r\n\r\n",
    b"GET /health HTTP/3.0\r\nHost: x\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\nBad Name: 1\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\nLong: " + b"x" * (2 * MIB) + b"\r\n\r\n",
    b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n",
    b"DELETE /v1/chat/completions HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999\r\n\r\n",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Length: 9\r\n\r\n{\"model\":",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 64,
]


class Windows:
    """Times in which something happens to workers that may fail the requests of then."""

    def __init__(self) -> None:
        self.open = 0
        self.last_end = 0.0
        self.spent = 0.0  # seconds, each window by itself

    @contextlib.contextmanager
    def one(self):
        since = time.monotonic()
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1
            self.last_end = time.monotonic()
            self.spent += self.last_end - since

    def touch(self, since: float) -> bool:
        """Whether any of them was open at some time from then on."""
        return self.open > 0 or self.last_end > since


class Tally:
    """What came of all requests, and what may have failed them."""

    def __init__(self) -> None:
        self.deaths = Windows()  # a worker is away
        self.hangups = Windows()  # a connection to a worker ends without notice
        self.counts: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        self.wrong: list[str] = []
        self.bytes = 0

    def note(self, scene: str, result: str, detail: str = "") -> None:
        self.counts[scene][result] += 1
        if result == "wrong":
            self.wrong.append(f"{time.strftime('%H:%M:%S')} {scene}: {detail}")

    @property
    def total(self) -> int:
        return sum(sum(counts.values()) for counts in self.counts.values())


class Actor:
    def __init__(self, port: int, seed: str, tally: Tally) -> None:
        self.port, self.tally = port, tally
        self.rng = random.Random(seed)
        self.scene = ""
        self.pending: list[Ask] = []

    async def perform(self, until: asyncio.Event) -> None:
        names, weights = list(SCENES), list(SCENES.values())
        while not until.is_set():
            await self.play(self.rng.choices(names, weights)[0])

    async def play(self, scene: str, *arguments) -> None:
        self.scene = scene
        self.pending.clear()
        try:
            await asyncio.wait_for(getattr(self, scene)(*arguments), PATIENCE)
        except TimeoutError:
            self.tally.note(scene, "wrong", f"no end within {PATIENCE:.0f} s of {self.pending}")
        except Exception as error:  # whatever it is, the others go on
            self.tally.note(scene, "wrong", repr(error))
            await asyncio.sleep(1)

    # What is asked -------------------------------------------------------------------------

    def seed(self) -> int:
        return self.rng.randrange(1 << 20)

    def between(self, least: int, most: int) -> int:
        """Small sizes as often as large ones."""
        return int(least * (most / least) ** self.rng.random())

    def simple(self, most: int = 64 << 10) -> Ask:
        return Ask(Script(seed=self.seed(), size=self.between(50, most)), self.between(150, most),
                   chunked=self.rng.random() < 0.2)

    def stream(self, do: str = "stream", size: int = 200) -> Ask:
        kind = self.rng.choice(["fast", "steady", "slow", "big"])
        events, delay, most = {"fast": (self.between(5, 300), 0.0, 2000), "steady": (self.between(10, 60), 0.01, 500),
                               "slow": (self.between(3, 8), 0.4, 300), "big": (self.between(50, 250), 0.0, 16384)}[kind]
        return Ask(Script(do, self.seed(), most, events, delay), size, chunked=self.rng.random() < 0.2)

    # What came of it -----------------------------------------------------------------------

    def judge(self, ask: Ask, body: bytes, answer: Answer, since: float) -> None:
        self.pending.remove(ask)
        self.tally.bytes += len(body) + len(answer.body)
        script, expected = ask.script, ask.expected(body)
        provoked = script.do in STATUSES or script.do == "cut"
        got = f"{ask!r} got {answer.status} {answer.code or ''} {len(answer.body)} bytes" + (
            "" if answer.complete else ", cut off")
        known = answer.body == expected if answer.complete else expected.startswith(answer.body)
        if answer.status and not answer.code and not known:
            return self.tally.note(self.scene, "wrong", f"{got}, not those that the worker sent")
        if answer.status in STATUSES.get(script.do, {200}) and answer.complete == (script.do != "cut"):
            return self.tally.note(self.scene, "provoked" if provoked else "ok")
        # A body that is kept is sent again; what has reached the client is not.
        cut = script.streams and answer.status == 200 and not answer.complete
        failed = (ask.streamed or provoked) and answer.status >= 500
        if self.tally.deaths.touch(since) and (cut or failed) or self.tally.hangups.touch(since) and failed:
            return self.tally.note(self.scene, "excused")
        self.tally.note(self.scene, "wrong", f"{got} after {time.monotonic() - since:.1f} s")

    def begin(self, ask: Ask) -> tuple[bytes, float]:
        """The body, and the time."""
        self.pending.append(ask)
        return ask.body, time.monotonic()

    async def one(self, ask: Ask) -> None:
        async with Upload(self.port) as upload:
            body, since = self.begin(ask)
            self.judge(ask, body, await exchange(upload, ask, body), since)

    # Scenes: answers ------------------------------------------------------------------------

    async def chats(self) -> None:
        """Requests one after the other on a connection that is kept."""
        async with contextlib.AsyncExitStack() as stack:
            upload = None
            for _ in range(self.rng.randrange(1, 12)):
                upload = upload or await stack.enter_async_context(Upload(self.port))
                ask = self.simple()
                body, since = self.begin(ask)
                answer = await exchange(upload, ask, body)
                self.judge(ask, body, answer, since)
                if not answer.reusable:
                    await stack.aclose()
                    upload = None
                elif self.rng.random() < 0.2:
                    await asyncio.sleep(self.rng.random())

    async def pipeline(self) -> None:
        """Several requests at once on one connection: their answers come in their order."""
        asks = [self.simple(2000) for _ in range(self.rng.randrange(2, 6))]
        async with Upload(self.port) as upload:
            since = time.monotonic()
            bodies = [self.begin(ask)[0] for ask in asks]
            await upload.send(b"".join(
                ask.head(body) + (b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if ask.chunked else body)
                for ask, body in zip(asks, bodies)))
            for ask, body in zip(asks, bodies):
                self.judge(ask, body, await receive(upload), since)

    async def big_answer(self) -> None:
        await self.one(Ask(Script(seed=self.seed(), size=self.between(1 << 16, 4 * MIB))))

    async def sse(self) -> None:
        await self.one(self.stream())

    async def h2(self) -> None:
        """Many streams on one connection."""
        async with H2Client(self.port) as client:
            for _ in range(self.rng.randrange(1, 4)):
                asks = [self.rng.choice([self.simple, self.stream, self.stream, self.an_upload])()
                        for _ in range(self.rng.randrange(2, 9))]
                await asyncio.gather(*(self.h2_one(client, ask) for ask in asks))

    async def h2_one(self, client: H2Client, ask: Ask) -> None:
        body, since = self.begin(ask)
        self.judge(ask, body, await h2_exchange(client, ask, body), since)

    # Scenes: uploads ------------------------------------------------------------------------

    def an_upload(self, **script) -> Ask:
        """As often streamed as buffered."""
        size = self.between(*self.rng.choice([(2000, MIB), (MIB + 1, 6 * MIB)]))
        do = script.pop("do", self.rng.choice(["answer", "answer", "stream"]))
        events = 20 if do == "stream" else 0
        return Ask(Script(do, self.seed(), events=events, **script), size, chunked=self.rng.random() < 0.4)

    async def upload(self) -> None:
        await self.one(self.an_upload())

    async def slow_upload(self) -> None:
        ask = self.an_upload()
        steps = self.rng.randrange(5, 30)
        await self.one(Ask(ask.script, ask.size, ask.chunked, pause=self.rng.uniform(0.01, 0.2),
                           piece=max(1, ask.size // steps)))

    async def slow_worker(self) -> None:
        """An upload that a worker reads with pauses."""
        await self.one(self.an_upload(reading=self.rng.uniform(0.001, 0.01)))

    # Scenes: failing and leaving --------------------------------------------------------------

    async def bad_worker(self, do: str | None = None) -> None:
        do = do or self.rng.choice(BAD)
        if do == "cut":
            ask = self.stream(do)
        else:
            size = self.an_upload().size if do != "hangup" else 200
            ask = Ask(Script(do, self.seed(), 2000), size, chunked=self.rng.random() < 0.3)
        # The next streamed body may meet the end of the connection that a hangup leaves behind.
        with self.tally.hangups.one() if do == "hangup" else contextlib.nullcontext():
            if self.rng.random() < 0.3:
                async with H2Client(self.port) as client:
                    await self.h2_one(client, ask)
            else:
                await self.one(ask)
            await asyncio.sleep(0.2)

    async def leave(self) -> None:
        """A client that goes away in one of the phases of a request, politely or with a reset."""
        async with Upload(self.port) as upload:
            phase = self.rng.choice(["idle", "head", "body", "body", "waiting", "stream", "stream"])
            if phase in ("idle", "head", "body"):
                ask = self.an_upload()
                body = ask.body
                head = ask.head(body)
                whole = head + (b"%x\r\n%s\r\n" % (len(body), body) if ask.chunked else body)
                end = {"idle": 0, "head": self.rng.randrange(1, len(head)),
                       "body": self.rng.randrange(len(head), len(whole))}[phase]
                await upload.send(whole[:end])
                await asyncio.sleep(self.rng.choice([0, self.rng.random() * 0.5]))
            elif phase == "waiting":
                ask = Ask(Script("hang"), self.rng.choice([200, 2 * MIB]))
                await send(upload, ask, ask.body)
                await asyncio.sleep(self.rng.choice([0, self.rng.random()]))
            else:
                ask = self.stream(size=self.rng.choice([200, 2 * MIB]))
                await send(upload, ask, ask.body)
                with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                    await upload.reader.readexactly(self.rng.randrange(1, len(ask.expected(b""))))
            if self.rng.random() < 0.5:
                upload.reset()
        self.tally.note(f"leave: {phase}", "left")

    async def h2_leave(self) -> None:
        """The same with streams, of which others go on, or with the whole connection."""
        async with H2Client(self.port) as client:
            staying = [asyncio.create_task(self.h2_one(client, self.stream())) for _ in range(2)]
            with contextlib.suppress(h2.exceptions.ProtocolError, ConnectionError):
                for _ in range(self.rng.randrange(1, 6)):
                    ask = self.rng.choice([Ask(Script("hang")), self.stream(), self.an_upload()])
                    body = ask.body
                    stream = await h2_open(client, ask, body)
                    share = body[:self.rng.choice([0, len(body) // 2, len(body)])][:50000]
                    await client.send_data(stream, share, end=len(share) == len(body))
                    await asyncio.sleep(self.rng.random() * 0.3)
                    if not client.done[stream].is_set():
                        client.conn.reset_stream(stream, 8)
                        await client.flush()
                    self.tally.note("leave: h2 stream", "left")
            if self.rng.random() < 0.3:
                for task in staying:
                    task.cancel()
                self.tally.note("leave: h2 connection", "left")
            await asyncio.gather(*staying, return_exceptions=True)

    async def deaf(self) -> None:
        """A client that reads nothing for a while, and then all of it or nothing more."""
        ask = Ask(Script("stream", self.seed(), 16384, self.between(60, 250)))
        body, since = self.begin(ask)
        async with Client(self.port) as client:
            await client.send(ask.head(body) + body)
            client.writer.transport.pause_reading()
            await asyncio.sleep(self.rng.uniform(0.5, 4))
            if self.rng.random() < 0.4:
                client.reset()
                return self.tally.note("leave: deaf", "left")
            client.writer.transport.resume_reading()
            self.judge(ask, body, await receive(client), since)

    async def malformed(self, data: bytes | None = None) -> None:
        data = data or self.rng.choice(MALFORMED)
        async with Upload(self.port) as upload:
            await upload.send(data)
            with contextlib.suppress(ConnectionError, TimeoutError):
                first = await asyncio.wait_for(upload.reader.read(PIECE), 1)
                good = not first.startswith(b"HTTP/1.1") or first[9:12] in (b"501", b"505") or first[9:10] == b"4"
                self.tally.note("malformed", "ok" if good else "wrong", f"{data[:80]!r} got {first[:80]!r}")


SCENES = {"chats": 20, "pipeline": 6, "big_answer": 4, "sse": 20, "h2": 8, "upload": 12, "slow_upload": 5,
          "slow_worker": 4, "bad_worker": 10, "leave": 14, "h2_leave": 5, "deaf": 4, "malformed": 6}


async def traffic(port: int, seed: str, actors: int, seconds: float, tally: Tally) -> None:
    """Lets so many actors play for so long, and waits until each has left."""
    until = asyncio.Event()
    running = [asyncio.create_task(Actor(port, f"{seed}/{i}", tally).perform(until)) for i in range(actors)]
    await asyncio.sleep(seconds)
    until.set()
    await asyncio.gather(*running)
