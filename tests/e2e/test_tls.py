"""TLS towards clients: both protocols over it, what does not get through, and a change of the certificate."""

import asyncio
import contextlib
import shutil
import signal
import ssl

import pytest

from binary import *
from wire import Certificates, H2Client, TlsGateway, TlsWorker


class Secured(TlsGateway, Launched):
    """`smg launch` with a certificate."""


class TlsClient(Client):
    """An HTTP/1 client that has shaken hands."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        super().__init__(port)
        self.context = context

    async def __aenter__(self) -> "TlsClient":
        self.reader, self.writer = await asyncio.open_connection(
            HOST, self.port, ssl=self.context, server_hostname="localhost", limit=1 << 20)
        return self

    async def post(self, path: str, fields: dict) -> Response:
        body = json.dumps(fields).encode()
        await self.send_head("POST", path, [
            ("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        await self.send(body)
        return await self.response()

    @property
    def serial(self) -> str:
        return self.writer.get_extra_info("ssl_object").getpeercert()["serialNumber"]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("tls"))


def padded(size: int, **fields) -> dict:
    return chat(messages=[{"role": "user", "content": "x" * size}], **fields)


async def length_of_body(ex) -> None:
    await ex.reply_json({"received": len(await ex.read_body())})


@pytest.mark.parametrize("flags", [[], ["--max-buffered-request-bytes", "0", "--disable-retries"]],
                         ids=["buffered", "streamed"])
async def test_large_uploads(certificates, flags):
    sent = len(json.dumps(padded(5_000_000)))
    async with Worker(handler=length_of_body) as w, Secured(certificates, *flags, workers=[w]) as g:
        async with TlsClient(g.port, certificates.client_context("http/1.1")) as client:
            for _ in range(2):
                assert (await client.post("/v1/chat/completions", padded(5_000_000))).json() == {"received": sent}
        async with H2Client(g.port, certificates.client_context("h2")) as client:
            r = await client.request("POST", "/v1/chat/completions", json.dumps(padded(5_000_000)).encode())
            assert r.json() == {"received": sent}


@pytest.mark.parametrize("close", [True, False], ids=["close", "keep"])
async def test_large_answers_to_a_slow_reader(certificates, close):
    """The end of an answer is in nobody's buffer when the connection is closed behind it."""
    async def answer(ex):
        await ex.read_body()
        await ex.reply_json("y" * 6_000_000)

    async with Worker(handler=answer) as w, Secured(certificates, workers=[w]) as g:
        async with TlsClient(g.port, certificates.client_context("http/1.1")) as client:
            body = json.dumps(chat()).encode()
            await client.send_head("POST", "/v1/chat/completions", [
                ("Content-Type", "application/json"), ("Content-Length", str(len(body))),
                ("Connection", "close" if close else "keep-alive")], body)
            await asyncio.sleep(1)
            r = await client.response()
            assert r.complete and len(r.body) == 6_000_002
            if close:
                assert await client.reader.read() == b""


async def test_events_arrive_one_by_one(certificates):
    gate = asyncio.Event()

    async def stream(ex):
        await ex.read_body()
        await ex.start(200, [("Content-Type", "text/event-stream")])
        await ex.write(delta_event("a").encode())
        await gate.wait()
        await ex.write(b"data: [DONE]\n\n")
        await ex.end()

    async with Worker(handler=stream) as w, Secured(certificates, workers=[w]) as g:
        async with TlsClient(g.port, certificates.client_context()) as client:
            body = json.dumps(chat(stream=True)).encode()
            await client.send_head("POST", "/v1/chat/completions", [
                ("Content-Type", "application/json"), ("Content-Length", str(len(body)))], body)
            r = await client.head()
            pieces = client.pieces(r, 0)
            assert b'"a"' in await asyncio.wait_for(anext(pieces), 5)
            gate.set()
            assert b"".join([p async for p in pieces]).endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("how", ["close", "abort"])
async def test_a_client_that_leaves_is_noticed(certificates, how):
    left = asyncio.Event()

    async def wait(ex):
        await ex.read_body()
        await ex.gone()
        left.set()

    async with Worker(handler=wait) as w, Secured(certificates, workers=[w]) as g:
        async with TlsClient(g.port, certificates.client_context()) as client:
            task = asyncio.create_task(client.post("/v1/chat/completions", chat()))
            await eventually(lambda: w.seen)
            task.cancel()
            if how == "abort":
                client.reset()
        await asyncio.wait_for(left.wait(), 5)


