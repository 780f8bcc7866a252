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


def with_load(worker: Worker, ranks: int = 1) -> Worker:
    """The worker reports a load for each of its ranks."""
    async def loads(ex: Exchange) -> None:
        await ex.read_body()
        await ex.reply_json({"timestamp": "t", "version": "v", "loads": [
            {"dp_rank": rank, "num_running_reqs": 3 + rank, "num_waiting_reqs": 1, "token_usage": 0.25,
             "gen_throughput": 12.5, "cache_hit_rate": 0.5} for rank in range(ranks)]})

    worker.routes["/loads"] = worker.routes["/v1/loads"] = loads
    return worker


async def test_engine_reports():
    async with with_load(Worker(), ranks=2) as w, Launched("--load-monitor-interval", "1", workers=[w]) as g:
        async def reported() -> bool:
            return (await g.metrics()).value("smg_engine_running_requests", dp_rank="1") == 4

        await eventually(reported)
        metrics = await g.metrics()
        for name, value in [("running_requests", 3), ("waiting_requests", 1), ("token_usage", 0.25),
                            ("gen_throughput", 12.5), ("cache_hit_rate", 0.5)]:
            assert metrics.value(f"smg_engine_{name}", worker=w.url, model="m", dp_rank="0") == value
        await g.request("DELETE", f"/workers/{(await g.worker_list())[0]['id']}")
        await g.wait_for(lambda ws: not ws)
        assert "smg_engine" not in (await g.metrics()).text


async def test_policies_tell_how_they_chose():
    async with Worker() as a, Worker() as b, Launched(workers=[a, b], policy="cache_aware") as g:
        for _ in range(3):
            await g.post(CHAT, chat("word " * 100))
        await g.post("/generate", {"model": "m", "input_ids": list(range(64))})
        metrics = await g.metrics()
        branches = "smg_cache_aware_policy_branch_total"
        assert metrics.value(branches, branch="tree_match") == 2
        assert metrics.value(branches, branch="expected_wait_fallback") == 2
        assert metrics.types[branches] == "counter"
        assert metrics.value("smg_cache_aware_match_ratio_count") == 4
        assert metrics.value("smg_cache_tree_chars", model="m") == 500
        assert metrics.value("smg_cache_tree_tokens", model="m") == 64
        assert metrics.value("smg_cache_tree_tenants", model="m", tree="string") == 1
        for worker in await g.worker_list():
            await g.request("DELETE", f"/workers/{worker['id']}")
        await g.wait_for(lambda ws: not ws)
        text = (await g.metrics()).text
        assert 'smg_cache_tree_chars{model="m"}' not in text
        assert f'{branches}{{branch="tree_match"}} 2' in text, "counters stay"


async def test_sticky_keys_in_service():
    released = asyncio.Event()

    async def waiting(ex: Exchange) -> None:
        await ex.read_body()
        await released.wait()
        await ex.reply_json(chat_answer())

    async with Worker(handler=waiting) as w, Launched(workers=[w], policy="manual") as g:
        key = [("X-SMG-Routing-Key", "k")]
        asked = [asyncio.create_task(g.post(CHAT, chat(), headers=key)) for _ in range(2)]
        await eventually(lambda: len(w.seen) == 2)
        metrics = await g.metrics()
        assert metrics.value("smg_worker_routing_keys_active", worker=w.url) == 1
        assert metrics.value("smg_manual_policy_cache_entries") == 1
        assert metrics.value("smg_manual_policy_branch_total") == 2
        released.set()
        await asyncio.gather(*asked)
        assert (await g.metrics()).value("smg_worker_routing_keys_active", worker=w.url) == 0
        assert "smg_worker_routing_keys_active" in (await g.metrics()).text


async def test_the_process_and_its_loops():
    async with Echo() as g:
        async def asked() -> bool:
            return (await g.metrics()).value("smg_event_loop_delay_seconds_count") > 0

        await eventually(asked)
        metrics = await g.metrics()
        for name in ("smg_process_resident_bytes", "process_resident_memory_bytes", "process_open_fds",
                     "process_cpu_seconds_total", "process_start_time_seconds", "smg_build_info"):
            assert metrics.value(name) > 0
        assert len(metrics.labels("smg_http_inflight_request_age_count")) == 12
