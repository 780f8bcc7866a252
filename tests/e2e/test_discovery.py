"""Workers that are pods: found, watched and let go, with an API server that is sometimes not there."""

import asyncio
import contextlib
import copy
import signal

import pytest

from binary import *
from kubernetes_api import ApiServer, TlsApiServer, event, pod, refusal
from wire import Certificates

TOKEN = "first-token-of-the-account"


class Discovering(Launched):
    """`smg launch` that looks for pods with the label app=vllm."""

    def __init__(self, api, folder, *flags: str, selector: str | None = "app=vllm", **options) -> None:
        self.token = folder / "token"
        self.token.write_text(TOKEN + "\n")
        flags = (*(["--selector", selector] if selector else []), *flags)
        super().__init__("--service-discovery", "--service-discovery-port", "9", "--kubernetes-api-url", api.url,
                         "--kubernetes-token-path", str(self.token), *flags, await_workers=False, **options)

    async def serves(self, *workers: Worker) -> list[dict]:
        wanted = sorted(w.url for w in workers)
        return await self.wait_for(lambda ws: sorted(w["url"] for w in ws if w["is_healthy"]) == wanted
                                   and len(ws) == len(wanted))


@contextlib.asynccontextmanager
async def engines(count: int):
    async with contextlib.AsyncExitStack() as stack:
        yield [await stack.enter_async_context(Worker()) for _ in range(count)]


def changed(manifest: dict, **conditions: str) -> dict:
    manifest = copy.deepcopy(manifest)
    for condition in manifest["status"]["conditions"]:
        condition["status"] = conditions.get(condition["type"], condition["status"])
    return manifest


async def watching(api, count: int = 1) -> None:
    """Until the gateway has begun its `count`th watch, and it is open."""
    await eventually(lambda: len(api.watched()) >= count and api.watches, timeout=10)


async def test_the_fleet_follows_the_ready_pods(tmp_path):
    async with engines(4) as (a, b, c, d), ApiServer() as api:
        api.apply(pod("a", a.port))
        api.apply(pod("b", b.port, ready=False))
        api.apply(pod("c", c.port, phase="Pending", ip=""))
        api.apply(pod("d", d.port, labels={"app": "other"}))
        async with Discovering(api, tmp_path) as g:
            [worker] = await g.serves(a)
            assert worker["labels"]["smg.ai/pod-name"] == "a" and worker["labels"]["smg.ai/pod-uid"] == "uid-a"
            assert (await g.post("/v1/chat/completions", chat())).status == 200

            api.apply(changed(api.pods["b"], Ready="True"))
            api.apply(pod("c", c.port))
            await g.serves(a, b, c)
            api.apply(pod("d", d.port))
            await g.serves(a, b, c, d)

            api.apply(changed(api.pods["b"], Ready="False"))
            api.delete("c")
            await g.serves(a, d)
            api.apply(pod("a", a.port, deletionTimestamp="2030-01-01T00:00:00Z"))
            api.apply(pod("d", d.port, labels={"app": "other"}))
            await g.serves()
            api.apply(changed(api.pods["b"], Ready="True"))
            await g.serves(b)

            assert {path for path, _, _ in api.asked} == {"/api/v1/pods"}
            assert {token for _, _, token in api.asked} == {TOKEN}
            assert len(api.lists()) == len(api.watched()) == 1
            assert api.watched()[0]["resourceVersion"] == "104"
            metrics = await g.metrics()
            assert metrics.value("smg_discovery_workers_discovered", source="kubernetes") == 1
            assert metrics.value("smg_discovery_registrations_total", source="kubernetes", result="success") == 5
            assert metrics.value("smg_discovery_deregistrations_total", source="kubernetes", reason="reconciled") == 4
            assert metrics.value("smg_discovery_sync_duration_seconds_count", source="kubernetes") >= 2
            assert TOKEN not in g.log and TOKEN not in metrics.text