async def test_a_new_certificate_is_taken_without_a_break(certificates, tmp_path):
    """SIGHUP: new handshakes see it, connections and streams go on; a bad one changes nothing."""
    mine = Certificates(tmp_path)
    for kind in ("pem", "key"):
        shutil.copy(certificates.path(f"client.{kind}"), mine.path(f"other.{kind}"))
    async with Worker() as w, Secured(mine, workers=[w]) as g:
        async def serial_now() -> str:
            context = ssl.create_default_context(cafile=mine.path("ca.pem"))
            context.load_verify_locations(certificates.path("ca.pem"))
            async with TlsClient(g.port, context) as client:
                return client.serial

        async with TlsClient(g.port, mine.client_context()) as client:
            first = client.serial
            assert await serial_now() == first
            for kind in ("pem", "key"):
                shutil.copy(mine.path(f"other.{kind}"), mine.path(f"server.{kind}"))
            g.process.send_signal(signal.SIGHUP)

            async def changed() -> bool:
                return await serial_now() != first
            await eventually(changed)
            assert (await client.post("/v1/chat/completions", chat())).status == 200

            second = await serial_now()
            shutil.copy(mine.path("client.key"), mine.path("server.key"))
            g.process.send_signal(signal.SIGHUP)
            await eventually(lambda: "the old one stays" in g.log)
            assert await serial_now() == second
            assert (await client.post("/v1/chat/completions", chat())).status == 200


async def test_without_tls_a_hangup_changes_nothing():
    async with Worker() as w, Launched(workers=[w]) as g:
        g.process.send_signal(signal.SIGHUP)
        assert (await g.post("/v1/chat/completions", chat())).status == 200


async def test_a_handshake_that_does_not_go_on_is_given_up(certificates):
    async with Secured(certificates) as g, Client(g.port) as silent, Client(g.port) as stuck:
        await stuck.send(b"\x16\x03\x01\x02\x00\x01")
        started = time.monotonic()
        for client in (silent, stuck):
            assert await asyncio.wait_for(client.reader.read(), 20) == b""
        assert 9 < time.monotonic() - started < 15


async def test_half_open_handshakes_do_not_hold_the_shutdown(certificates):
    async with Secured(certificates, "--shutdown-grace-period-secs", "8") as g, Client(g.port) as silent:
        await asyncio.sleep(0.3)
        started = time.monotonic()
        g.process.terminate()
        assert await asyncio.wait_for(g.process.wait(), 10) == 0
        assert time.monotonic() - started < 6  # half the grace, and nothing of the rest
        with contextlib.suppress(ConnectionError):
            assert await silent.reader.read() == b""


async def test_the_probe_port_speaks_in_the_clear(certificates):
    async with Worker() as w, Secured(certificates, workers=[w]) as g:
        for path in ("/liveness", "/readiness", "/health"):
            assert (await request(g.probe_port, "GET", path)).status == 200


async def test_connections_are_counted_once(certificates):
    """Those that fail the handshake too: the least busy thread is found by that number."""
    async with Worker() as w, Secured(certificates, "--shutdown-grace-period-secs", "2", workers=[w]) as g:
        for _ in range(20):
            async with Client(g.port) as client:
                await client.send(b"GET / HTTP/1.1\r\n\r\n")
                with contextlib.suppress(ConnectionError):
                    await client.reader.read()
        async with TlsClient(g.port, certificates.client_context()) as client:
            assert (await client.post("/v1/chat/completions", chat())).status == 200
        g.process.terminate()
        assert await asyncio.wait_for(g.process.wait(), 10) == 0
        assert "cutting off" not in g.log


# Towards workers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("authority, trusted", [("ca.pem", True), ("other-ca.pem", False)])
async def test_the_systems_authorities_are_asked(certificates, authority, trusted):
    """They are read when the first workers want them: several at a time here."""
    system = {"SSL_CERT_FILE": certificates.path(authority), "SSL_CERT_DIR": "/nonexistent"}
    async with TlsWorker(certificates) as a, TlsWorker(certificates) as b:
        async with Launched("--worker-startup-timeout-secs", "2", "--worker-startup-check-interval", "1",
                            workers=[a, b], await_workers=False, env=system) as g:
            if trusted:
                await g.wait_for(lambda ws: len(ws) == 2 and all(w["is_healthy"] for w in ws))
                assert (await g.post("/v1/chat/completions", chat())).status == 200
            else:
                async def refused() -> bool:
                    return "certificate" in g.log

                await eventually(refused, 10)
                assert not any(w["is_healthy"] for w in await g.worker_list())
