"""Prefill and decode side by side, as SGLang wants it."""

import asyncio

import pytest

from pairs import *

CHAT = "/v1/chat/completions"


def tail_of(seen: Seen) -> dict:
    body = seen.json()
    return {key: body[key] for key in ("bootstrap_host", "bootstrap_port", "bootstrap_room")}


async def test_both_get_the_clients_bytes_and_a_meeting_place():
    async with Worker() as p, Worker() as d, Pairs(prefill=[p], decode=[d]) as g:
        body = b'{"zeta":1, "model" : "m","temperature": 0.50,"messages":[{"role":"user","content":"hi"}] }'
        answer = await g.post(CHAT, body=body, headers=[("Authorization", "Bearer CK"), ("X-Custom", "1")])
        assert answer.status == 200 and answer.json()["worker"] == d.port
        assert answer.header("x-smg-routed-worker-id") == d.url
        assert p.seen[0].body == d.seen[0].body
        text = p.seen[0].body
        assert text.startswith(body[:-1] + b',"bootstrap_host":"127.0.0.1","bootstrap_port":9001,"bootstrap_room":')
        assert 0 <= tail_of(p.seen[0])["bootstrap_room"] < 2 ** 63
        assert (p.seen[0].header("authorization"), p.seen[0].header("x-custom")) == ("Bearer CK", None)
        stats = (await g.get("/workers")).json()["stats"]
        assert stats == {"prefill_count": 1, "decode_count": 1, "regular_count": 0}
        workers = {w["url"]: w for w in await g.worker_list()}
        assert workers[p.url]["worker_type"] == "prefill" and workers[d.url]["worker_type"] == "decode"
        assert workers[p.url]["bootstrap_port"] == 9001 and "bootstrap_port" not in workers[d.url]
        assert workers[p.url]["pd_pairing"] == "sglang/?/?"


@pytest.mark.parametrize("route,fields,count", [
    (CHAT, {"messages": user("hi"), "n": 2}, 2),
    ("/v1/completions", {"prompt": ["a", "b", "c"]}, 3),
    ("/generate", {"input_ids": [[1], [2, 3]]}, 2),
    ("/generate", {"input_ids": [1, 2]}, None),
    ("/v1/completions", {"prompt": "a"}, None),
])
async def test_a_batch_has_a_room_for_each_sequence(route, fields, count):
    async with Worker() as p, Worker() as d, Pairs(prefill=[p], decode=[d], ports=False) as g:
        assert (await g.post(route, {"model": "m", **fields})).status == 200
        tail = tail_of(d.seen[0])
        if count is None:
            assert tail["bootstrap_port"] is None and isinstance(tail["bootstrap_room"], int)
        else:
            assert tail["bootstrap_host"] == ["127.0.0.1"] * count
            assert tail["bootstrap_port"] == [None] * count
            assert len(set(tail["bootstrap_room"])) == count


async def test_fields_of_the_client_do_not_lead_decode_astray():
    async with Worker() as p, Worker() as d, Pairs(prefill=[p], decode=[d]) as g:
        await g.post(CHAT, chat(bootstrap_host="evil", bootstrap_room=7, kv_transfer_params={"a": [1]}))
        assert d.seen[0].body.count(b"bootstrap_host") == d.seen[0].body.count(b"bootstrap_room") == 1
        assert tail_of(d.seen[0])["bootstrap_host"] == "127.0.0.1"
        assert "kv_transfer_params" not in d.seen[0].json()


async def test_decode_is_heard_only_once_prefill_has_ended():
    prefilled = asyncio.Event()

    async def slow_end(ex: Exchange) -> None:
        await ex.read_body()
        await ex.start(200, [("Content-Type", "text/event-stream")])
        await ex.write(b"data: {}\n\n")
        await prefilled.wait()
        await ex.end()

    async with Worker(handler=slow_end) as p, Worker() as d, Pairs(prefill=[p], decode=[d]) as g:
        asking = asyncio.create_task(g.post(CHAT, chat(stream=True)))
        done, _ = await asyncio.wait([asking], timeout=0.5)
        assert not done and len(d.seen) == 1
        prefilled.set()
        answer = await asking
        assert answer.status == 200 and answer.complete and answer.events()[-1] == "[DONE]"
        assert p.seen[0].json()["stream"] is d.seen[0].json()["stream"] is True
        await g.wait_for(lambda ws: all(w["load"] == 0 for w in ws))


