"""Prefill first, then decode, as vLLM wants it."""

import pytest

from pairs import *
from upstream import add_worker

CHAT = "/v1/chat/completions"
NIXL = b'{ "remote_engine_id": "E1",  "remote_block_ids": [[1, 2]], "remote_port": 5600}'


async def handing_over(ex: Exchange) -> None:
    await ex.read_body()
    answer = json.dumps(chat_answer()).encode()
    await ex.reply(200, answer[:-1] + b', "kv_transfer_params": ' + NIXL + b"}")


class Vllm:
    """A pair of vLLM workers under a gateway."""

    def __init__(self, *flags, connector=None, prefill=handing_over, decode=None, **spec):
        self.p, self.d = VllmWorker(handler=prefill), VllmWorker(handler=decode)
        self.g = Launched("--pd-disaggregation", *QUICK, *flags)
        self.spec = {**spec, **({"kv_connector": connector} if connector else {})}

    async def __aenter__(self):
        for part in (self.p, self.d, self.g):
            await part.__aenter__()
        await add_worker(self.g, self.p, worker_type="prefill", **self.spec)
        await add_worker(self.g, self.d, worker_type="decode", **self.spec)
        return self

    async def __aexit__(self, *exc):
        for part in (self.g, self.d, self.p):
            await part.__aexit__(*exc)


async def test_nixl_relays_what_prefill_says():
    async with Vllm(connector="NixlConnector") as pair:
        body = chat(max_completion_tokens=7, stream=True, stream_options={"include_usage": True}, min_tokens=3,
                    temperature=0.5)
        answer = await pair.g.post(CHAT, body)
        assert answer.status == 200 and answer.events()[-1] == "[DONE]"
        assert answer.header("x-smg-routed-worker-id") == pair.d.url
        first, second = pair.p.seen[0].json(), pair.d.seen[0].json()
        assert first == {**chat(temperature=0.5), "max_completion_tokens": 1, "stream": False,
                         "kv_transfer_params": {"do_remote_decode": True, "do_remote_prefill": False}}
        assert pair.d.seen[0].body == json.dumps(body).encode()[:-1] + b',"kv_transfer_params":' + NIXL + b"}"
        assert second["max_completion_tokens"] == 7
        metrics = await pair.g.metrics()
        assert metrics.value("smg_pd_kv_connector_mode_total", mode="nixl") == 1
        assert metrics.value("smg_pd_prefill_duration_seconds_count", runtime="vllm") == 1


async def test_nixl_goes_on_without_a_cache():
    async with Vllm(connector="NixlConnector", prefill=None) as pair:
        assert (await pair.g.post(CHAT, chat())).status == 200
        assert "kv_transfer_params" not in pair.d.seen[0].json()
        assert (await pair.g.metrics()).value("smg_pd_kv_transfer_failures_total") == 1


async def test_mooncake_names_the_transfer_itself():
    async with Vllm(connector="MooncakeConnector", kv_engine_id="eng-1", bootstrap_port=9443) as pair:
        assert (await pair.g.post("/v1/completions", {"model": "m", "prompt": "hi", "max_tokens": 9})).status == 200
        first, second = (s.json()["kv_transfer_params"] for s in (pair.p.seen[0], pair.d.seen[0]))
        transfer = first["transfer_id"]
        assert transfer.startswith("xfer-") and transfer[19] == "7"
        assert first == {"do_remote_decode": True, "do_remote_prefill": False, "transfer_id": transfer}
        assert second == {"do_remote_decode": False, "do_remote_prefill": True, "transfer_id": transfer,
                          "remote_engine_id": "eng-1", "remote_bootstrap_addr": "http://127.0.0.1:9443"}
        assert (pair.p.seen[0].json()["max_tokens"], pair.d.seen[0].json()["max_tokens"]) == (1, 9)


async def test_without_a_connector_only_what_prefill_says_counts():
    async with Vllm() as pair:
        assert (await pair.g.post(CHAT, chat())).status == 200
        assert "kv_transfer_params" not in pair.p.seen[0].json()
        assert pair.p.seen[0].json()["max_tokens"] == 1
        assert pair.d.seen[0].json()["kv_transfer_params"] == json.loads(NIXL)


async def test_several_samples_have_no_prefill():
    async with Vllm(connector="NixlConnector") as pair:
        assert (await pair.g.post(CHAT, chat(n=2))).status == 200
        assert not pair.p.seen and pair.d.seen[0].json() == chat(n=2)


@pytest.mark.parametrize("status", [400, 429, 503])
async def test_prefill_refuses(status):
    async with Vllm("--disable-retries", prefill=refusing(status)) as pair:
        answer = await pair.g.post(CHAT, chat(stream=True))
        assert (answer.status, answer.error_code) == (status, "prefill_upstream_error")
        assert not pair.d.seen


@pytest.mark.parametrize("side", ["prefill", "decode"])
async def test_one_breaks_off(side):
    async with Vllm("--disable-retries", **{side: break_off}) as pair:
        answer = await pair.g.post(CHAT, chat())
        assert (answer.status, answer.error_code) == (502, f"{side}_request_failed")
        at_fault, other = (pair.p, pair.d) if side == "prefill" else (pair.d, pair.p)
        metrics = await pair.g.metrics()
        assert outcomes(metrics, at_fault)["failure"] == 1 and outcomes(metrics, other)["failure"] == 0


async def test_decode_refuses():
    async with Vllm("--retry-max-retries", "2", decode=refusing(503)) as pair:
        answer = await pair.g.post(CHAT, chat())
        assert (answer.status, answer.error_code) == (503, "decode_unavailable")
        assert len(pair.p.seen) == len(pair.d.seen) == 2


@pytest.mark.parametrize("side", ["prefill", "decode"])
async def test_a_client_that_leaves_is_noticed(side):
    async with Vllm(**{side: hang}) as pair:
        waiting = pair.p if side == "prefill" else pair.d
        async with Client(pair.g.port) as client:
            body = json.dumps(chat()).encode()
            await client.send_head("POST", CHAT, [("Content-Type", "application/json"),
                                                  ("Content-Length", str(len(body)))], body)
            await until(lambda: waiting.seen)
        await until(lambda: waiting.seen[0].aborted)
        await pair.g.wait_for(lambda ws: all(w["load"] == 0 for w in ws))
