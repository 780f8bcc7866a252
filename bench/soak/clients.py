"""One request and its answer, over either version of HTTP."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

import h2.exceptions
from lab import Client
from script import FIELD, Script, digest_of, text
from uploads import Upload
from wire import H2Client

CHAT = "/v1/chat/completions"
PIECE = 65536
BUFFERED_UP_TO = 1 << 20  # --max-buffered-request-bytes


@dataclass(frozen=True)
class Ask:
    script: Script
    size: int = 200
    chunked: bool = False
    pause: float = 0.0  # between the pieces of the body, in seconds
    piece: int = PIECE

    @property
    def body(self) -> bytes:
        fields = b',"stream":true}' if self.script.streams else b"}"
        bare = b'{"model":"m","messages":[{"role":"user","content":"%s"}]'
        return bare % text(self.script.seed, max(1, self.size - len(bare) - len(fields) + 2)) + fields

    @property
    def streamed(self) -> bool:
        """Whether the gateway hands the body on as it comes, and so has one attempt only."""
        return not self.chunked and self.size > BUFFERED_UP_TO

    def head(self, body: bytes) -> bytes:
        framing = b"Transfer-Encoding: chunked" if self.chunked else b"Content-Length: %d" % len(body)
        return (b"POST %s HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n%s\r\n%s: %s\r\n\r\n"
                % (CHAT.encode(), framing, FIELD.encode(), self.script.field().encode()))

    def fields(self, body: bytes) -> list[tuple[str, str]]:
        framing = [] if self.chunked else [("content-length", str(len(body)))]
        return [("content-type", "application/json"), (FIELD, self.script.field()), *framing]

    def pieces(self, body: bytes) -> list[bytes]:
        return [body[i:i + self.piece] for i in range(0, len(body), self.piece)]

    def expected(self, body: bytes) -> bytes:
        return b"".join(self.script.parts(digest_of(body) if self.script.do != "early" else ""))


@dataclass
class Answer:
    status: int = 0  # 0: there was none
    body: bytes = b""
    complete: bool = False
    reusable: bool = False  # the connection
    code: str | None = field(default=None)


async def receive(client: Client) -> Answer:
    """The next answer on an HTTP/1.1 connection."""
    try:
        response = await client.head()
    except (asyncio.IncompleteReadError, ConnectionError):
        return Answer()
    parts = [part async for part in client.pieces(response, 0.0)]
    stays = response.complete and (response.header("connection") or "").lower() != "close"
    return Answer(response.status, b"".join(parts), response.complete, stays, response.error_code)


async def send(upload: Upload, ask: Ask, body: bytes) -> None:
    """The whole request; stops silently when the gateway takes no more."""
    if not await upload.send(ask.head(body) + (body if not ask.chunked and len(body) <= ask.piece else b"")):
        return
    if ask.chunked or len(body) > ask.piece:
        for piece in ask.pieces(body):
            if not await (upload.chunk(piece) if ask.chunked else upload.send(piece)):
                return
            await asyncio.sleep(ask.pause)
    if ask.chunked:
        await upload.finish_chunks()


async def exchange(upload: Upload, ask: Ask, body: bytes) -> Answer:
    sending = asyncio.create_task(send(upload, ask, body))
    try:
        answer = await receive(upload)
        answer.reusable &= sending.done()
        return answer
    finally:
        sending.cancel()


async def h2_send(client: H2Client, ask: Ask, stream: int, body: bytes) -> None:
    with contextlib.suppress(h2.exceptions.ProtocolError, ConnectionError):
        for piece in ask.pieces(body):
            await client.send_data(stream, piece, end=False)
            await asyncio.sleep(ask.pause)
        client.conn.end_stream(stream)
        await client.flush()


async def h2_open(client: H2Client, ask: Ask, body: bytes) -> int:
    return await client.send("POST", CHAT, headers=ask.fields(body), end=False)


async def h2_exchange(client: H2Client, ask: Ask, body: bytes) -> Answer:
    try:
        stream = await h2_open(client, ask, body)
    except (h2.exceptions.ProtocolError, ConnectionError):
        return Answer()
    sending = asyncio.create_task(h2_send(client, ask, stream, body))
    try:
        await client.done[stream].wait()
    finally:
        sending.cancel()
    response = client.responses.pop(stream, None)
    if response is None:
        return Answer()
    return Answer(response.status, response.body, response.complete, response.complete, response.error_code)
