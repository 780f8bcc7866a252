"""The fleet, and what happens to it: workers die and return, freeze, come and go by the worker API."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import signal
import sys
import time
from pathlib import Path

from lab import HOST, Gateway
from quiet_ports import quiet_port
from traffic import Tally

REGISTRATION = 180.0  # patience with one, on however busy a machine


class MockWorker:
    """The process of worker.py on a port that it keeps over its deaths."""

    def __init__(self, http2: bool) -> None:
        self.http2, self.port = http2, quiet_port()
        self.process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    async def start(self) -> "MockWorker":
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, str(Path(__file__).with_name("worker.py")), str(self.port),
            "http2" if self.http2 else "http1", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        if await self.process.stdout.readline() != b"ready\n":
            raise RuntimeError("a mock worker does not start")
        return self

    async def kill(self) -> None:
        if self.process and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


class Fleet:
    """Workers that stay registered and guests that come and go."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)
        self.residents = [MockWorker(http2) for http2 in (False, False, False, True, True)]
        self.guests = [MockWorker(http2) for http2 in (False, True)]
        self.events = {"deaths": 0, "freezes": 0, "registrations": 0, "changes": 0, "removals": 0}

    async def __aenter__(self) -> "Fleet":
        await asyncio.gather(*(worker.start() for worker in self.residents + self.guests))
        return self

    async def __aexit__(self, *exc) -> None:
        for worker in self.residents + self.guests:
            await worker.kill()


class Chaos:
    """From `start` to `stop`, which leaves the fleet as it was before."""

    def __init__(self, fleet: Fleet, gateway: Gateway, tally: Tally) -> None:
        self.fleet, self.gateway, self.tally = fleet, gateway, tally
        self.rng = fleet.rng
        self.stopping = asyncio.Event()
        self.tasks: list[asyncio.Task] = []

    def start(self) -> None:
        self.tasks = [asyncio.create_task(task) for task in (
            self.accidents(), *(self.visits(guest) for guest in self.fleet.guests), self.strangers(), self.looks())]

    async def rehearse(self) -> None:
        """One of each call of the worker API."""
        await asyncio.gather(*(self.visit(guest, ["PATCH", "PUT"]) for guest in self.fleet.guests), self.stranger(),
                             self.look())

    async def stop(self) -> None:
        self.stopping.set()
        for outcome in await asyncio.gather(*self.tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                self.tally.note("control", "wrong", repr(outcome))

    async def pause(self, least: float, most: float) -> bool:
        """False: it is time to stop."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.stopping.wait(), self.rng.uniform(least, most))
        return not self.stopping.is_set()

    async def ask(self, method: str, path: str, allowed: set[int], body: dict | None = None) -> int:
        try:
            answer = await self.gateway.request(method, path, body=json.dumps(body).encode() if body else b"",
                                                timeout=REGISTRATION)
        except Exception as error:
            self.tally.note("control", "wrong", f"{method} {path}: {error!r}")
            return 0
        good = answer.status in allowed
        self.tally.note("control", "ok" if good else "wrong", f"{method} {path}: {answer.status} {answer.body[:200]}")
        return answer.status

    async def listed(self, url: str) -> dict | None:
        return next((w for w in await self.gateway.worker_list() if w["url"] == url), None)

    async def until(self, url: str, there: bool) -> dict | None:
        """Wait until a worker is registered and healthy, or is gone."""
        deadline = time.monotonic() + REGISTRATION
        while True:
            worker = await self.listed(url)
            if (worker is not None and worker["is_healthy"]) if there else worker is None:
                return worker
            if time.monotonic() > deadline:
                self.tally.note("control", "wrong", f"{url} never was {'healthy' if there else 'gone'}")
                return worker
            await asyncio.sleep(0.2)

    # Workers that fail ----------------------------------------------------------------------

    async def accidents(self) -> None:
        while await self.pause(3, 9):
            victim = self.rng.choice(self.fleet.residents)
            if self.rng.random() < 0.3:
                # Requests there wait, none is lost.
                self.fleet.events["freezes"] += 1
                victim.process.send_signal(signal.SIGSTOP)
                await asyncio.sleep(self.rng.uniform(0.2, 2.5))
                victim.process.send_signal(signal.SIGCONT)
                continue
            self.fleet.events["deaths"] += 1
            with self.tally.deaths.one():
                await victim.kill()
                await asyncio.sleep(self.rng.uniform(0, 5))
                await victim.start()
                await self.until(victim.url, there=True)
                await asyncio.sleep(1)

    # Workers that come and go -----------------------------------------------------------------

    async def visits(self, guest: MockWorker) -> None:
        while await self.pause(0.2, 3):
            await self.visit(guest, self.rng.choices(["PATCH", "PUT"], [3, 2], k=self.rng.randrange(4)))

    async def visit(self, guest: MockWorker, changes: list[str]) -> None:
        spec = {"url": guest.url, "health": {"drain_settle_secs": 1}}
        self.fleet.events["registrations"] += 1
        await self.ask("POST", "/workers", {202}, {**spec, "priority": 10})
        worker = await self.until(guest.url, there=True)
        if worker is None:
            return
        path = f"/workers/{worker['id']}"
        for method in changes:
            await self.pause(0.1, 2)
            self.fleet.events["changes"] += 1
            change = {"priority": self.rng.randrange(100), "labels": {"a": "1"}} if method == "PATCH" else spec
            # 409: the last change is not through.
            await self.ask(method, path, {202, 409}, change)
        await self.pause(0.1, 2)
        self.fleet.events["removals"] += 1
        while await self.ask("DELETE", path, {202, 409}) == 409:
            await asyncio.sleep(0.1)
        await self.until(guest.url, there=False)

    async def strangers(self) -> None:
        while await self.pause(1, 5):
            await self.stranger()

    async def stranger(self) -> None:
        """The registration of a worker that is not there, taken back, and ones that are refused."""
        url = f"http://{HOST}:{quiet_port()}"
        answer = await self.gateway.post("/workers", {"url": url})
        await self.pause(0, 1)
        await self.ask("DELETE", f"/workers/{answer.json()['worker_id']}", {202})
        await self.until(url, there=False)
        await self.ask("POST", "/workers", {409}, {"url": self.fleet.residents[0].url})
        await self.ask("POST", "/workers", {400, 422}, {"url": "no url"})

    # Who looks ---------------------------------------------------------------------------------

    async def looks(self) -> None:
        while await self.pause(1, 4):
            await self.look()

    async def look(self) -> None:
        for path in ("/workers", "/get_loads", "/v1/models", "/health"):
            await self.ask("GET", path, {200})
