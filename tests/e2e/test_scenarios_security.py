"""Rows A31 to A34 of the scenarios: registration, secrets, metric labels and request ids in hostile hands."""

import re
import tempfile
import time
from pathlib import Path

import pytest

from conformance.wire import bearer
from scenario import *

# A31 -----------------------------------------------------------------------------


class Decoy:
    """A listener that nobody is to connect to."""

    async def __aenter__(self) -> "Decoy":
        self.connections = 0

        def connected(reader, writer) -> None:
            self.connections += 1
            writer.close()

        self.server = await asyncio.start_server(connected, HOST, 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc) -> None:
        self.server.close()


ACCESS = {
    "one-key": (["--api-key", "k"], ["wrong", "K", "kk"], "k"),
    "roles": (["--control-plane-api-keys", "id1:n:admin:s1", "id2:n:user:s2"], ["wrong", "s2", "s", "s11"], "s1"),
}


@pytest.mark.parametrize("kind", ACCESS)
async def test_a31_registration_is_for_admins(kind):
    flags, others, admin = ACCESS[kind]
    async with scene(*flags, await_workers=False) as row, Decoy() as decoy:
        row.admin = bearer(admin)
        row.headers = bearer(admin) if kind == "one-key" else []
        await row.ready()
        body = json.dumps({"url": f"http://{HOST}:{decoy.port}"}).encode()
        refusals = set()
        for headers in map(bearer, others):
            for method in ("POST", "PUT", "DELETE", "GET"):
                for path in ("/workers", "/workers/x"):
                    answer = await row.g.request(method, path, body=body, headers=headers)
                    assert answer.status in (401, 403), (method, path, headers)
                    refusals.add((answer.status, answer.body))
        for path in ("/workers", "/workers/x"):
            assert (await row.g.request("POST", path, body=body)).status == 401
        # What is wrong with a key is not told.
        assert len([r for r in refusals if r[0] == 401]) == 1
        await asyncio.sleep(0.3)
        assert decoy.connections == 0
        assert len(await row.worker_facts()) == 1
        assert kind == "one-key" or not any(b"s1" in log for log in row.w.logs)


async def test_a31_urls_that_are_refused_to_admins_too():
    async with scene() as row, Decoy() as decoy:
        at = f"{HOST}:{decoy.port}"
        for url in (f"http://u:p@{at}", "file:///etc/passwd", "gopher://h", f"gopher://{at}",
                    f"http://{at}/a/../b?x#y", f"HTTP://{at}", "http://" + "h" * MIB, None, "http://", f"//{at}"):
            answer = await row.g.post("/workers", {"url": url})
            assert answer.status in (400, 413, 422), (url and url[:60], answer.status)
            assert b"u:p" not in answer.body
        await asyncio.sleep(0.3)
        assert decoy.connections == 0
        assert len(await row.worker_facts()) == 1
        # What an admin may do: the answers of such addresses are not shown.
        for url in ("http://169.254.169.254", "http://[::ffff:127.0.0.1]:9"):
            answer = await row.g.post("/workers", {"url": url})
            assert answer.status == 202, url
            worker = answer.json()["worker_id"]
            assert (await row.g.request("DELETE", f"/workers/{worker}")).status == 202


async def test_a31_redirects_of_probes_are_not_followed():
    async with scene("--health-check-interval-secs", "1", "--health-failure-threshold", "1", workers=2) as row, \
            Decoy() as decoy:
        async def elsewhere(ex: Exchange) -> None:
            await ex.read_body()
            await ex.reply(302, b"", headers=[("Location", f"http://{HOST}:{decoy.port}/")])

        moved = row.w
        moved.routes |= {path: elsewhere for path in ("/health", "/v1/models", "/server_info", "/get_server_info")}
        await row.g.wait_for(lambda ws: any(w["url"] == moved.url and not w["is_healthy"] for w in ws))
        assert decoy.connections == 0
        moved.routes.clear()
        await row.g.wait_for(lambda ws: all(w["is_healthy"] for w in ws))


# A32 -----------------------------------------------------------------------------

CANARY = "canary" + "7f3a"


def canary(name: str) -> str:
    return f"{CANARY}-{name}"