async def test_a_running_answer_ends_when_its_pod_becomes_unready(tmp_path):
    release = asyncio.Event()

    async def answer(ex):
        await ex.read_body()
        await release.wait()
        await ex.reply_json(chat_answer("late"))

    async with Worker(handler=answer) as w, ApiServer() as api:
        api.apply(pod("a", w.port))
        async with Discovering(api, tmp_path) as g:
            await g.serves(w)
            asking = asyncio.create_task(g.post("/v1/chat/completions", chat()))
            await eventually(lambda: w.seen)
            api.apply(changed(api.pods["a"], Ready="False"))
            await g.wait_for(lambda ws: ws == [] or ws[0]["status"] == "draining")
            release.set()
            assert (await asking).json()["choices"][0]["message"]["content"] == "late"
            await g.serves()


async def test_lists_come_in_pages(tmp_path):
    async with engines(5) as workers, ApiServer() as api:
        api.page_limit = 2
        for number, worker in enumerate(workers):
            api.apply(pod(f"p{number}", worker.port))
        api.refuse_lists = [500]
        async with Discovering(api, tmp_path) as g:
            await g.serves(*workers)
            assert [query.get("continue") for query in api.lists()] == [None, None, "2", "4"]
            assert all(query["limit"] == "250" for query in api.lists())


async def test_one_pod_may_have_several_workers_and_a_key_for_them(tmp_path):
    async with engines(2) as (a, b), ApiServer() as api:
        api.apply(pod("p", annotations={"smg.ai/worker-ports": f"{a.port}, {b.port}"}))
        async with Discovering(api, tmp_path, "--api-key", "fleet-key") as g:
            bearer = [("Authorization", "Bearer fleet-key")]
            await eventually(lambda: a.probes and b.probes, timeout=10)
            for _ in range(2):
                await eventually(lambda: ready(g, bearer), timeout=10)
                assert (await g.post("/v1/chat/completions", chat(), headers=bearer)).status == 200
            assert [w.seen[0].header("authorization") for w in (a, b)] == ["Bearer fleet-key"] * 2


async def ready(g, headers) -> bool:
    return len((await g.get("/v1/models", headers=headers)).json().get("data", [])) > 0 and (
        await g.get("/workers", headers=headers)).json()["total"] == 2


async def test_pods_name_their_models(tmp_path):
    async with engines(2) as (a, b), ApiServer() as api:
        api.apply(pod("a", a.port, labels={"app": "vllm", "model": "large"}))
        api.apply(pod("b", b.port))
        async with Discovering(api, tmp_path, "--model-id-from", "label:model") as g:
            workers = {w["url"]: w for w in await g.serves(a, b)}
            assert [workers[w.url]["model_id"] for w in (a, b)] == ["large", "m"]
            assert workers[a.url]["models"][0]["aliases"] == ["m"]
            for _ in range(2):
                assert (await g.post("/v1/chat/completions", chat(model="large"))).status == 200
            assert (len(a.seen), len(b.seen)) == (2, 0)
            # Another name without a pause in service, under the same id.
            api.apply(pod("a", a.port, labels={"app": "vllm", "model": "larger"}))
            await g.wait_for(lambda ws: {w["model_id"] for w in ws} == {"larger", "m"})
            assert {w["id"] for w in await g.worker_list()} == {w["id"] for w in workers.values()}


async def test_a_cut_watch_goes_on_where_it_was(tmp_path):
    async with engines(3) as (a, b, c), ApiServer() as api:
        api.apply(pod("a", a.port))
        async with Discovering(api, tmp_path) as g:
            await g.serves(a)
            await watching(api)
            api.apply(pod("b", b.port))
            await g.serves(a, b)
            await api.cut_watches()
            api.apply(pod("c", c.port))
            api.delete("a")
            await g.serves(b, c)
            assert [query["resourceVersion"] for query in api.watched()] == ["101", "102"]
            version = await api.bookmark()
            api.apply(pod("a", a.port))  # So that the bookmark has been read.
            await g.serves(a, b, c)
            await api.cut_watches()
            await watching(api, 3)
            assert int(api.watched()[-1]["resourceVersion"]) == int(version) + 1
            assert len(api.lists()) == 1


