"""Traces that a collector gets, and what they cost when it is slow or away."""

import asyncio
import re
import time

import pytest

from binary import *
from wire import bearer

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"
CHAT = "/v1/chat/completions"
SERVER, CLIENT = 2, 3


class Span:
    def __init__(self, raw: dict) -> None:
        self.raw = raw
        self.id, self.trace, self.parent = raw["spanId"], raw["traceId"], raw.get("parentSpanId")
        self.kind, self.status = raw["kind"], raw.get("status", {}).get("code", 0)
        self.begin, self.end = int(raw["startTimeUnixNano"]), int(raw["endTimeUnixNano"])
        self.attributes = {a["key"]: next(iter(a["value"].values())) for a in raw["attributes"]}

    def __getitem__(self, key: str) -> str | None:
        return self.attributes.get(key)


class Collector(Worker):
    """Takes OTLP over HTTP; `answer` may take its place."""

    def __init__(self) -> None:
        super().__init__()
        self.posts: list[dict] = []
        self.bodies: list[bytes] = []
        self.answer = None
        self.routes["/v1/traces"] = self._take

    async def _take(self, ex) -> None:
        body = await ex.read_body()
        if self.answer and await self.answer(ex):
            return
        self.bodies.append(body)
        self.posts.append(json.loads(body))
        assert ex.seen.method == "POST" and ex.seen.header("content-type") == "application/json"
        await ex.reply_json({"partialSuccess": {}})

    @property
    def all_spans(self) -> list[Span]:
        return [Span(span) for post in self.posts for resource in post["resourceSpans"]
                for scope in resource["scopeSpans"] for span in scope["spans"]]

    @property
    def spans(self) -> list[Span]:
        """Without those of the laboratory's own GET /workers."""
        return [span for span in self.all_spans if span.raw["name"].startswith("POST ")]

    async def has(self, count: int) -> list[Span]:
        await eventually(lambda: len(self.spans) >= count, 10)
        assert len(self.spans) == count
        return self.spans

    @property
    def flags(self) -> list[str]:
        return ["--enable-trace", "--otlp-traces-endpoint", f"{HOST}:{self.port}"]


def sent(worker: Worker, number: int = -1) -> tuple[str, str, str]:
    """Trace, span and flags that a worker was told."""
    match = re.fullmatch(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})", worker.seen[number].header("traceparent"))
    assert match, worker.seen[number].headers
    return match.groups()


def names(worker: Worker) -> list[str]:
    return [name.lower() for name, _ in worker.seen[-1].headers]


async def all_exported(g: Gateway, c: Collector) -> None:
    async def so_many() -> bool:
        return (await g.metrics()).value("smg_trace_spans_exported_total") == len(c.all_spans)
    await eventually(so_many)


async def dropped(g: Gateway, reason: str) -> float:
    return (await g.metrics()).value("smg_trace_spans_dropped_total", reason=reason)


@pytest.mark.parametrize("http2", [False, True])
async def test_the_worker_continues_what_the_collector_gets(http2):
    before = time.time_ns()
    async with Collector() as c, Worker(http2=http2) as w, Launched(
            *c.flags, *(["--upstream-http2"] if http2 else []), workers=[w]) as g:
        r = await g.post(CHAT, chat(), headers=[("traceparent", PARENT), ("tracestate", "a=b"), ("tracestate", "c=d")])
        assert r.status == 200
        request, attempt = await c.has(2)
        await all_exported(g, c)
    assert sent(w) == (TRACE, attempt.id, "01")
    assert w.seen[0].header("tracestate") == "a=b,c=d"
    assert names(w).count("traceparent") == names(w).count("tracestate") == 1
    assert request.trace == attempt.trace == TRACE
    assert (request.kind, request.parent) == (SERVER, SPAN) and (attempt.kind, attempt.parent) == (CLIENT, request.id)
    assert len({SPAN, request.id, attempt.id}) == 3
    assert before < request.begin <= attempt.begin <= attempt.end <= request.end < time.time_ns()
    assert request.raw["name"] == f"POST {CHAT}" and request.raw["traceState"] == "a=b,c=d"
    assert request["http.response.status_code"] == attempt["http.response.status_code"] == "200"
    assert (request["http.route"], request["smg.model"]) == (CHAT, "m")
    assert request["smg.request_id"] == r.header("x-request-id")
    assert int(request["http.response.body.size"]) == len(r.body)
    assert (attempt["smg.worker.url"], attempt["server.port"]) == (w.url, str(w.port))
    assert request.status == attempt.status == 0
    resource = {a["key"]: a["value"]["stringValue"] for a in c.posts[0]["resourceSpans"][0]["resource"]["attributes"]}
    assert resource["service.name"] == "smg" and resource["service.version"]