@PATHS
@pytest.mark.parametrize("form", [[], ["--log-json"]], ids=["text", "json"])
async def test_a32_no_secret_leaves_by_the_side(path, form):
    """At debug, the lowest level there is."""
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--api-key", canary("api"), "--control-plane-api-keys", f"a:n:admin:{canary('admin')}",
                 "--log-level", "debug", "--log-dir", folder, "--request-timeout-secs", "1",
                 "--control-plane-audit-enabled", "--cb-failure-threshold", "99", *form, *path]
        async with scene(*flags, await_workers=False) as row:
            row.headers, row.admin = bearer(canary("api")), bearer(canary("admin"))
            await row.ready()
            shown = await provoke(row)
            for what, text in shown.items():
                assert CANARY not in text, what
            assert CANARY not in row.g.log
            for file in Path(folder).iterdir():
                assert CANARY not in file.read_text(errors="replace"), file.name
            if form:
                for line in row.g.log.splitlines():
                    json.loads(line)
            # The command line shows its keys to whoever may look at the process.
            assert CANARY in Path(f"/proc/{row.g.process.pid}/cmdline").read_text()


async def provoke(row: Scene) -> dict[str, str]:
    """Everything that is told to somebody while things go wrong, by what it is."""
    shown: dict[str, str] = {}

    def keep(what: str, answer: Response) -> None:
        shown[what] = repr((answer.headers, answer.body.decode("latin1")))

    secrets = [("Cookie", canary("cookie")), ("X-Api-Key", canary("x-api-key"))]
    prompt = json.dumps(chat(canary("prompt"))).encode()
    keep("401", await row.post(prompt, headers=[*bearer(canary("stranger")), *secrets]))
    keep("400", await row.post(prompt[:-5], headers=row.headers + secrets))
    keep("404", await row.post(prompt.replace(b'"m"', b'"none"'), headers=row.headers))
    keep("405", await row.g.request("GET", CHAT, headers=row.headers + secrets))
    for status in (400, 500, 503):
        row.w.handler = reply(status, b'{"error":"x"}')
        keep(f"worker's {status}", await row.post(prompt, headers=row.headers + secrets))
    row.w.handler = reset
    keep("502", await row.post(prompt, headers=row.headers))
    row.w.handler = hold
    keep("504", await row.post(prompt, headers=row.headers))
    row.w.handler = row.w.default_handler
    keep("200", await row.post(prompt, headers=row.headers + secrets))

    async with Logged() as keyed:
        other = await row.g.post("/workers", {"url": keyed.url, "api_key": canary("worker")}, headers=row.admin)
        keep("registration", other)
        await eventually(lambda: any(p.header("authorization") == f"Bearer {canary('worker')}" for p in keyed.probes))
        keep("its worker", await row.g.get(f"/workers/{other.json()['worker_id']}", headers=row.admin))
        keep("workers", await row.g.get("/workers", headers=row.admin))
        await row.g.request("DELETE", f"/workers/{other.json()['worker_id']}", headers=row.admin)
        async def gone() -> bool:
            return len(await row.worker_facts()) == 1
        await eventually(gone)
    user_info = await row.g.post("/workers", {"url": f"http://{canary('user')}:{canary('pass')}@h:1"},
                                 headers=row.admin)
    assert user_info.status == 400
    keep("user info", user_info)
    keep("failed registration", await row.g.post(
        "/workers", {"url": f"http://{HOST}:{free_port()}", "api_key": canary("worker")}, headers=row.admin))
    await asyncio.sleep(0.2)
    for path in ("/get_server_info", "/v1/models", "/health", "/workers"):
        keep(path, await row.g.get(path, headers=row.admin))
    for worker in (await row.worker_facts())[1:]:
        await row.g.request("DELETE", f"/workers/{worker['id']}", headers=row.admin)
    shown["metrics"] = (await row.g.metrics()).text
    return shown


# A33 -----------------------------------------------------------------------------

LINE = re.compile(r'[a-zA-Z_:][\w:]*(\{([a-zA-Z_]\w*="([^"\\\n]|\\["\\n])*",?)*\})? [-+.\w]+( \d+)?')


def parse_strictly(text: str) -> int:
    """The number of series."""
    samples = [line for line in text.split("\n") if line and not line.startswith("#")]
    for line in samples:
        assert LINE.fullmatch(line), line[:300]
    return len(samples)


async def pipelined(port: int, requests: list[bytes], expected: bytes, at_once: int = 200) -> None:
    """Send all requests on one connection, and see as many answers with this status."""
    async with Client(port) as client:
        for i in range(0, len(requests), at_once):
            part = requests[i:i + at_once]
            client.writer.write(b"".join(part))
            got = b""
            while got.count(b"HTTP/1.1 ") < len(part) or not got.endswith(b"\r\n\r\n"):
                data = await asyncio.wait_for(client.reader.read(1 << 20), 10)
                assert data, got[-500:]
                got += data
                if got.endswith(b"}") and got.count(b"HTTP/1.1 ") == len(part):
                    break
            assert got.count(b"HTTP/1.1 " + expected) == len(part), got[:300]


