"""A gateway with prefill and decode workers of the laboratory."""

from __future__ import annotations

import asyncio
import time

from binary import *

QUICK = ("--retry-initial-backoff-ms", "1", "--retry-max-backoff-ms", "2", "--cb-failure-threshold", "100",
         "--health-check-interval-secs", "3600", "--disable-load-monitoring")


class Pairs(Launched):
    """`--pd-disaggregation`; leaves once all workers are registered."""

    def __init__(self, *flags: str, prefill: list[Worker], decode: list[Worker], ports: bool = True) -> None:
        self.expected = len(prefill) + len(decode)
        named = []
        for number, worker in enumerate(prefill):
            named += ["--prefill", worker.url, *([str(9001 + number)] if ports else [])]
        for worker in decode:
            named += ["--decode", worker.url]
        super().__init__("--pd-disaggregation", *QUICK, *named, *flags)

    async def _ready(self) -> None:
        await super()._ready()
        await self.wait_for(lambda ws: len(ws) == self.expected and all(w["is_healthy"] for w in ws))


class VllmWorker(Worker):
    """Registers as vLLM, since that owns its models."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)

        async def models(ex: Exchange) -> None:
            await ex.read_body()
            await ex.reply_json({"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "vllm"}]})

        self.routes["/v1/models"] = models


async def refuse(ex: Exchange, status: int, message: str = "boom", headers=()) -> None:
    await ex.read_body()
    await ex.reply_json({"error": {"message": message}}, status, headers=headers)


def refusing(status: int, message: str = "boom", headers=()):
    return lambda ex: refuse(ex, status, message, headers)


async def hang(ex: Exchange) -> None:
    """Takes the request, and waits until the gateway gives up."""
    await ex.read_body()
    await ex.gone()


async def break_off(ex: Exchange) -> None:
    await ex.read_body()
    await ex.abort()


def outcomes(metrics: Metrics, worker: Worker) -> dict[str, float]:
    """What the worker's breaker was told."""
    name = "smg_worker_cb_outcomes_total"
    return {o: metrics.value(name, worker=worker.url, outcome=o) for o in ("success", "failure")}


async def until(holds, timeout: float = 10) -> None:
    deadline = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < deadline, "it never came to that"
        await asyncio.sleep(0.02)
