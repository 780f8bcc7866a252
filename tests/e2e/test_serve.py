"""`smg serve --backend echo` as a process, and its native route."""

import asyncio
import signal

import pytest

from binary import *


async def test_generate():
    async with Echo() as g:
        response = await g.post("/generate", {"text": "as it was"})
        assert response.status == 200 and response.json()["text"] == "as it was"


async def test_generate_stream():
    async with Echo() as g:
        response = await g.post("/generate", {"text": "as it was", "stream": True})
        assert response.status == 200 and response.complete
        assert response.events()[-1] == "[DONE]" and len(response.events()) > 1


async def test_probes_and_metrics():
    async with Echo() as g:
        assert (await g.get("/health")).body == b"OK"

        async def ready() -> bool:
            return (await g.get("/readiness")).json()["healthy_workers"] == 2

        await eventually(ready)
        await g.post("/v1/chat/completions", {"model": "echo", "messages": user("hi")})
        assert (await g.metrics()).value("smg_router_requests_total", endpoint="chat") == 1


@pytest.mark.parametrize("asked_by", [signal.SIGTERM, signal.SIGINT])
async def test_stops_when_asked(asked_by):
    async with Echo("--shutdown-grace-period-secs", "1") as g:
        g.process.send_signal(asked_by)
        assert await asyncio.wait_for(g.process.wait(), 10) == 0


async def test_running_stream_is_finished_before_the_stop():
    """The stream is longer than all socket buffers on its way, so it is still on when the signal comes."""
    text = "word " * (1024 * 1024 // 5)
    body = json.dumps({"model": "echo", "stream": True, "messages": user(text)}).encode()
    async with Echo("--shutdown-grace-period-secs", "60") as g, Client(g.port) as client:
        await client.send_head("POST", "/v1/chat/completions", [
            ("Content-Type", "application/json"), ("Content-Length", str(len(body)))], body)
        response = await client.head()
        g.process.send_signal(signal.SIGTERM)
        response.body = b"".join([piece async for piece in client.pieces(response, 0)])
        *events, last = response.events()
        assert last == "[DONE]"
        deltas = [choice["delta"] for event in events for choice in json.loads(event)["choices"]]
        assert "".join(delta.get("content") or "" for delta in deltas) == text
        assert await asyncio.wait_for(g.process.wait(), 20) == 0


async def test_busy_port_is_a_configuration_error():
    async with Echo() as first:
        second = Echo()
        second.port = first.port
        process = await asyncio.create_subprocess_exec(*second.argv(), stdout=asyncio.subprocess.PIPE,
                                                       stderr=asyncio.subprocess.STDOUT)
        message, _ = await asyncio.wait_for(process.communicate(), 10)
        assert process.returncode == 1
        assert str(first.port).encode() in message