def request_bytes(method: str, target: str, body: bytes = b"", *lines: str) -> bytes:
    fields = "".join(line + "\r\n" for line in ("Host: gw", "Content-Type: application/json", *lines))
    return f"{method} {target} HTTP/1.1\r\n{fields}Content-Length: {len(body)}\r\n\r\n".encode() + body


def naming(model: str) -> bytes:
    return BODY.replace(b'"model":"m"', b'"model":"%s"' % model.encode())


@PATHS
@pytest.mark.memory
async def test_a33_clients_choose_no_metric_labels(path):
    hostile = ['a\\"b', "a\\\\b", "a\\nb", "x" * MIB]
    invalid = BODY.replace(b'"m"', b'"\xff\xfe"')
    # A streamed body is not read, so each of those goes to the worker, in Python: fewer of them.
    count = 600 if path is STREAMED else 20_000
    async with scene(*path, policy="consistent_hashing") as row:
        async def load(n: int, tag: str) -> None:
            models = [naming(f"{tag}{i}") for i in range(n)]
            row.sent |= set(models) if path is STREAMED else set()
            status = b"200" if path is STREAMED else b"404"
            await pipelined(row.g.port, [request_bytes("POST", CHAT, body) for body in models], status)
            await pipelined(row.g.port, [request_bytes("GET", f"/{tag}/{i}") for i in range(n)], b"404")
            await pipelined(row.g.port, [request_bytes(f"M{tag}{i}", CHAT) for i in range(200)], b"405")
            await pipelined(row.g.port, [request_bytes("POST", CHAT, BODY, f"X-SMG-Routing-Key: {tag}{i}")
                                         for i in range(300)], b"200")

        await load(200, "warm")
        for name in hostile:
            row.sent.add(naming(name))
            await row.post(naming(name))
        row.sent.add(invalid)
        await row.g.post(CHAT, body=invalid)
        await row.at_rest()
        before, rss = parse_strictly((await row.g.metrics()).text), row.g.rss_bytes()
        await load(count, "more")
        await row.at_rest()
        started = time.monotonic()
        text = (await row.g.metrics()).text
        assert time.monotonic() - started < 0.5
        # Some series of the gateway's own may have had their first sample meanwhile.
        assert parse_strictly(text) < before + 100
        assert "more" not in text and "warm" not in text and "xxxx" not in text
        assert row.g.rss_bytes() - rss < 10 * MIB


# A34 -----------------------------------------------------------------------------

GENERATED = re.compile(r"chatcmpl-[A-Za-z0-9]{24}")
IDS = {
    "sound": (["mine"], "mine"),
    "60-KiB": (["x" * 60 * 1024], "x" * 256),
    "tab": (["a\tb"], "a\tb"),
    "escape": (["\x1b[2J"], None),
    "json": (['{"level":"error"}'], '{"level":"error"}'),
    "obs-text": ([bytes(range(0x80, 0x100)).decode("latin1")], None),
    "blanks": (["   "], None),
    "empty": ([""], None),
    "twice": (["one", "two"], "one"),
}


@PATHS
@pytest.mark.parametrize("header", ["x-request-id", "x-my-id"])
async def test_a34_request_ids(path, header):
    """An id of the client's that cannot be one is replaced by a new one, for the worker as for the client."""
    flags = ["--log-json", "--log-level", "debug", *path]
    if header != "x-request-id":
        flags += ["--request-id-headers", header]
    async with scene(*flags) as row:
        for name, (values, expected) in IDS.items():
            before = len(row.w.seen)
            answer = await row.post(headers=[(header, value) for value in values])
            if answer.status == 400:
                assert name == "escape"  # no valid field value at all
                continue
            assert answer.status == 200, name
            [echoed] = answer.header_all("x-request-id")
            assert echoed == expected if expected else GENERATED.fullmatch(echoed), (name, echoed[:80])
            seen = row.w.seen[before]
            if header == "x-request-id" or expected:
                assert seen.header("x-request-id") == echoed, name

        def told_of() -> int:
            # The last line may not be whole yet.
            records = [json.loads(line) for line in row.g.log.splitlines(keepends=True) if line.endswith("\n")]
            return len([r for r in records if CHAT in json.dumps(r)])

        await eventually(lambda: told_of() >= len(row.w.seen))
        assert told_of() == len(row.w.seen)
        assert max(len(line) for line in row.g.log.splitlines()) < 4096