async def test_prompt_logprobs_are_put_together():
    def generated(rows):
        async def handler(ex: Exchange) -> None:
            await ex.read_body()
            await ex.reply_json({"text": "t", "meta_info": {"id": "1", "input_token_logprobs": rows}},
                                headers=[("X-Foo", "1")])
        return handler

    first, second = [[-1.5, 1, None]], [[-2.5, 2, None]]
    async with Worker(handler=generated(first)) as p, Worker(handler=generated(second)) as d, \
            Pairs(prefill=[p], decode=[d]) as g:
        answer = await g.post("/generate", {"text": "hi", "return_logprob": True})
        assert answer.json()["meta_info"]["input_token_logprobs"] == first + second
        assert answer.header("content-length") == str(len(answer.body))
        plain = await g.post("/generate", {"text": "hi"})
        assert plain.json()["meta_info"]["input_token_logprobs"] == second


async def test_prompt_logprobs_go_into_every_event():
    async def whole(ex: Exchange) -> None:
        await ex.read_body()
        await ex.reply_json({"meta_info": {"input_token_logprobs": [1, 2]}})

    async def events(ex: Exchange) -> None:
        await ex.read_body()
        await ex.sse(['data: {"text":"a","meta_info":{"input_token_log', 'probs":[3]}}\n\ndata: {"text":"b"}\n\n',
                      'data: {"meta_info":{"input_token_logprobs":[]}}\n\n', "data: [DONE]\n\n"])

    async with Worker(handler=whole) as p, Worker(handler=events) as d, Pairs(prefill=[p], decode=[d]) as g:
        answer = await g.post("/generate", {"text": "hi", "return_logprob": True, "stream": True})
        assert [json.loads(e) for e in answer.events()[:-1]] == [
            {"text": "a", "meta_info": {"input_token_logprobs": [1, 2, 3]}}, {"text": "b"},
            {"meta_info": {"input_token_logprobs": [1, 2]}}]
        assert answer.events()[-1] == "[DONE]" and answer.complete


# ---- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("status,code", [(400, "decode_bad_request"), (404, "decode_not_found"),
                                         (429, "decode_error"), (503, "decode_unavailable")])
async def test_decode_refuses(status, code):
    async with Worker() as p, Worker(handler=refusing(status, "no", [("Retry-After", "7")])) as d, \
            Pairs("--disable-retries", prefill=[p], decode=[d]) as g:
        answer = await g.post(CHAT, chat())
        assert (answer.status, answer.error_code) == (status, code)
        assert answer.json()["error"]["message"] == "no" and answer.header("retry-after") == "7"
        metrics = await g.metrics()
        assert outcomes(metrics, p)["failure"] == 0
        assert outcomes(metrics, d)["failure"] == (1 if status >= 500 else 0)


async def test_decode_refuses_a_stream():
    async with Worker() as p, Worker(handler=refusing(503)) as d, \
            Pairs("--disable-retries", prefill=[p], decode=[d]) as g:
        answer = await g.post(CHAT, chat(stream=True))
        assert answer.status == 503 and answer.complete
        assert answer.header("content-type") == "text/event-stream"
        assert [json.loads(e) for e in answer.events()] == [
            {"error": {"message": {"error": {"message": "boom"}}, "status": 503}}]


@pytest.mark.parametrize("status,code", [(400, "prefill_bad_request"), (429, "prefill_error"),
                                         (500, "prefill_internal_error")])
@pytest.mark.parametrize("stream", [False, True])
async def test_prefill_refuses_and_decode_is_let_go(status, code, stream):
    async with Worker(handler=refusing(status, "no", [("Retry-After", "3")])) as p, Worker(handler=hang) as d, \
            Pairs("--disable-retries", prefill=[p], decode=[d]) as g:
        answer = await g.post(CHAT, chat(stream=stream))
        assert (answer.status, answer.error_code) == (status, code)
        assert answer.json()["error"]["message"].startswith(f"Prefill server error ({status} ")
        assert answer.header("retry-after") == "3"
        await until(lambda: d.seen[0].aborted)
        assert outcomes(await g.metrics(), d) == {"success": 0, "failure": 0}


@pytest.mark.parametrize("side,code", [("prefill", "prefill_request_failed"), ("decode", "decode_request_failed")])
async def test_one_breaks_off_and_the_other_is_let_go(side, code):
    broken, other = Worker(handler=break_off), Worker(handler=hang)
    p, d = (broken, other) if side == "prefill" else (other, broken)
    async with p, d, Pairs("--disable-retries", prefill=[p], decode=[d]) as g:
        answer = await g.post(CHAT, chat())
        assert (answer.status, answer.error_code) == (502, code)
        assert answer.header("x-smg-routed-worker-id") == broken.url
        assert len(broken.seen) == 2, "resent once"
        await until(lambda: other.seen[0].aborted)
        metrics = await g.metrics()
        assert outcomes(metrics, broken)["failure"] == 1 and outcomes(metrics, other)["failure"] == 0
        await g.wait_for(lambda ws: all(w["load"] == 0 for w in ws))


