"""Rows A03, A04, A07, A12, A13 and A14 of the scenarios: workers that refuse, die, close or hang, and what the
circuit breakers and retries make of it."""

import socket
import statistics
import time

import pytest

from scenario import *

RESENDS = "smg_router_upstream_send_retries_total"


@PATHS
@pytest.mark.parametrize("body", [BODY, BODYS], ids=["whole", "stream"])
async def test_a03_client_errors_do_not_open_the_breaker(path, body):
    async with scene("--cb-failure-threshold", "3", *path) as row:
        for turn in range(20):
            status = (400, 401, 404, 413, 422)[turn % 5]
            error = json.dumps({"error": {"message": "x" * (turn * 37)}}).encode()
            row.w.handler = reply(status, error)
            answer = await row.post(body)
            assert (answer.status, answer.body) == (status, error)
            assert len(row.w.seen) == turn + 1
        row.w.handler = row.w.default_handler
        assert (await row.post(body)).status == 200
        assert await row.breakers() == [0]
        assert (await row.g.metrics()).value("smg_worker_cb_consecutive_failures") == 0


# 429, like other 4xx, leaves the breaker alone, as with the reference; 503 and all other 5xx count (ruling 19).
@pytest.mark.parametrize("status, opens", [(503, True), (429, False), (500, True), (None, True)],
                         ids=["503", "429", "500", "reset"])
async def test_a04_service_resumes_after_backpressure(status, opens):
    refused = 5
    error = b'{"error":"busy"}'

    async def busy(ex: Exchange) -> None:
        nonlocal refused
        await ex.read_body()
        if refused == 0:
            return await ex.reply_json(chat_answer())
        refused -= 1
        if status is None:
            await ex.abort()
        else:
            await ex.reply(status, error, headers=[("Retry-After", "1")])

    async with scene("--cb-failure-threshold", "3", "--cb-timeout-duration-secs", "1", "--cb-success-threshold", "1",
                     "--disable-retries", handler=busy) as row:
        was_open = False
        while refused:
            answer = await row.post()
            if answer.error_code:
                # The gateway's own: the breaker is open, or the connection was reset.
                assert answer.status in (502, 503)
                was_open = was_open or answer.status == 503
                if answer.status == 503:
                    assert 1 <= int(answer.header("retry-after")) <= 2
            else:
                assert (answer.status, answer.body) == (status, error)
                assert answer.header("retry-after") == "1"
            await asyncio.sleep(0.1)
        assert was_open == opens
        recovered = time.monotonic()
        while (await row.post()).status != 200:
            assert time.monotonic() - recovered < 2.5
            await asyncio.sleep(0.1)
        # One success has closed it.
        assert await row.breakers() == [0]
        assert (await row.post()).status == 200


CUTS = {
    "reset": lambda ex: ex.abort(),
    "fin": lambda ex: close(ex),
    "bad-chunk": lambda ex: ex.raw(b"zz\r\n"),
}


async def close(ex: Exchange) -> None:
    ex.closed, ex.reusable = True, False
    ex.writer.close()


@PATHS
@pytest.mark.parametrize("how, http2", [("reset", False), ("fin", False), ("bad-chunk", False), ("reset", True)],
                         ids=["h1-reset", "h1-fin", "h1-bad-chunk", "h2-reset"])
async def test_a07_a_worker_that_dies_in_mid_stream(path, how, http2):
    async def dying(ex: Exchange) -> None:
        await ex.read_body()
        await ex.start(200, SSE)
        for n in (1, 2, 3):
            await ex.write(b'data: {"n":%d}\n\n' % n)
        await asyncio.sleep(0.05)
        await CUTS[how](ex)

    async with scene(*path, workers=2, http2=http2, handler=dying) as row:
        async with row.open(BODYS) as client:
            answer = await asyncio.wait_for(client.response("POST"), 5)
            # Nothing behind it: not the end of the chunked coding either.
            assert await client.reader.read() == b""
        assert answer.status == 200 and not answer.complete
        assert answer.body == b"".join(b'data: {"n":%d}\n\n' % n for n in (1, 2, 3))
        assert len(row.requests) == 1
        metrics = await row.g.metrics()
        assert metrics.value("smg_worker_cb_consecutive_failures") == 1
        assert metrics.value("smg_router_request_errors_total") == 1


# A12, its times a tenth of the row's: an engine that closes after 0.5 s of idleness, for 6 s.
async def test_a12_a_worker_closes_idle_connections_just_as_they_are_used():
    workers = [Logged(keep_alive=0.5)]
    async with scene("--disable-health-check", "--disable-load-monitoring", workers=workers) as row:
        for turn in range(12):
            assert (await row.post()).status == 200
            await asyncio.sleep(0.49 + 0.001 * turn)
        assert row.w.connections > 3
        assert (await row.g.metrics()).value("smg_worker_cb_consecutive_failures") == 0


# A thread takes its own idle connections first, the one last used before those of the registration's probes.
LAST_USED_FIRST = ("--io-threads", "1", "--disable-health-check", "--disable-load-monitoring")


async def dying_on_reuse(ex: Exchange, before: bytes = b"") -> None:
    """Answers the first request on a connection and resets it at the second one's first bytes."""
    if not ex.writer.__dict__.setdefault("used", False):
        ex.writer.used = True
        await ex.read_body()
        return await ex.reply_json(chat_answer())
    if before:
        await ex.raw(before)
        await asyncio.sleep(0.05)
    await ex.abort()


@pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 2"], ids=["silent", "begun"])
async def test_a12_a_reused_connection_dies(begun):
    """A silent death is mended by one send more, which is no retry; a begun answer makes it an attempt that
    failed, which the retry rule may repeat."""
    async with scene(*LAST_USED_FIRST, handler=lambda ex: dying_on_reuse(ex, begun)) as row:
        assert (await row.post()).status == 200
        await row.at_rest()
        assert (await row.post()).status == 200
        metrics = await row.g.metrics()
        assert metrics.value(RESENDS) == (0 if begun else 1)
        assert metrics.value("smg_worker_retries_total") == (1 if begun else 0)
        assert metrics.value("smg_worker_cb_consecutive_failures") == 0
        assert len(row.w.seen) == 3


async def test_a12_all_reused_connections_die_at_once():
    """A worker that restarts takes all its idle connections with it: what is sent again takes a new one."""
    gate = asyncio.Event()

    async def together(ex: Exchange) -> None:
        if len(row.w.seen) <= 4:
            if len(row.w.seen) == 4:
                gate.set()
            await gate.wait()
        await dying_on_reuse(ex)

    async with scene(*LAST_USED_FIRST, handler=together) as row:
        answers = await asyncio.gather(*(row.post() for _ in range(4)))
        assert [answer.status for answer in answers] == [200] * 4
        await row.at_rest()
        assert (await row.post()).status == 200
        metrics = await row.g.metrics()
        assert metrics.value(RESENDS) == 1
        assert metrics.value("smg_worker_retries_total") == 0


async def test_a12_a_streamed_body_is_never_sent_twice():
    big = big_chat(2 * MIB)
    async with scene(*STREAMED, *LAST_USED_FIRST, handler=dying_on_reuse) as row:
        assert (await row.post()).status == 200
        await row.at_rest()
        answer = await row.post(big)
        assert (answer.status, answer.error_code) == (502, "call_upstream_request_error")
        assert len(row.w.seen) == 2


# A13 -----------------------------------------------------------------------------


@pytest.mark.parametrize("policy, headers", [
    ("cache_aware", []), ("prefix_hash", []),
    ("consistent_hashing", [("X-SMG-Routing-Key", "tenant")]), ("manual", [("X-SMG-Routing-Key", "tenant")]),
], ids=["cache_aware", "prefix_hash", "consistent_hashing", "manual"])
async def test_a13_a_retry_leaves_the_dead_worker(policy, headers):
    prompt = json.dumps(chat("a long prompt, all of whose words are the same " * 100)).encode()
    async with scene("--disable-health-check", "--retry-initial-backoff-ms", "20", workers=2,
                     policy=policy) as row:
        assert (await row.post(prompt, headers=headers)).status == 200
        assert (await row.post(prompt, headers=headers)).status == 200
        home, other = sorted(row.workers, key=lambda w: -len(w.seen))
        assert (len(home.seen), len(other.seen)) == (2, 0)
        await home.close()
        started = time.monotonic()
        assert (await row.post(prompt, headers=headers)).status == 200
        assert time.monotonic() - started < 1
        assert len(other.seen) == 1


# A14 -----------------------------------------------------------------------------


class HungWorker(Logged):
    """Answers probes until it hangs; from then on it accepts and never reads."""

    hung = False
    stuck = 0  # connections accepted since

    async def _serve(self, reader, writer) -> None:
        if self.hung:
            self.stuck += 1
            writer.transport.pause_reading()
            await asyncio.sleep(30)
        else:
            await super()._serve(reader, writer)

    async def hang(self) -> None:
        self.hung = True
        for writer in list(self._writers):
            writer.transport.abort()

    async def heal(self) -> None:
        self.hung = False


class FullWorker(HungWorker):
    """Hangs with a full accept queue: connecting to it does not end."""

    async def hang(self) -> None:
        await self.close()
        await asyncio.sleep(0.1)
        self.listening = socket.socket()
        self.listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listening.bind((HOST, self.port))
        self.listening.listen(0)
        self.fillers = [socket.socket() for _ in range(3)]
        for filler in self.fillers:
            filler.setblocking(False)
            filler.connect_ex((HOST, self.port))

    async def heal(self) -> None:
        for one in [self.listening, *self.fillers]:
            one.close()
        await self.open()


@pytest.mark.parametrize("kind", [HungWorker, FullWorker], ids=["never-reads", "never-accepts"])
async def test_a14_one_hung_worker_stops_nobody_else(kind):
    bad, good = kind(), Logged()
    async with scene("--request-timeout-secs", "2", "--health-check-interval-secs", "1",
                     "--health-check-timeout-secs", "1", "--disable-load-monitoring", "--retry-initial-backoff-ms", "20",
                     workers=[bad, good]) as row:
        await bad.hang()
        times: list[float] = []

        async def one() -> None:
            started = time.monotonic()
            answer = await row.post()
            times.append(time.monotonic() - started)
            assert answer.status == 200 or answer.status == 504

        tasks = []
        for _ in range(150):
            tasks.append(asyncio.create_task(one()))
            await asyncio.sleep(0.02)
        await asyncio.gather(*tasks)
        # Who met the good worker was not held up, whoever met the other waited for the timeout.
        quick = [t for t in times if t < 1]
        slow = [t for t in times if t >= 1]
        assert len(quick) > 75 and statistics.median(quick) < 0.05
        assert all(1.9 <= t < 3.5 for t in slow)
        # After three failed probes the bad one gets nothing any more.
        await row.g.wait_for(lambda ws: any(w["url"] == bad.url and not w["is_healthy"] for w in ws), 10)
        before = len(good.seen)
        for _ in range(20):
            assert (await row.post()).status == 200
        assert len(good.seen) == before + 20
        await bad.heal()
