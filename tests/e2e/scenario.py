"""What the scenario rows share: workers that log every byte, a gateway before them, and what each row checks
at its end, whatever it is about: the gateway lives and serves the next request, nothing is in flight any more,
and no worker saw a byte that no client's request accounts for."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from binary import *

CHAT = "/v1/chat/completions"
BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
BODYS = BODY[:-1] + b',"stream":true}'
# The two ways of a body. A second attempt is what makes the first way the buffered one; it comes at once.
BUFFERED = ("--retry-max-retries", "2", "--retry-initial-backoff-ms", "1", "--retry-max-backoff-ms", "1")
STREAMED = ("--disable-retries",)
PATHS = pytest.mark.parametrize("path", [BUFFERED, STREAMED], ids=["buffered", "streamed"])
WIRES = pytest.mark.parametrize("http2", [False, True], ids=["h1", "h2"])
SSE = [("Content-Type", "text/event-stream")]
DONE = b"data: [DONE]\n\n"
MIB = 1 << 20

# request_path.md section 5, and the framing and connection fields of the gateway's own.
MAY_REACH_A_WORKER = {
    "host", "content-type", "accept", "content-length", "transfer-encoding", "connection", "authorization",
    "x-request-id", "x-correlation-id", "traceparent", "tracestate", "x-smg-routing-key", "anthropic-version",
    "anthropic-beta"}
PROBES = {"/health", "/v1/models", "/server_info", "/get_server_info", "/model_info", "/get_model_info", "/loads", "/v1/loads",
          "/metrics", "/version"}
ONCE = {"host", "content-type", "accept", "content-length", "transfer-encoding", "authorization"}


class Logged(Worker):
    """A worker that keeps each connection's bytes, in order of arrival."""

    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **options)
        self.logs: list[bytearray] = []

    async def _serve(self, reader, writer) -> None:
        log = bytearray(reader._buffer)
        self.logs.append(log)
        feed = reader.feed_data

        def tapped(data: bytes) -> None:
            log.extend(data)
            feed(data)

        reader.feed_data = tapped
        await super()._serve(reader, writer)


def stray(log: bytes, sent: set[bytes]) -> str | None:
    """What is wrong with a connection's bytes: they must be requests with bodies that clients have sent, the
    last one perhaps cut off."""
    rest = bytes(log)
    while rest:
        if rest.startswith(b"PRI * HTTP/2.0"):
            return None  # judged by what the worker understood
        head, found, rest = rest.partition(b"\r\n\r\n")
        if not found:
            return None
        line, *fields = head.decode("latin1").split("\r\n")
        if line.count(" ") != 2:
            return line
        method, target, version = line.split(" ")
        fields = [(name.lower(), value.strip()) for name, _, value in (f.partition(":") for f in fields)]
        if wrong := stray_fields(fields) or (version if version != "HTTP/1.1" else None):
            return f"{line}: {wrong}"
        body, whole, rest = unframed(rest, dict(fields))
        if body is None:
            return f"{line}: framing"
        if method == "GET" and target.split("?")[0] in PROBES:
            wrong = body
        elif target not in Worker.INFERENCE or method != "POST":
            wrong = line
        else:
            wrong = stray_body(body, whole, sent)
        if wrong:
            return f"{line}: {wrong[:200]!r}"
    return None


def stray_fields(fields: list[tuple[str, str]]) -> str | None:
    names = [name for name, _ in fields]
    for name in names:
        if name not in MAY_REACH_A_WORKER and not name.startswith("x-request-id-"):
            return f"field {name}"
        if name in ONCE and names.count(name) > 1:
            return f"field {name} more than once"
    if {"content-length", "transfer-encoding"} <= set(names):
        return "two framings"
    return None


def stray_body(body: bytes, whole: bool, sent: set[bytes]) -> bytes | None:
    known = body in sent if whole else any(one.startswith(body) for one in sent)
    return None if known else body or b"an empty body"


def unframed(rest: bytes, fields: dict[str, str]) -> tuple[bytes | None, bool, bytes]:
    """A body, whether it is whole, and what is behind it. None: its framing is broken."""
    if "transfer-encoding" not in fields:
        size = int(fields.get("content-length", "0"))
        return rest[:size], len(rest) >= size, rest[size:]
    body = b""
    while True:
        line, found, behind = rest.partition(b"\r\n")
        if not found:
            return body, False, b""
        try:
            size = int(line, 16)
        except ValueError:
            return None, False, b""
        body += behind[:size]
        end, rest = behind[size:size + 2], behind[size + 2:]
        if len(end) < 2:
            return body, False, b""
        if end != b"\r\n":
            return None, False, b""
        if size == 0:
            return body, True, rest


