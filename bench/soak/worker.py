#!/usr/bin/env python3
"""A mock worker in a process of its own, which may be killed: `worker.py PORT http1|http2`. Says `ready` when it is."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import hashlib
import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests/conformance"))

from h2.connection import ConnectionInputs, ConnectionState, H2ConnectionStateMachine  # noqa: E402
from hyperframe.frame import GoAwayFrame  # noqa: E402
from lab import Exchange, Worker  # noqa: E402
from script import FIELD, SSE, Script  # noqa: E402

# h2 refuses everything behind a GOAWAY; but streams that are open go on.
H2ConnectionStateMachine._transitions[ConnectionState.SERVER_OPEN, ConnectionInputs.RECV_GOAWAY] = (
    None, ConnectionState.SERVER_OPEN)

LOADS = json.dumps({"timestamp": "t", "version": "v", "loads": [
    {"dp_rank": 0, "num_running_reqs": 1, "num_waiting_reqs": 0, "token_usage": 0.25, "gen_throughput": 12.5,
     "cache_hit_rate": 0.5}]}).encode()


class ScriptedWorker(Worker):
    def __init__(self, port: int, http2: bool) -> None:
        super().__init__(handler=self.perform, http2=http2, port=port)
        # The laboratory's log of requests is not for the long run.
        self.seen = self.probes = collections.deque(maxlen=0)
        self.routes["/loads"] = self.routes["/v1/loads"] = self.report

    async def report(self, ex: Exchange) -> None:
        await ex.read_body()
        await ex.reply(200, LOADS)

    async def perform(self, ex: Exchange) -> None:
        try:
            await self.play(Script.of(ex.seen.header(FIELD)), ex)
        finally:
            if ex.seen.http2:
                await give_back(ex)

    async def play(self, script: Script, ex: Exchange) -> None:
        if script.do == "early":
            await ex.reply(400, script.parts("")[0])
        elif script.do == "drop":
            await ex.read_some()
            return await ex.abort()
        parts = script.parts(await digest(ex, script.reading))
        match script.do:
            case "early":
                pass
            case "hang":
                await ex.gone()
            case "reset":
                await ex.abort()
            case "garble":
                await (ex.abort() if ex.seen.http2 else ex.raw(b"no such protocol\r\n\r\n"))
                ex.reusable = False
            case "error":
                await ex.reply(500, parts[0])
            case "flaky" if self.port % 2:
                await ex.reply(503, parts[0])
            case "short":
                await ex.start(200, [("Content-Type", "application/json"), ("Content-Length", str(len(parts[0])))])
                await ex.write(parts[0][:-10])
                await self.part(ex)
            case "stream" | "cut":
                await ex.start(200, [("Content-Type", SSE)])
                for part in parts if script.do == "stream" else parts[:len(parts) // 2]:
                    await ex.write(part)
                    if script.delay:
                        await asyncio.sleep(script.delay)
                await (ex.end() if script.do == "stream" else self.part(ex))
            case "close" | "hangup" if ex.seen.http2:
                # All streams that were begun are served; new ones are to come over a new connection.
                ex.session.writer.write(GoAwayFrame(0, last_stream_id=(1 << 31) - 1).serialize())
                await ex.reply(200, parts[0])
            case "close":
                await ex.reply(200, parts[0], headers=[("Connection", "close")])
            case _:
                await ex.reply(200, parts[0])
                ex.reusable = script.do != "hangup"

    @staticmethod
    async def part(ex: Exchange) -> None:
        """End the exchange in a way that shows that it is not complete."""
        if ex.seen.http2:
            return await ex.abort()
        ex.closed, ex.reusable = True, False
        ex.writer.close()


async def digest(ex: Exchange, pause: float) -> str:
    """Reads the request's body, keeping nothing."""
    sum_ = hashlib.blake2b(digest_size=16)
    while not ex.seen.body_complete:
        sum_.update(await ex.read_some())
        ex.seen.body = b""
        ex.seen.chunk_times.clear()
        if pause:
            await asyncio.sleep(pause)
    return sum_.hexdigest()


async def give_back(ex: Exchange) -> None:
    """Give the connection's window back what an abandoned stream has left unread, and forget it."""
    while not ex.pieces.empty():
        if piece := ex.pieces.get_nowait():
            ex.session.conn.increment_flow_control_window(len(piece))
    with contextlib.suppress(ConnectionError):
        await ex.session.flush()


async def main() -> None:
    worker = ScriptedWorker(int(sys.argv[1]), http2=sys.argv[2] == "http2")
    await worker.open()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)  # ends with the parent


if __name__ == "__main__":
    asyncio.run(main())
