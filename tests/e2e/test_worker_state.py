"""What the gateway knows of single workers: what is in flight there, how their breakers judge, how long to wait."""

import asyncio
import json

import pytest

from pairs import *

CHAT = "/v1/chat/completions"
ONE_ATTEMPT = ("--retry-max-retries", "1", "--disable-load-monitoring")


class Streaming(Worker):
    """Streams one event, and the end of it when `released`; answers anything else at once."""

    def __init__(self) -> None:
        super().__init__(handler=self.serve)
        self.released = asyncio.Event()

    async def serve(self, ex: Exchange) -> None:
        if not json.loads(await ex.read_body()).get("stream"):
            await ex.reply_json(chat_answer())
            return
        await ex.start(200, [("Content-Type", "text/event-stream")])
        await ex.write(b"data: 1\n\n")
        await self.released.wait()
        await ex.write(b"data: [DONE]\n\n")
        await ex.end()


async def entry_of(g: Gateway, worker: Worker) -> dict:
    return next(w for w in await g.worker_list() if w["url"] == worker.url)


async def put(g: Gateway, worker: Worker, **spec) -> str:
    """Registers the worker again; its id."""
    worker_id = (await entry_of(g, worker))["id"]
    body = json.dumps({"url": worker.url, "labels": {"again": "1"}, **spec}).encode()
    answer = await g.request("PUT", f"/workers/{worker_id}", body=body, headers=[("Content-Type", "application/json")])
    assert answer.status == 202, answer.body
    await g.wait_for(lambda ws: any(w["url"] == worker.url and "again" in w["labels"] for w in ws))
    return worker_id


async def test_a_worker_that_registers_again_keeps_its_requests():
    async with Streaming() as busy, Worker() as other, \
            Launched("--disable-load-monitoring", workers=[busy], policy="least_load") as g:
        stream = asyncio.create_task(g.post(CHAT, chat(stream=True)))
        await eventually(lambda: busy.seen)
        worker_id = await put(g, busy, health={"drain_settle_secs": 60})
        assert (await entry_of(g, busy))["load"] == 1
        assert (await g.metrics()).value("smg_worker_requests_active", worker=busy.url) == 1

        await g.post("/workers", {"url": other.url})
        await g.wait_for(lambda ws: len(ws) == 2)
        assert [(await g.post(CHAT, chat())).status for _ in range(10)] == [200] * 10
        assert (len(busy.seen), len(other.seen)) == (1, 10)

        await g.request("DELETE", f"/workers/{worker_id}")
        await asyncio.sleep(0.3)
        assert (await entry_of(g, busy))["status"] == "draining"
        busy.released.set()
        assert (await stream).complete
        await g.wait_for(lambda ws: len(ws) == 1)


@pytest.mark.parametrize("way", ["stream", "whole", "pair"])
async def test_series_of_a_removed_worker_go_while_others_are_busy(way):
    """Whatever remembers the fleet as it was: a request that may need another attempt, for one."""
    released = asyncio.Event()

    async def waiting(ex: Exchange) -> None:
        await ex.read_body()
        await released.wait()
        await ex.reply_json(chat_answer())

    def workers() -> Worker:
        return Streaming() if way == "stream" else Worker(handler=waiting)

    async with workers() as a, workers() as b, Worker() as p:
        pair = way == "pair"
        fleet = Pairs(prefill=[p], decode=[a, b]) if pair else Launched("--disable-load-monitoring", workers=[a, b])
        async with fleet as g:
            running = asyncio.create_task(g.post(CHAT, chat(stream=way == "stream")))
            await eventually(lambda: a.seen or b.seen)
            busy, idle = (a, b) if a.seen else (b, a)
            await put(g, idle, **({"worker_type": "decode"} if pair else {}))
            await g.request("DELETE", f"/workers/{(await entry_of(g, idle))['id']}")
            await g.wait_for(lambda ws: idle.url not in [w["url"] for w in ws])
            text = (await g.metrics()).text
            assert idle.url not in text
            assert busy.url in text
            assert not running.done()
            released.set()
            if way == "stream":
                busy.released.set()
            assert (await running).status == 200


async def test_series_of_a_removed_worker_stay_for_its_last_request():
    async with Streaming() as w, Launched("--disable-load-monitoring", workers=[w]) as g:
        stream = asyncio.create_task(g.post(CHAT, chat(stream=True)))
        await eventually(lambda: w.seen)
        await put(g, w, health={"drain_settle_secs": 0})
        await g.request("DELETE", f"/workers/{(await entry_of(g, w))['id']}")
        await g.wait_for(lambda ws: not ws)
        assert (await g.metrics()).value("smg_worker_requests_active", worker=w.url) == 1
        w.released.set()
        assert (await stream).complete

        async def gone() -> bool:
            return w.url not in (await g.metrics()).text

        await eventually(gone)


