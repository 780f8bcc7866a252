"""A gateway whose clients have taken all descriptors."""

import asyncio
import contextlib

from binary import *


class Cramped(Launched):
    """`smg launch` under a small limit on descriptors, with a probe port."""

    def __init__(self, limit: int, *flags: str, **options) -> None:
        self.limit, self.probe_port = limit, free_port()
        super().__init__("--health-check-port", self.probe_port, *flags, **options)

    def argv(self) -> list[str]:
        return ["prlimit", f"--nofile={self.limit}:{self.limit}", *super().argv()]

    def cpu_seconds(self) -> float:
        with open(f"/proc/{self.process.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def test_probes_answer_and_streams_go_on():
    """Scenario A36."""
    gate = asyncio.Event()

    async def stream(ex):
        await ex.read_body()
        await ex.start(200, [("Content-Type", "text/event-stream")])
        await ex.write(delta_event("a").encode())
        await gate.wait()
        await ex.write(b"data: [DONE]\n\n")
        await ex.end()

    async with contextlib.AsyncExitStack() as stack:
        w = await stack.enter_async_context(Worker(handler=stream))
        g = await stack.enter_async_context(Cramped(256, workers=[w]))
        streams = [asyncio.create_task(g.post("/v1/chat/completions", chat(stream=True))) for _ in range(20)]
        await eventually(lambda: len(w.seen) == 20)
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
        body = json.dumps(chat()).encode()
        await crowd[0].send_head("POST", "/v1/chat/completions", [
            ("Content-Type", "application/json"), ("Content-Length", str(len(body)))], body)
        answer = await asyncio.wait_for(crowd[0].response(), 5)
        assert (answer.status, answer.error_code) == (503, "local_resources_exhausted")
        assert (await g.metrics()).value("smg_worker_cb_consecutive_failures") == 0

        for client in crowd[:300]:
            client.reset()
        assert (await asyncio.wait_for(g.get("/health"), 2)).status == 200
        gate.set()
        for answer in await asyncio.gather(*streams):
            assert answer.complete and answer.events()[-1] == "[DONE]"