async def test_prefill_breaks_off_in_its_answer():
    async def half(ex: Exchange) -> None:
        await ex.read_body()
        await ex.start(200, [("Content-Type", "application/json"), ("Content-Length", "100")])
        await ex.write(b"{")
        await ex.abort()

    async with Worker(handler=half) as p, Worker() as d, Pairs("--disable-retries", prefill=[p], decode=[d]) as g:
        answer = await g.post(CHAT, chat())
        assert (answer.status, answer.error_code) == (502, "prefill_read_failed")


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_leaves_takes_both_along(stream):
    async with Worker(handler=hang) as p, Worker(handler=hang) as d, Pairs(prefill=[p], decode=[d]) as g:
        async with Client(g.port) as client:
            body = json.dumps(chat(stream=stream)).encode()
            await client.send_head("POST", CHAT, [("Content-Type", "application/json"),
                                                  ("Content-Length", str(len(body)))], body)
            await until(lambda: p.seen and d.seen)
        await until(lambda: p.seen[0].aborted and d.seen[0].aborted)
        metrics = await g.metrics()
        assert outcomes(metrics, p) == outcomes(metrics, d) == {"success": 0, "failure": 0}
        assert len(p.seen) == len(d.seen) == 1


async def test_a_retry_takes_another_pair_and_another_room():
    bad = refusing(503)
    async with Worker() as p, Worker(handler=bad) as d1, Worker(handler=bad) as d2, \
            Pairs("--retry-max-retries", "3", prefill=[p], decode=[d1, d2]) as g:
        answer = await g.post(CHAT, chat())
        assert (answer.status, answer.error_code) == (503, "decode_unavailable")
        assert len(p.seen) == 3 and min(len(d1.seen), len(d2.seen)) == 1
        assert len({tail_of(s)["bootstrap_room"] for s in p.seen}) == 3
        metrics = await g.metrics()
        for kind in ("prefill", "decode"):
            assert metrics.value("smg_worker_retries_total", worker_type=kind) == 2
            assert metrics.value("smg_worker_retries_exhausted_total", worker_type=kind) == 1
            assert metrics.value("smg_worker_selection_total", worker_type=kind) == 3
        assert metrics.value("smg_router_requests_total", backend_type="pd", endpoint="chat") == 1


async def test_workers_that_cannot_meet_are_no_pair():
    async with Worker() as p, Worker() as d, Launched("--pd-disaggregation", *QUICK) as g:
        answer = await g.post(CHAT, chat())
        assert (answer.status, answer.error_code) == (503, "no_available_workers")
        assert (await g.get("/readiness")).status == 503
        for worker, kind, connector in ((p, "prefill", "MooncakeConnector"), (d, "decode", "NixlConnector")):
            await g.post("/workers", {"url": worker.url, "worker_type": kind, "runtime_type": "vllm",
                                      "kv_connector": connector})
        workers = await g.wait_for(lambda ws: len(ws) == 2 and all(w["is_healthy"] for w in ws))
        assert {w["pd_pairing"] for w in workers} == {"vllm/mooncake/?", "vllm/nixl/?"}
        answer = await g.post(CHAT, chat())
        assert (answer.status, answer.error_code) == (503, "no_available_workers")
        assert not p.seen and not d.seen


async def test_routes_that_generate_nothing_are_not_shared():
    async with Worker() as p, Worker() as d, Pairs(prefill=[p], decode=[d]) as g:
        assert (await g.post("/v1/embeddings", {"model": "m", "input": "hi"})).status == 501
        assert (await g.post("/v1/responses", {"model": "m", "input": "hi"})).status == 200
        assert (await g.get("/v1/models")).json()["data"][0]["id"] == "m"


async def test_both_kinds_of_workers_of_one_model():
    from upstream import add_worker
    async with Worker() as p, Worker() as d, Worker() as w, Launched("--enable-igw", *QUICK) as g:
        await add_worker(g, p, worker_type="prefill", bootstrap_port=9)
        await add_worker(g, d, worker_type="decode")
        await add_worker(g, w)
        for _ in range(60):
            assert (await g.post(CHAT, chat())).status == 200
        assert len(p.seen) == len(d.seen) == 60 - len(w.seen)
        assert 5 < len(w.seen) < 40, "one of three workers is a whole one"


async def test_the_probes_look_at_both_roles():
    from upstream import add_worker
    async with Worker() as p, Worker() as d, Launched("--pd-disaggregation", *QUICK) as g:
        await add_worker(g, p, worker_type="prefill")
        assert (await g.get("/readiness")).status == (await g.get("/health_generate")).status == 503
        await add_worker(g, d, worker_type="decode")
        assert (await g.get("/readiness")).status == 200
        both = await g.get("/health_generate")
        assert both.status == 200 and p.url in both.body.decode() and d.url in both.body.decode()
        assert (await g.get("/get_server_info")).status == 200
        assert [s.target for s in d.probes].count("/get_server_info") == 0