async def test_a_workers_own_statuses_decide_for_its_breaker():
    """Not what is retried: 503 is, as ever, and 418 is not."""
    async def as_asked(ex: Exchange) -> None:
        await ex.reply_json({}, int(json.loads(await ex.read_body())["user"]))

    async with Worker(handler=as_asked) as w, \
            Launched("--retry-max-retries", "2", "--retry-initial-backoff-ms", "1", "--disable-load-monitoring") as g:
        await g.post("/workers", {"url": w.url, "resilience": {
            "cb_failure_threshold": 2, "retryable_status_codes": [418, 503], "capacity_status_codes": [503]}})
        await g.wait_for(lambda ws: len(ws) == 1)

        async def ask(status: int) -> tuple[int, int, dict[str, float], float]:
            """Its status, the attempts, what the breaker was told in all, and its state."""
            before = len(w.seen)
            answer = await g.post(CHAT, chat(user=str(status)))
            metrics = await g.metrics()
            return (answer.status, len(w.seen) - before, outcomes(metrics, w),
                    metrics.value("smg_worker_cb_state", worker=w.url))

        assert await ask(503) == (503, 2, {"success": 0, "failure": 0}, 0)
        assert await ask(500) == (500, 2, {"success": 2, "failure": 0}, 0)
        assert await ask(429) == (429, 2, {"success": 4, "failure": 0}, 0)
        assert await ask(418) == (418, 1, {"success": 4, "failure": 1}, 0)
        assert await ask(418) == (418, 1, {"success": 4, "failure": 2}, 1)


async def test_requests_from_before_it_opened_do_not_move_a_half_open_breaker():
    late, trial = asyncio.Event(), asyncio.Event()

    async def by_user(ex: Exchange) -> None:
        user = json.loads(await ex.read_body())["user"]
        if user in ("good", "bad"):
            await late.wait()
        elif user == "trial":
            await trial.wait()
        await ex.reply_json(chat_answer(), 500 if user.startswith("bad") else 200)

    async with Worker(handler=by_user) as w, \
            Launched(*ONE_ATTEMPT, "--cb-failure-threshold", "2", "--cb-success-threshold", "2",
                     "--cb-timeout-duration-secs", "1", workers=[w]) as g:
        async def state() -> float:
            return (await g.metrics()).value("smg_worker_cb_state", worker=w.url)

        early = [asyncio.create_task(g.post(CHAT, chat(user=u))) for u in ("good", "good", "bad")]
        await eventually(lambda: len(w.seen) == 3)
        for _ in range(2):
            await g.post(CHAT, chat(user="bad at once"))
        await asyncio.sleep(1.1)
        asked = asyncio.create_task(g.post(CHAT, chat(user="trial")))
        await eventually(lambda: len(w.seen) == 6)
        assert await state() == 2
        late.set()
        assert [r.status for r in await asyncio.gather(*early)] == [200, 200, 500]
        assert await state() == 2
        trial.set()
        assert (await asked).status == 200
        assert (await g.post(CHAT, chat(user="another"))).status == 200
        assert await state() == 0


async def test_a_named_worker_is_waited_for():
    async with Worker(handler=refusing(500)) as bad, Worker() as good, \
            Launched(*ONE_ATTEMPT, "--cb-failure-threshold", "1", "--cb-timeout-duration-secs", "100",
                     workers=[bad, good], policy="consistent_hashing") as g:
        named = [("X-SMG-Target-Worker", bad.url)]
        assert (await g.post(CHAT, chat(), headers=named)).status == 500
        answer = await g.post(CHAT, chat(), headers=named)
        assert (answer.status, answer.header("x-smg-error-code")) == (503, "no_available_workers")
        assert 95 <= int(answer.header("retry-after")) <= 100


async def test_pairs_say_how_long_to_wait():
    async with Worker() as p, Worker(handler=refusing(500)) as d, \
            Pairs("--retry-max-retries", "1", "--cb-failure-threshold", "1", "--cb-timeout-duration-secs", "100",
                  prefill=[p], decode=[d]) as g:
        async def ask(**fields) -> tuple[str, int]:
            answer = await g.post(CHAT, {**chat(), **fields})
            return answer.header("x-smg-error-code"), int(answer.header("retry-after") or 0)

        assert await ask(model="nobody's") == ("no_available_workers", 1)
        assert (await ask())[0] == "decode_internal_error"
        code, seconds = await ask()
        assert code == "no_available_workers" and 95 <= seconds <= 100, "prefill is not what is missing"