@pytest.mark.parametrize("headers", [
    [], [("traceparent", PARENT.upper())], [("traceparent", "00-" + "0" * 32 + f"-{SPAN}-01")],
    [("traceparent", PARENT), ("traceparent", PARENT)], [("traceparent", PARENT + "-more")],
], ids=["none", "upper", "zero", "twice", "longer"])
async def test_without_a_valid_parent_a_trace_begins_here(headers):
    async with Collector() as c, Worker() as w, Launched(*c.flags, workers=[w]) as g:
        await g.post(CHAT, chat(), headers=[*headers, ("tracestate", "a=b")])
        request, attempt = await c.has(2)
    trace, span, flags = sent(w)
    assert trace.upper() not in (TRACE.upper(), "0" * 32) and flags == "01"
    assert request.parent is None and (request.trace, attempt.trace, attempt.id) == (trace, trace, span)
    assert "tracestate" not in names(w), "the state belongs to a trace that has ended"


async def test_no_empty_tracestate_is_made_up():
    async with Collector() as c, Worker() as w, Launched(*c.flags, workers=[w]) as g:
        await g.post(CHAT, chat(), headers=[("traceparent", PARENT)])
    assert "tracestate" not in names(w)


async def test_a_parent_that_is_not_recorded_is_continued_unrecorded():
    async with Collector() as c, Worker() as w, Launched(*c.flags, workers=[w]) as g:
        await g.post(CHAT, chat(), headers=[("traceparent", PARENT[:-2] + "00")])
        trace, span, flags = sent(w)
        assert trace == TRACE and span != SPAN and flags == "00"
        await g.post(CHAT, chat(), headers=[("traceparent", PARENT)])
        await c.has(2)


async def test_streamed_uploads_and_answers_are_traced():
    async with Collector() as c, Worker() as w, Launched(
            *c.flags, "--max-buffered-request-bytes", "10", workers=[w]) as g:
        await g.post(CHAT, chat(stream=True), headers=[("traceparent", PARENT)])
        request, attempt = await c.has(2)
    assert sent(w) == (TRACE, attempt.id, "01")
    assert request["smg.body_path"] == "streamed" and request["http.response.status_code"] == "200"


async def test_each_attempt_is_a_span():
    async def fail(ex):
        await ex.read_body()
        await ex.reply_json({}, 503)

    async with Collector() as c, Worker(handler=fail) as bad, Worker() as good, Launched(
            *c.flags, "--retry-initial-backoff-ms", "1", workers=[bad, good]) as g:
        for _ in range(2):
            assert (await g.post(CHAT, chat(), headers=[("traceparent", PARENT)])).status == 200
        await eventually(lambda: [s.kind for s in c.spans].count(SERVER) == 2, 10)
        spans = c.spans
    retried = next(s for s in spans if s["smg.worker.url"] == bad.url)
    request = next(s for s in spans if s.id == retried.parent)
    again = next(s for s in spans if s.parent == request.id and s is not retried)
    assert (retried["http.response.status_code"], retried["error.type"], retried.status) == ("503", "503", 2)
    assert (again["smg.worker.url"], again["http.request.resend_count"], again.status) == (good.url, "1", 0)
    assert retried["http.request.resend_count"] is None and request.status == 0
    assert sent(bad, 0)[1] == retried.id and again.id in (sent(good, 0)[1], sent(good, 1)[1])


async def test_both_workers_of_a_pair_continue_the_trace():
    async with Collector() as c, Worker() as p, Worker() as d, Launched(
            *c.flags, "--pd-disaggregation", "--prefill", p.url, "none", "--decode", d.url, policy=None) as g:
        await g.wait_for(lambda ws: len(ws) == 2 and all(w["is_healthy"] for w in ws))
        assert (await g.post(CHAT, chat(), headers=[("traceparent", PARENT)])).status == 200
        request, *attempts = await c.has(3)
    assert {a.parent for a in attempts} == {request.id}
    assert {a["smg.worker.url"]: (TRACE, a.id, "01") for a in attempts} == {p.url: sent(p), d.url: sent(d)}
    assert [a["http.response.status_code"] for a in attempts] == ["200", "200"]


async def test_failures_are_told():
    async with Collector() as c, Worker() as w, Launched(
            *c.flags, "--disable-retries", "--disable-health-check", workers=[w]) as g:
        assert (await g.post("/v1/rerank", {"model": "unknown", "query": "q", "documents": ["d"]})).status == 404
        assert (await g.post("/v1/rerank", body=b"{")).status == 400
        await w.close()
        assert (await g.post(CHAT, chat())).status == 502
        unknown, malformed, refused, attempt = await c.has(4)
    assert (unknown["smg.error_code"], unknown["http.response.status_code"]) == ("model_not_found", "404")
    assert malformed.status == 0 and malformed["error.type"] is None
    assert refused.status == attempt.status == 2
    assert refused["error.type"] == attempt["error.type"] == "call_upstream_request_error"
    assert refused["http.response.status_code"] == "502" and attempt["http.response.status_code"] is None


async def test_a_client_that_leaves_ends_its_spans():
    async def stuck(ex):
        await ex.read_body()
        await ex.gone()

    async with Collector() as c, Worker(handler=stuck) as w, Launched(*c.flags, workers=[w]) as g:
        with pytest.raises(asyncio.TimeoutError):
            await g.request("POST", CHAT, body=json.dumps(chat()).encode(), timeout=0.5)
        request, attempt = await c.has(2)
    assert request["smg.error_code"] == attempt["smg.error_code"] == "client_disconnected"
    assert request.status == attempt.status == 0 and request["http.response.status_code"] is None


