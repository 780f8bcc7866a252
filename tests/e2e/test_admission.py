"""The limit on running requests where it could leak: whoever leaves, however, takes nothing along."""

import asyncio
import contextlib

import pytest

from binary import *
from fleet import reporting

PERMITS = 2


@contextlib.asynccontextmanager
async def limited(*flags: str, **options):
    """A gateway of two permits and several threads; its worker does what each request's `user` says."""
    async def serve(ex):
        how = json.loads(await ex.read_body()).get("user", "")
        if how == "cut":
            return await ex.abort()
        if how == "stream":
            await ex.start(200, [("Content-Type", "text/event-stream")])
            await ex.write(delta_event("a").encode())
        if how in ("stream", "hold"):
            return await ex.gone()
        await ex.reply_json(chat_answer())

    async with Worker(handler=serve) as w, Launched(
            "--max-concurrent-requests", PERMITS, "--io-threads", "4", "--disable-retries",
            "--cb-failure-threshold", "100000", *flags, workers=[w], **options) as g:
        yield g, w


async def holds(g: Gateway, count: int) -> None:
    async def so_many() -> bool:
        return (await g.metrics()).value("smg_admission_inflight") == count
    await eventually(so_many)


async def starts(g: Gateway, client: Client, how: str) -> None:
    body = json.dumps(chat(user=how, stream=how == "stream")).encode()
    await client.send_head("POST", "/v1/chat/completions", [
        ("Content-Type", "application/json"), ("Content-Length", str(len(body)))], body)


async def has_exactly_its_permits(g: Gateway) -> None:
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(PERMITS):
            await starts(g, await stack.enter_async_context(Client(g.port)), "hold")
        await holds(g, PERMITS)
        response = await g.post("/v1/chat/completions", chat())
        assert response.status == 429 and response.error_code == "admission_queue_full"
    await holds(g, 0)


async def test_no_permit_is_lost_or_made_up():
    """Rounds of every way in which a request can end."""
    async with limited("--queue-size", "0", "--request-timeout-secs", "1") as (g, _):
        for _ in range(25):
            for how in ("stream", "hold"):
                async with Client(g.port) as client:
                    await starts(g, client, how)
                    if how == "stream":
                        await client.head()
            async with Client(g.port) as client:
                await starts(g, client, "stream")
                await client.head()
                client.reset()
            await holds(g, 0)
            assert (await g.post("/v1/chat/completions", chat(user="cut"))).status == 502
            assert (await g.post("/v1/chat/completions", chat())).status == 200
        assert (await g.post("/v1/chat/completions", chat(user="hold"))).status == 504
        await has_exactly_its_permits(g)


@pytest.mark.parametrize("body", [b"", b'{"model"', b" " * 60_000], ids=["none", "part", "large"])
async def test_leaving_the_queue_with_an_unread_body_frees_the_place(body):
    """The client's FIN stands behind bytes that nobody reads."""
    async with limited("--queue-size", "1") as (g, w):
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(PERMITS):
                await starts(g, await stack.enter_async_context(Client(g.port)), "hold")
            await holds(g, PERMITS)

            async def depth(count: int) -> None:
                async def so_deep() -> bool:
                    return (await g.metrics()).value("smg_admission_queue_depth") == count
                await eventually(so_deep)

            async with Client(g.port) as leaving:
                await leaving.send_head("POST", "/v1/chat/completions", [
                    ("Content-Type", "application/json"), ("Content-Length", "1000000")], body)
                await depth(1)
            await depth(0)
        assert len(w.seen) == PERMITS


async def test_queued_requests_of_all_threads_are_served_in_turn():
    async with limited("--queue-size", "100") as (g, w):
        answers = await asyncio.gather(*(g.post("/v1/chat/completions", chat()) for _ in range(80)))
        assert [a.status for a in answers] == [200] * 80
        metrics = await g.metrics()
        assert metrics.value("smg_http_rate_limit_total", result="allowed") == 80
        assert metrics.value("smg_admission_queue_depth") == 0


async def test_the_grace_period_ends_the_wait_in_the_queue():
    """Queued requests count as running, and are cut like running ones."""
    async with limited("--shutdown-grace-period-secs", "1") as (g, _):
        async with contextlib.AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(Client(g.port)) for _ in range(PERMITS + 1)]
            for client in clients:
                await starts(g, client, "hold")
            await holds(g, PERMITS)
            g.process.terminate()
            assert await asyncio.wait_for(g.process.wait(), 10) == 0
            for client in clients:
                assert await client.reader.read() == b""


async def test_sheds_for_overloaded_workers_are_counted():
    async with reporting(waiting=9) as w, Launched(
            "--worker-overload-waiting-requests", "9", "--load-monitor-interval", "1", workers=[w]) as g:
        async def counted() -> bool:
            return (await g.metrics()).value("smg_workers_overloaded") == 1
        await eventually(counted)
        response = await g.post("/v1/chat/completions", chat())
        assert (response.status, response.error_code) == (503, "worker_overload_protection_shed")
        assert response.header("retry-after") == "1"
        assert (await g.metrics()).value("smg_worker_overload_shed_total", stage="selection") == 1