@pytest.mark.parametrize("how", ["event", "status", "nonsense"])
async def test_a_lost_history_is_listed_again(tmp_path, how):
    async with engines(2) as (a, b), ApiServer() as api:
        api.apply(pod("a", a.port))
        async with Discovering(api, tmp_path) as g:
            await g.serves(a)
            await watching(api)
            api.refuse_watches = [410] if how == "status" else []
            if how == "nonsense":
                await api.send_to_watches(b"{nonsense\n")
            # Nobody tells of this.
            cutting = asyncio.create_task(api.cut_watches())
            api.apply(pod("b", b.port))
            api.delete("a")
            api.forget()
            await cutting
            await g.serves(b)
            assert len(api.lists()) == 2


async def test_the_gateway_serves_without_the_api_server(tmp_path):
    async with engines(2) as (a, b):
        api = ApiServer()
        api.apply(pod("b", b.port))
        async with Discovering(api, tmp_path, workers=[a]) as g:
            await g.serves(a)
            assert (await g.post("/v1/chat/completions", chat())).status == 200
            assert (await g.get("/readiness")).status == 200
            await eventually(lambda: failures(g), timeout=10)
            async with api:
                await g.serves(a, b)
                await watching(api)
            # Gone again: the fleet stays.
            before = await failures(g)
            await eventually(lambda: more_failures(g, before), timeout=10)
            assert {w["url"] for w in await g.worker_list()} == {a.url, b.url}
            api.delete("b")
            async with api:
                await g.serves(a)


async def failures(g) -> float:
    return (await g.metrics()).value("smg_discovery_api_failures_total", source="kubernetes")


async def more_failures(g, before: float) -> bool:
    return await failures(g) > before


@pytest.mark.parametrize("status", [403, 429, 500])
async def test_a_refusal_changes_nothing(tmp_path, status):
    async with engines(2) as (a, b), ApiServer() as api:
        api.apply(pod("a", a.port))
        async with Discovering(api, tmp_path) as g:
            await g.serves(a)
            await watching(api)
            api.refuse_watches = [status] * 2
            await api.cut_watches()
            await watching(api, 4)
            assert [w["url"] for w in await g.worker_list()] == [a.url]
            api.apply(pod("b", b.port))
            await g.serves(a, b)
            assert len(api.lists()) == 1
            assert "too old resource version" in g.log


async def test_tokens_are_read_anew_and_the_authority_is_checked(tmp_path):
    certificates = Certificates(tmp_path)
    async with engines(1) as (a,), TlsApiServer(certificates) as api:
        api.tokens = {TOKEN}
        api.apply(pod("a", a.port, namespace="serving"))
        flags = ["--kubernetes-ca-cert-path", certificates.path("ca.pem"), "--service-discovery-namespace", "serving"]
        async with Discovering(api, tmp_path, *flags) as g:
            await g.serves(a)
            await watching(api)
            assert {path for path, _, _ in api.asked} == {"/api/v1/namespaces/serving/pods"}
            # The running watch goes on with the old token, the next one has the new.
            api.tokens = {"second-token"}
            g.token.write_text("second-token")
            await api.cut_watches()
            await watching(api, 2)
            assert [token for _, _, token in api.asked] == [TOKEN, TOKEN, "second-token"]
            api.delete("a")
            await g.serves()
            assert "second-token" not in g.log
    flags[1] = certificates.path("other-ca.pem")
    async with TlsApiServer(certificates) as api, Discovering(api, tmp_path, *flags) as g:
        await eventually(lambda: failures(g), timeout=10)
        assert api.asked == []