async def test_probes_and_health_checks_are_not_traced():
    async with Collector() as c, Worker() as w, Launched(
            *c.flags, "--health-check-interval-secs", "1", workers=[w]) as g:
        for path in ("/health", "/liveness", "/readiness", "/nowhere"):
            await g.get(path, headers=[("traceparent", PARENT)])
        asked = len(w.probes)
        await eventually(lambda: len(w.probes) >= asked + 2)
        assert all(probe.header("traceparent") is None for probe in w.probes)
        await g.get("/workers", headers=[("traceparent", PARENT)])
        await eventually(lambda: any(span.parent == SPAN for span in c.all_spans))
    assert {span["http.route"] for span in c.all_spans} == {"/workers"}


async def test_secrets_do_not_reach_the_collector():
    canaries = ["prompt-canary", "key-canary", "worker-canary", "query-canary", "state-of-canary", "guess-canary"]
    async with Collector() as c, Worker() as w, Launched(
            *c.flags, "--api-key", canaries[1], await_workers=False) as g:
        added = await g.post("/workers", {"url": w.url, "api_key": canaries[2]}, headers=bearer(canaries[1]))
        assert added.status in (200, 201, 202)

        async def served() -> bool:
            r = await g.post(f"{CHAT}?token={canaries[3]}", chat(canaries[0]), headers=bearer(canaries[1]))
            return r.status == 200

        await eventually(served)
        await g.post(CHAT, chat(canaries[0]), headers=bearer(canaries[5]))
        await g.post(CHAT, body=f'{{"{canaries[0]}'.encode(), headers=bearer(canaries[1]))
        await g.get(f"/workers?key={canaries[3]}", headers=bearer(canaries[5]))
        await eventually(lambda: {"200", "400", "401"} <= {s["http.response.status_code"] for s in c.spans})
        await eventually(lambda: any(s.raw["name"] == "GET /workers" for s in c.all_spans))
    told = b"".join(c.bodies).decode() + g.log
    for canary in canaries:
        assert canary not in told


async def test_a_collector_that_asks_for_patience_gets_the_batch_again():
    answers = iter([503, 429])

    async def busy(ex) -> bool:
        status = next(answers, None)
        if status:
            await ex.reply(status, b"")
        return status is not None

    async with Collector() as c, Worker() as w, Launched(*c.flags, workers=[w]) as g:
        c.answer = busy
        await g.post(CHAT, chat())
        await c.has(2)
        await all_exported(g, c)
        await eventually(lambda: "traces reach the collector again" in g.log)
        assert "traces cannot be delivered" in g.log


async def test_what_a_collector_refuses_is_dropped():
    async def refuse(ex) -> bool:
        await ex.reply(400, b"")
        return True

    async with Collector() as c, Worker() as w, Launched(*c.flags, workers=[w]) as g:
        c.answer = refuse
        await g.post(CHAT, chat())

        async def counted() -> bool:
            return await dropped(g, "rejected") >= 2

        await eventually(counted)
        c.answer = None
        await g.post(CHAT, chat())
        await c.has(2)


@pytest.mark.parametrize("silent", [False, True], ids=["dead", "silent"])
async def test_a_collector_that_does_not_answer_costs_requests_nothing(silent):
    async with Collector() as c, Worker() as w, Launched(*c.flags, "--shutdown-grace-period-secs", "4",
                                                         workers=[w]) as g:
        if silent:
            c.answer = lambda ex: asyncio.Event().wait()
        else:
            await c.close()
        for _ in range(10):
            answers = await asyncio.gather(*(g.post(CHAT, chat()) for _ in range(60)))
            assert all(r.status == 200 for r in answers)
        assert (await g.metrics()).value("smg_trace_spans_exported_total") == 0
        g.process.terminate()
        started = time.monotonic()
        assert await asyncio.wait_for(g.process.wait(), 10) == 0
        # Half the grace period is for load balancers; the traces get a second at most.
        assert time.monotonic() - started < 3.9


async def test_the_last_spans_are_delivered_at_the_end():
    async with Collector() as c, Worker() as w, Launched(*c.flags, "--shutdown-grace-period-secs", "4",
                                                         workers=[w]) as g:
        for _ in range(3):
            await g.post(CHAT, chat())
            g.process.terminate()
        assert await asyncio.wait_for(g.process.wait(), 10) == 0
        assert len(c.spans) == 6


async def test_without_tracing_the_context_passes_unchanged_and_nothing_is_shown():
    async with Worker() as w, Launched(workers=[w]) as g:
        await g.post(CHAT, chat(), headers=[("traceparent", "any"), ("tracestate", "thing")])
        assert "smg_trace" not in (await g.metrics()).text
    assert (w.seen[0].header("traceparent"), w.seen[0].header("tracestate")) == ("any", "thing")
