"""Tokens of an identity provider against a mock one: rotation, outages, and what strangers can make it do."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from binary import *
from wire import Issuer, bearer

WORKERS = "/workers"


def flags(issuer: Issuer, *more: str) -> list[str]:
    return ["--jwt-issuer", issuer.url, "--jwt-audience", "gateway", *more]


def asked(issuer: Issuer, path: str = "/jwks") -> int:
    return len([probe for probe in issuer.probes if probe.target == path])


async def call(g: Gateway, token: str) -> Response:
    return await g.get(WORKERS, headers=bearer(token))


def rotated(issuer: Issuer, folder: Path) -> Issuer:
    """The same issuer with a new key pair, named k2."""
    folder.mkdir()
    new = Issuer(folder)
    new.port = issuer.port
    new.keys["keys"][0]["kid"] = "k2"
    return new


def admin(issuer: Issuer, kid: str = "k1", **claims) -> str:
    return issuer.token(header={"kid": kid}, roles=["admin"], **claims)


async def test_rotated_keys_are_fetched_when_a_token_names_them(tmp_path):
    async with Issuer(tmp_path) as issuer, Launched(*flags(issuer), await_workers=False) as g:
        assert (await call(g, admin(issuer))).status == 200
        new = rotated(issuer, tmp_path / "new")
        assert (await call(g, admin(new, "k2"))).status == 401
        issuer.keys = new.keys
        assert (await call(g, admin(new, "k2"))).status == 200
        assert (await call(g, admin(issuer))).status == 401, "a key that has been withdrawn"


async def test_many_who_wait_cause_one_fetch(tmp_path):
    async with Issuer(tmp_path) as issuer, Launched(*flags(issuer), "--io-threads", "4", await_workers=False) as g:
        assert (await call(g, admin(issuer))).status == 200
        before, fetch, answer = asked(issuer), asyncio.Event(), issuer.routes["/jwks"]

        async def held(ex):
            await fetch.wait()
            await answer(ex)

        issuer.routes["/jwks"] = held
        calls = [asyncio.create_task(call(g, admin(issuer, "new"))) for _ in range(30)]
        await eventually(lambda: asked(issuer) == before + 1)
        assert (await g.get("/health")).status == 200
        assert (await call(g, admin(issuer))).status == 200, "known keys do not wait"
        issuer.keys["keys"][0]["kid"] = "new"
        fetch.set()
        assert [r.status for r in await asyncio.gather(*calls)] == [200] * 30
        assert asked(issuer) == before + 1


async def test_strangers_do_not_make_us_ask_the_issuer_all_the_time(tmp_path):
    async with Issuer(tmp_path) as issuer, Launched(*flags(issuer), await_workers=False) as g:
        for i in range(40):
            assert (await call(g, admin(issuer, f"made-up-{i}"))).status == 401
        assert asked(issuer) <= 6
        assert (await call(g, admin(issuer))).status == 200


async def test_an_unreachable_issuer_closes_and_a_reachable_one_opens(tmp_path):
    issuer = Issuer(tmp_path)
    async with Launched(*flags(issuer, "--control-plane-api-keys", "i:n:admin:adm"), await_workers=False) as g:
        refused = await call(g, admin(issuer))
        assert refused.status == 503 and int(refused.header("retry-after")) > 0
        assert (await g.get(WORKERS)).status == 401
        assert (await call(g, "adm")).status == 200, "keys work without the issuer"
        async with issuer:
            assert (await call(g, admin(issuer))).status == 200


@pytest.mark.parametrize("document", [
    {"issuer": "http://127.0.0.1:1", "jwks_uri": "{url}/jwks"}, {"issuer": "{url}"},
    {"issuer": "{url}", "jwks_uri": "http://192.0.2.1/jwks"}, ["no", "object"],
], ids=str)
async def test_a_document_that_is_not_the_issuers_opens_nothing(tmp_path, document):
    async with Issuer(tmp_path) as issuer:
        text = json.dumps(document).replace("{url}", issuer.url)

        async def discovery(ex):
            await ex.reply_json(json.loads(text))

        issuer.routes["/.well-known/openid-configuration"] = discovery
        async with Launched(*flags(issuer), await_workers=False) as g:
            assert (await call(g, admin(issuer))).status == 503
        assert asked(issuer) == 0


async def test_given_address_of_the_keys_needs_no_discovery(tmp_path):
    async with Issuer(tmp_path) as issuer:
        del issuer.routes["/.well-known/openid-configuration"]
        async with Launched("--jwt-issuer", "any name", "--jwt-audience", "gateway", "--jwt-jwks-uri",
                            f"{issuer.url}/jwks", await_workers=False) as g:
            assert (await call(g, admin(issuer, iss="any name"))).status == 200


async def test_environment_configures_tokens(tmp_path):
    async with Issuer(tmp_path) as issuer:
        env = {"JWT_ISSUER": issuer.url, "JWT_AUDIENCE": "gateway", "CONTROL_PLANE_API_KEYS": "i:n:admin:adm"}
        async with Launched(env=env, await_workers=False) as g:
            assert (await g.get(WORKERS)).status == 401
            assert (await call(g, admin(issuer))).status == 200
            assert (await call(g, "adm")).status == 200


async def test_a_silent_issuer_holds_nobody_else_up(tmp_path):
    async with Issuer(tmp_path) as issuer, Worker() as w:
        silent = asyncio.Event()

        async def wait(ex):
            await silent.wait()

        issuer.routes["/.well-known/openid-configuration"] = wait
        async with Launched(*flags(issuer), "--io-threads", "1", workers=[w], await_workers=False) as g:
            waiting = asyncio.create_task(call(g, admin(issuer)))
            left = asyncio.create_task(call(g, admin(issuer)))

            async def served() -> bool:
                return (await g.post("/v1/chat/completions", chat())).status == 200

            await eventually(served)
            left.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await left
            assert (await asyncio.wait_for(waiting, 15)).status == 503


async def test_the_audit_names_the_subject(tmp_path):
    async with Issuer(tmp_path) as issuer, Launched(
            *flags(issuer, "--control-plane-audit-enabled"), await_workers=False) as g:
        token = admin(issuer, sub="alice@example.test")
        await call(g, token)
        await call(g, issuer.token(sub="bob@example.test"))
        await call(g, "a.b.c")

        def audited() -> list[str]:
            return [line for line in g.log.splitlines() if "control_plane_audit" in line]

        await eventually(lambda: len(audited()) == 3)
        allowed, forbidden, invalid = audited()
        assert "principal=alice@example.test auth_method=jwt role=admin" in allowed and "success" in allowed
        assert "principal=bob@example.test auth_method=jwt role=user" in forbidden and "denied" in forbidden
        assert "principal=unauthenticated auth_method=none" in invalid and "Invalid JWT" in invalid
        assert token.split(".")[2] not in g.log


@pytest.mark.parametrize("form", [[], ["--log-json"]], ids=["text", "json"])
async def test_no_secret_shows_anywhere_but_at_the_worker_it_is_for(tmp_path, form):
    async with Issuer(tmp_path) as issuer, Worker() as plain, Worker() as keyed:
        canaries = ["canary-data", "canary-admin", "canary-user", "canary-worker", "canary-guess", "canary-cookie",
                    "canary-prompt"]
        keys = ["--api-key", "canary-data", "--control-plane-api-keys", "i:n:admin:canary-admin",
                "j:n:user:canary-user", "--control-plane-audit-enabled", "--log-level", "debug", *form]
        shown: list[str] = []
        async with Launched(*flags(issuer), *keys, workers=[plain], await_workers=False) as g:
            async def ask(method: str, path: str, body=None, key: str = "canary-guess", field: str = "bearer"):
                headers = bearer(key) if field == "bearer" else [("X-Api-Key", key)]
                data = json.dumps(body).encode() if body is not None else b""
                r = await g.request(method, path, body=data, headers=[*headers, ("Cookie", "canary-cookie")])
                shown.append(f"{r.status} {r.headers} {r.body!r}")
                return r

            token = admin(issuer)
            canaries += token.split(".")[1:]
            spec = {"url": keyed.url, "api_key": "canary-worker"}
            assert (await ask("POST", WORKERS, spec, "canary-admin")).status == 202

            async def both() -> bool:
                r = await ask("GET", WORKERS, key="canary-admin")
                return sum(w["is_healthy"] for w in r.json()["workers"]) == 2

            await eventually(both)
            for key in ("canary-data", "canary-admin", "canary-user", "canary-guess", token, token + "x"):
                for field in ("bearer", "x-api-key"):
                    for method, path in (("GET", WORKERS), ("POST", "/flush_cache"), ("GET", "/get_server_info"),
                                         ("GET", "/nowhere"), ("PUT", "/v1/messages")):
                        await ask(method, path, key=key, field=field)
                    for body in (chat("canary-prompt"), {"canary-prompt": 1}, "canary-prompt"):
                        await ask("POST", "/v1/chat/completions", body, key, field)
            plain.handler = keyed.handler = lambda ex: ex.abort()
            await ask("POST", "/v1/chat/completions", chat("canary-prompt"), "canary-data")
            shown.append((await request(g.metrics_port, "GET", "/metrics")).body.decode())
            shown.append(g.log)
        text = "\n".join(shown)
        assert [canary for canary in canaries if canary in text] == []
        assert {s.header("authorization") for s in plain.seen} == {"Bearer canary-data"}
        assert {s.header("authorization") for s in keyed.seen} == {"Bearer canary-worker"}
        for probe in plain.probes + keyed.probes:
            assert probe.header("authorization") in ("Bearer canary-data", "Bearer canary-worker")
            assert probe.header("cookie") is None and probe.header("x-api-key") is None
