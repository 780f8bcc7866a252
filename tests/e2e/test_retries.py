"""What a retry makes of a fleet and of a session, and what is counted of it."""

import pytest

from scenario import *

EXHAUSTED = "smg_worker_retries_exhausted_total"
SLOWLY = ("--retry-max-retries", "5", "--retry-initial-backoff-ms", "400", "--retry-jitter-factor", "0")


async def remove(gateway: Gateway, worker: Worker) -> None:
    identity = next(known["id"] for known in await gateway.worker_list() if known["url"] == worker.url)
    assert (await gateway.request("DELETE", f"/workers/{identity}")).status == 202


@contextlib.asynccontextmanager
async def retrying():
    """A gateway whose only worker has failed a request: that worker, and the answer to come."""
    async with Worker(handler=reply(503)) as old, Gateway(*SLOWLY, workers=[old]) as g:
        answer = asyncio.create_task(g.post(CHAT, body=BODY))
        await eventually(lambda: old.seen)
        yield g, old, answer


@pytest.mark.parametrize("removed", [False, True], ids=["added", "replaced"])
async def test_a_retry_sees_the_fleet_as_it_is_then(removed):
    async with Worker() as new, retrying() as (g, old, answer):
        assert (await g.post("/workers", {"url": new.url})).status == 202
        await g.wait_for(lambda known: any(w["url"] == new.url and w["status"] == "ready" for w in known))
        if removed:
            await remove(g, old)
        assert (await answer).status == 200
        assert (len(old.seen), len(new.seen)) == (1, 1)


async def test_a_retry_without_any_worker_left_says_when_to_come_back():
    async with retrying() as (g, old, answer):
        await remove(g, old)
        refused = await answer
        assert (refused.status, refused.error_code) == (503, "no_available_workers")
        assert int(refused.header("retry-after")) >= 1


async def test_one_failure_does_not_move_a_session():
    session = [("x-session-id", "talk")]
    async with Worker() as a, Worker() as b, Gateway(
            "--routing-key-override", "--routing-key-headers", "x-session-id", *BUFFERED, workers=[a, b]) as g:
        assert (await g.post(CHAT, body=BODY, headers=session)).status == 200
        home, other = (a, b) if a.seen else (b, a)
        home.handler = reply(429)
        assert (await g.post(CHAT, body=BODY, headers=session)).status == 200
        home.handler = home.default_handler
        before = (len(home.seen), len(other.seen))
        for _ in range(4):
            assert (await g.post(CHAT, body=BODY, headers=session)).status == 200
        assert (len(home.seen), len(other.seen)) == (before[0] + 4, before[1])


@pytest.mark.parametrize("path, attempts", [(("--disable-retries",), 1), (BUFFERED, 2)], ids=["once", "retried"])
async def test_a_last_failure_that_breaks_off_is_counted_once(path, attempts):
    async def broken(ex: Exchange) -> None:
        await ex.read_body()
        await ex.raw(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 100\r\n\r\n{}")
        await ex.abort()

    async with Worker(handler=broken) as worker, Gateway(*path, "--policy", "cache_aware", workers=[worker]) as g:
        assert (await g.post(CHAT, body=BODY)).status in (502, 503)
        assert len(worker.seen) == attempts
        assert (await g.metrics()).value(EXHAUSTED) == 1