async def test_workers_come_back_as_long_as_their_pods_are_ready(tmp_path):
    async with engines(1) as (a,), ApiServer() as api:
        api.apply(pod("a", a.port))
        flags = ["--health-check-interval-secs", "1", "--health-failure-threshold", "1"]
        async with Discovering(api, tmp_path, *flags) as g:
            [worker] = await g.serves(a)
            assert (await g.request("DELETE", f"/workers/{worker['id']}")).status == 202
            await g.wait_for(lambda ws: [w["id"] for w in ws if w["is_healthy"]] not in ([], [worker["id"]]))
            # Unhealthy for long: removed, which is the default with discovery, and registered once it is healthy.
            a.healthy = False
            await g.wait_for(lambda ws: ws == [])
            a.healthy = True
            await g.serves(a)


async def test_a_new_pod_at_an_old_address_is_a_new_worker(tmp_path):
    async with engines(1) as (a,), ApiServer() as api:
        api.apply(pod("a", a.port))
        async with Discovering(api, tmp_path) as g:
            [old] = await g.serves(a)
            api.apply(pod("a", a.port, uid="another"))
            [new] = await g.wait_for(lambda ws: [w["labels"]["smg.ai/pod-uid"] for w in ws if w["is_healthy"]]
                                     == ["another"])
            assert new["id"] != old["id"]


async def test_workers_of_others_are_left_alone(tmp_path):
    async with engines(2) as (a, b), ApiServer() as api:
        api.apply(pod("a", a.port))
        async with Discovering(api, tmp_path, workers=[a]) as g:
            await g.serves(a)
            await eventually(lambda: duplicates(g), timeout=10)
            api.apply(pod("b", b.port))
            await g.serves(a, b)
            api.delete("a")
            api.delete("b")
            await g.serves(a)
            assert await duplicates(g) == 1


async def duplicates(g) -> float:
    return (await g.metrics()).value("smg_discovery_registrations_total", source="kubernetes", result="duplicate")


async def test_pods_are_not_kept_in_the_state_file(tmp_path):
    state = tmp_path / "state.json"
    async with engines(1) as (a,), ApiServer() as api:
        api.apply(pod("a", a.port))
        async with Discovering(api, tmp_path, "--state-file", str(state)) as g:
            [worker] = await g.serves(a)
            patched = await g.request("PATCH", f"/workers/{worker['id']}", body=b'{"priority":7}',
                                      headers=[("Content-Type", "application/json")])
            assert patched.status == 202
            assert [w["priority"] for w in await g.worker_list()] == [7]
            assert not state.exists() or a.url not in state.read_text()


async def test_pairs_are_found_by_two_selectors(tmp_path):
    async with engines(2) as (prefill, decode), ApiServer() as api:
        api.apply(pod("p", prefill.port, labels={"role": "prefill"}, annotations={"sglang.ai/bootstrap-port": "9001"}))
        api.apply(pod("d", decode.port, labels={"role": "decode"}))
        flags = ["--pd-disaggregation", "--prefill-selector", "role=prefill", "--decode-selector", "role=decode"]
        async with Discovering(api, tmp_path, *flags, selector=None) as g:
            workers = {w["url"]: w for w in await g.serves(prefill, decode)}
            assert [workers[w.url]["worker_type"] for w in (prefill, decode)] == ["prefill", "decode"]
            assert (await g.post("/v1/chat/completions", chat())).status == 200
            assert [w.seen[0].json()["bootstrap_port"] for w in (prefill, decode)] == [9001, 9001]
            # Another role is another worker.
            api.apply(pod("p", prefill.port, labels={"role": "decode"}))
            await g.wait_for(lambda ws: len(ws) == 2 and {w["worker_type"] for w in ws} == {"decode"})
            assert {query["labelSelector"] for query in api.lists()} == {"role=prefill", "role=decode"}


async def test_a_stop_does_not_wait_for_the_watch(tmp_path):
    async with ApiServer() as api:
        async with Discovering(api, tmp_path, "--shutdown-grace-period-secs", "0") as g:
            await watching(api)
            g.process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(g.process.wait(), 5) == 0
            await eventually(lambda: not api.watches)
