"""smg_router_request_errors_total beside smg_router_requests_total, and how uploads past the limit are refused."""

import pytest

from pairs import *
from uploads import *

REQUESTS, ERRORS = "smg_router_requests_total", "smg_router_request_errors_total"
UPSTREAM = "smg_router_upstream_responses_total"
LIMIT = 3000
BUFFERED = ("--retry-max-retries", "2", "--retry-initial-backoff-ms", "1", "--max-payload-size", LIMIT)


async def counts(g: Gateway, requests: float, **errors: float) -> None:
    """So many requests, and of them so many errors of each type."""
    async def so_many() -> bool:
        metrics = await g.metrics()
        types = {labels["error_type"] for labels in metrics.labels(ERRORS)}
        found = {t: metrics.value(ERRORS, error_type=t) for t in types}
        return metrics.value(REQUESTS) == requests and found == errors
    await eventually(so_many)


@pytest.mark.parametrize("path", [CHAT, "/generate", "/workers"])
async def test_a_chunked_upload_past_the_limit_is_refused_in_json(path):
    """Ruling 11: on every route."""
    async with Worker() as w, Launched(*BUFFERED, workers=[w]) as g:
        answer = await post_chunked(g, path, bytes(LIMIT + 1))
        assert (answer.status, answer.error_code) == (413, "request_body_too_large")
        assert answer.json()["error"]["message"] == f"Request body exceeded {LIMIT} bytes"
        announced = await g.post(path, body=bytes(LIMIT + 1))
        assert (announced.status, announced.error_code, announced.body) == (413, None, b"length limit exceeded")


async def test_uploads_that_never_became_requests_are_no_router_errors():
    async with Worker() as w, Launched(*BUFFERED, "--disable-circuit-breaker", workers=[w]) as g:
        assert (await post_chunked(g, CHAT, bytes(LIMIT + 1))).status == 413
        assert (await g.post(CHAT, {"messages": []})).status == 400
        for leave in (Upload.reset, Upload.half_close):
            async with Upload(g.port) as up:
                await up.post(CHAT, 100)
                await up.send(b"{")
                leave(up)
        assert (await g.post(CHAT, chat())).status == 200
        await counts(g, 1)


async def test_of_streamed_uploads_the_aborted_are_errors_and_the_stalled_are_not():
    """request_path.md section 3."""
    async with Worker() as w, Launched(*STREAM_ALL, "--stream-body-stall-timeout-secs", "1", workers=[w]) as g:
        async with Upload(g.port) as up:
            await up.post(CHAT, 100)
            await up.send(b"{")
            up.half_close()
            assert (await up.response()).error_code == "request_body_aborted"
        await counts(g, 1, validation_error=1)
        async with Upload(g.port) as up:
            await up.post(CHAT, 100)
            await up.send(b"{")
            assert (await up.response()).error_code == "request_body_stalled"
        await counts(g, 2, validation_error=1)


@pytest.mark.parametrize("flags", [BUFFERED, STREAM_ALL], ids=["buffered", "streamed"])
async def test_a_target_that_is_no_worker_counts_alike_on_both_paths(flags):
    async with Worker() as w, Launched(*flags, policy="consistent_hashing", workers=[w]) as g:
        answer = await g.post(CHAT, chat(), headers=[("x-smg-target-worker", "9")])
        assert (answer.status, answer.error_code) == (400, "invalid_target_worker")
        await counts(g, 1, validation_error=1)
        assert (await g.metrics()).value(UPSTREAM, error_code="invalid_target_worker", status_code="400") == 1


async def cut_short(ex: Exchange) -> None:
    await ex.read_body()
    await ex.start(200, [("Content-Type", "application/json")])
    await ex.write(b"{")
    await ex.gone()


async def test_what_comes_too_late_is_a_timeout():
    """router_modes.md section 0: the label follows the status."""
    flags = ("--disable-retries", "--request-timeout-secs", "1", "--disable-circuit-breaker")
    async with Worker(handler=cut_short) as w, Launched(*flags, workers=[w]) as g:
        answer = await g.post(CHAT, chat())
        assert (answer.status, answer.error_code) == (504, "read_response_body_failed")
        await counts(g, 1, timeout=1)
        w.handler = lambda ex: ex.reply_json({}, 504)
        assert (await g.post(CHAT, chat())).status == 504
        await counts(g, 2, timeout=2)
        w.handler = lambda ex: ex.reply_json({}, 501)
        assert (await g.post(CHAT, chat())).status == 501
        await counts(g, 3, timeout=2, backend_error=1)


async def refusing(ex: Exchange) -> None:
    await ex.read_body()
    await ex.reply_json({"error": {"message": "no"}}, 400)


async def test_a_prefill_worker_that_refuses_is_a_validation_error():
    for kind, code in ((VllmWorker, "prefill_upstream_error"), (Worker, "prefill_bad_request")):
        async with kind("m", handler=refusing) as p, kind("m") as d, Pairs(prefill=[p], decode=[d]) as g:
            answer = await g.post(CHAT, chat())
            assert (answer.status, answer.error_code) == (400, code)
            await counts(g, 1, validation_error=1)