class Scene:
    """A gateway and its workers, for one row."""

    def __init__(self, gateway: Gateway, workers: list[Worker]) -> None:
        self.g, self.workers, self.w = gateway, workers, workers[0]
        self.sent = {BODY, BODYS}  # bodies that a worker may see
        self.headers: list[tuple[str, str]] = []  # what an ordinary request needs beside its body
        self.admin: list[tuple[str, str]] = []  # what a look at the workers needs

    @property
    def requests(self) -> list[Seen]:
        """What all workers have seen."""
        return [seen for w in self.workers for seen in w.seen]

    async def post(self, body: bytes = BODY, path: str = CHAT, **options) -> Response:
        """A request whose body a worker may see."""
        self.sent.add(body)
        return await asyncio.wait_for(self.g.post(path, body=body, **options), 15)

    @contextlib.asynccontextmanager
    async def open(self, body: bytes = BODY, path: str = CHAT, headers: list[tuple[str, str]] = ()):
        """A request whose answer is the caller's business."""
        self.sent.add(body)
        async with Client(self.g.port) as client:
            await client.send_head("POST", path, [("Content-Type", "application/json"),
                                                  ("Content-Length", str(len(body))), *headers], body)
            yield client

    async def talk(self, *pieces: bytes, pause: float = 0.0, patience: float = 5.0) -> bytes:
        """Everything the gateway answers to these bytes until it closes the connection, or is silent for
        `patience` seconds."""
        got = b""
        async with Client(self.g.port) as client:
            with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
                for i, piece in enumerate(pieces):
                    await asyncio.sleep(pause if i else 0)
                    await client.send(piece)
            with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
                while data := await asyncio.wait_for(client.reader.read(65536), patience):
                    got += data
        return got

    async def worker_facts(self) -> list[dict]:
        return (await self.g.get("/workers", headers=self.admin)).json()["workers"]

    async def breakers(self) -> list[float]:
        """The state of each worker's circuit breaker; 0 is closed."""
        metrics = await self.g.metrics()
        return [metrics.value("smg_worker_cb_state", worker=w.url) for w in self.workers]

    async def ready(self) -> None:
        """Wait for the workers of a gateway whose list of workers needs a key."""
        async def all_there() -> bool:
            return len([w for w in await self.worker_facts() if w["is_healthy"]]) == len(self.workers)

        await eventually(all_there, 10)

    async def at_rest(self) -> None:
        """Wait until nothing is in flight any more."""
        async def idle() -> bool:
            loads = [w["load"] for w in await self.worker_facts()]
            metrics = await self.g.metrics()
            busy = [metrics.value(name) for name in (
                "smg_worker_requests_active", "smg_http_connections_active", "smg_admission_inflight",
                "smg_admission_queue_depth")]
            return not any(loads + busy) and metrics.value("smg_upstream_connections", state="in_use") == 0

        await eventually(idle, 10)

    async def aftermath(self) -> None:
        """The four checks of every row."""
        assert self.g.process.returncode is None, self.g.log[-3000:]
        for w in self.workers:
            w.handler = w.default_handler
            if w._server is None:
                await w.open()
        answer = await self.post(headers=self.headers)
        assert answer.status == 200, (answer.status, answer.body)
        await self.at_rest()
        for w in self.workers:
            for log in w.logs:
                assert (wrong := stray(log, self.sent)) is None, wrong
            for seen in w.seen:
                if seen.http2:
                    wrong = stray_fields(seen.headers) or stray_body(seen.body, seen.body_complete, self.sent)
                    assert not wrong, wrong


@contextlib.asynccontextmanager
async def scene(*flags: str, handler: Handler | None = None, workers: int | list[Worker] = 1, http2: bool = False,
                gateway: type[Launched] = Launched, **options):
    """Workers with this handler, and a gateway; leaving the block makes the checks of every row."""
    fleet = [Logged(handler=handler, http2=http2) for _ in range(workers)] if isinstance(workers, int) else workers
    if http2:
        flags = ("--upstream-http2", *flags)
    async with contextlib.AsyncExitStack() as stack:
        for w in fleet:
            await stack.enter_async_context(w)
        g = await stack.enter_async_context(gateway(*flags, workers=fleet, **options))
        row = Scene(g, fleet)
        yield row
        await row.aftermath()


def reply(status: int = 200, body: bytes = b'{"a":1}', content_type: str = "application/json",
          headers: list[tuple[str, str]] = ()) -> Handler:
    """A worker that answers every request so."""
    async def handler(ex: Exchange) -> None:
        await ex.read_body()
        await ex.reply(status, body, content_type, headers)
    return handler


def raw(*parts: bytes | float, close: bool = True) -> Handler:
    """A worker that answers with exactly these bytes, pausing at numbers; `close` or not, and read the next
    request. HTTP/1.1 only."""
    async def handler(ex: Exchange) -> None:
        await ex.read_body()
        for part in parts:
            await (asyncio.sleep(part) if isinstance(part, float) else ex.raw(part))
        if close:
            ex.closed, ex.reusable = True, False
            ex.writer.close()
    return handler


async def reset(ex: Exchange) -> None:
    """A worker that reads the request and resets its connection or stream."""
    await ex.read_body()
    await ex.abort()


async def hold(ex: Exchange) -> None:
    """A worker that reads the request and says nothing."""
    await ex.read_body()
    await ex.gone()
