"""What the metrics say of single workers: it is true at every scrape, and goes with the worker."""

import asyncio

import pytest

from binary import *

CHAT = "/v1/chat/completions"
NAME = "smg_upstream_connections"


@pytest.mark.parametrize("protocol", ["http1", "http2"])
async def test_connections_by_state(protocol):
    released = asyncio.Event()

    async def waiting(ex: Exchange) -> None:
        await ex.read_body()
        await released.wait()
        await ex.reply_json(chat_answer())

    http2 = protocol == "http2"
    async with Worker(handler=waiting, http1=not http2, http2=http2) as w:
        flags = ["--upstream-http2", "--upstream-pool-idle-timeout-secs", "60", "--disable-load-monitoring"]
        async with Launched(*flags, workers=[w]) as g:
            async def counts() -> tuple[float, ...]:
                metrics = await g.metrics()
                of = {"worker": w.url, "protocol": protocol}
                states = [metrics.value(NAME, state=state, **of) for state in ("idle", "in_use")]
                assert metrics.value(f"{NAME}_open", **of) == sum(states)
                return tuple(states)

            before = sum(await counts())
            assert before > 0, "those that it was probed with"
            asked = [asyncio.create_task(g.post(CHAT, chat())) for _ in range(8)]
            await eventually(lambda: len(w.seen) == 8)
            # One connection carries all streams, or each request has its own.
            assert await counts() == ((0, 1) if http2 else (0, 8))
            released.set()
            assert [r.status for r in await asyncio.gather(*asked)] == [200] * 8
            assert await counts() == ((1, 0) if http2 else (8, 0))

            worker_id = (await g.worker_list())[0]["id"]
            await g.request("DELETE", f"/workers/{worker_id}")
            await g.wait_for(lambda ws: not ws)
            text = (await g.metrics()).text
            assert w.url not in text and NAME not in text
