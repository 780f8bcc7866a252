"""`--enable-igw`: workers of several models, added while the gateway runs."""

import pytest

from binary import *
from upstream import add_worker

CHAT = "/v1/chat/completions"


async def test_the_model_of_the_body_chooses_the_workers():
    async with Worker("alpha") as a, Worker("beta") as b, Launched("--enable-igw") as g:
        assert (await g.get("/readiness")).status == 503
        await add_worker(g, a, labels={"policy": "random"})
        await add_worker(g, b)
        assert (await g.get("/readiness")).status == 200
        for model in ["alpha", "beta", "beta"]:
            assert (await g.post(CHAT, chat(model=model))).status == 200
        assert (len(a.seen), len(b.seen)) == (1, 2)
        metrics = await g.metrics()
        selections = "smg_worker_selection_total"
        assert metrics.value(selections, model="alpha", policy="random") == 1
        assert metrics.value(selections, model="beta", policy="round_robin") == 2


async def test_an_unknown_model_is_not_found():
    async with Worker("alpha") as a, Launched("--enable-igw") as g:
        await add_worker(g, a)
        answer = await g.post(CHAT, chat(model="nope"))
        assert (answer.status, answer.error_code) == (404, "model_not_found")
        assert "nope" in answer.json()["error"]["message"]


@pytest.mark.parametrize("route,body", [("/generate", {"text": "hi"}), ("/v1/rerank", {"query": "q"})])
async def test_a_body_must_name_a_model(route, body):
    async with Worker("alpha") as a, Launched("--enable-igw") as g:
        await add_worker(g, a)
        answer = await g.post(route, body)
        assert (answer.status, answer.error_code) == (400, "missing_model")
        assert not a.seen
