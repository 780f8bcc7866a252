"""What a client asks of a worker: the worker does it, and both know every byte of the answer."""

from __future__ import annotations

import base64
import hashlib
import json
import random
from dataclasses import asdict, dataclass

FIELD = "x-soak"  # the request header that carries a script; the gateway is told to forward it
SSE = "text/event-stream"
TEXT = base64.b64encode(random.Random(1).randbytes(3 << 18))


def text(seed: int, size: int) -> bytes:
    """Harmless characters, others for each seed."""
    start = seed * 7919 % len(TEXT)
    rounds = (start + size) // len(TEXT) + 1
    return (TEXT * rounds)[start:start + size]


@dataclass(frozen=True)
class Script:
    """`do` is one of the following.

    answer: a JSON answer of about `size` bytes
    stream: `events` events of about `size` bytes, with a pause of `delay` seconds behind each
    close:  an answer after which the connection is closed, with `Connection: close` or GOAWAY
    hangup: an answer after which the connection is closed without a word
    flaky:  an answer, or 503, as the worker's own number decides
    error:  500
    early:  400, before the request's body is read
    cut:    a stream that breaks off half-way
    short:  an answer that breaks off half-way
    reset:  the connection or stream is reset when the request is there
    drop:   the same in the middle of the request's body
    garble: bytes that are no HTTP; over HTTP/2 a reset
    hang:   nothing at all, until the gateway gives up
    """

    do: str = "answer"
    seed: int = 0
    size: int = 100
    events: int = 0
    delay: float = 0.0
    reading: float = 0.0  # the worker's pause behind each piece of the body, in seconds

    @property
    def streams(self) -> bool:
        return self.do in ("stream", "cut")

    def field(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @staticmethod
    def of(field: str) -> "Script":
        return Script(**json.loads(field))

    def parts(self, digest: str) -> list[bytes]:
        """The answer to a body with this digest, in the pieces in which it is written."""
        if not self.streams:
            return [b'{"body":"%s","text":"%s"}' % (digest.encode(), text(self.seed, self.size))]
        return [b'data: {"body":"%s"}\n\n' % digest.encode(),
                *(b'data: {"number":%d,"text":"%s"}\n\n' % (i, text(self.seed + i, self.size))
                  for i in range(self.events)),
                b"data: [DONE]\n\n"]


def digest_of(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=16).hexdigest()
