"""What the gateway holds, by its own gauges and by the kernel's account, and what of it has to come back."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass, field

from lab import Gateway, Metrics

# Gauges that need not come back: what the process uses is judged from outside; caches of policies keep what they
# have learned up to their bounds; failures and successes in a row tell of the last requests.
FREE = re.compile(r"process_|smg_process_|smg_cache_|smg_manual_policy_cache_entries|smg_worker_cb_consecutive_")
# Gauges of something in progress: at rest they are 0. All others are at rest what they were at the start.
BUSY = re.compile(r"smg_(?!engine_).*(active|inflight|queue)")
# Health checks go on at rest, and open connections, each of which is closed again before the next check.
PASSING = "smg_upstream_connections"
# A series with one of these labels may come late, with the first request that ends so.
OUTCOMES = {"status_code", "error_code", "error_type", "reason", "outcome", "result", "attempt", "to", "stage"}

MIB = 1 << 20


@dataclass
class Sample:
    at: float  # seconds since the start
    phase: str
    rss: int
    descriptors: int
    threads: int
    series: int
    in_flight: float
    requests: int


@dataclass
class Rest:
    """The gateway without any work."""

    sample: Sample
    gauges: dict[tuple, float]
    lasting: set[tuple]  # series that are no outcome

    @property
    def descriptors(self) -> int:
        """Without those of connections that are to pass."""
        return self.sample.descriptors - int(sum(self.of(f"{PASSING}_open")))

    def of(self, name: str) -> list[float]:
        return [value for key, value in self.gauges.items() if key[0] == name]

    def passed(self) -> set[tuple]:
        return {key for key, value in self.gauges.items() if key[0].startswith(PASSING) and not value}


def name_of(key: tuple) -> str:
    name, labels = key
    return name + ("{" + ", ".join(f'{k}="{v}"' for k, v in labels) + "}" if labels else "")


@dataclass
class Ledger:
    gateway: Gateway
    started: float = field(default_factory=time.monotonic)
    samples: list[Sample] = field(default_factory=list)

    def of_kernel(self, name: str) -> int:
        with open(f"/proc/{self.gateway.process.pid}/status") as f:
            return int(re.search(rf"{name}:\s+(\d+)", f.read())[1])

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.gateway.process.pid}/fd"))

    async def take(self, phase: str, requests: int) -> tuple[Sample, Metrics]:
        metrics = await self.gateway.metrics()
        sample = Sample(round(time.monotonic() - self.started, 1), phase, self.gateway.rss_bytes(), self.descriptors(),
                        self.of_kernel("Threads"), len(metrics.samples),
                        metrics.value("smg_http_connections_active"), requests)
        self.samples.append(sample)
        return sample, metrics

    async def rest(self, phase: str, requests: int) -> Rest:
        sample, metrics = await self.take(phase, requests)
        keyed = {(name, tuple(sorted(labels.items()))): value for name, labels, value in metrics.samples}
        gauges = {key: value for key, value in keyed.items() if metrics.types.get(key[0]) == "gauge"}
        lasting = {key for key in keyed if not (OUTCOMES | {"le"}) & {label for label, _ in key[1]}}
        return Rest(sample, gauges, lasting)


def impossible(metrics: Metrics) -> list[str]:
    """What no scrape may ever show."""
    found = [f"{name} is {value}" for name, _, value in metrics.samples if value < 0]
    for name in ("smg_upstream_connections",):
        for labels in metrics.labels(f"{name}_open"):
            if metrics.value(f"{name}_open", **labels) != metrics.value(name, **labels):
                found.append(f"{name}_open is not the sum of its states for {labels}")
    return found


def remaining(before: Rest, now: Rest, passed: set[tuple], workers: list[dict]) -> list[str]:
    """What has not come back yet; [] if all has. `passed`: connections that have been gone in the meantime."""
    found = []
    for key in sorted(before.gauges.keys() | now.gauges.keys()):
        old, new = before.gauges.get(key), now.gauges.get(key)
        if key[0].startswith(PASSING) or BUSY.search(key[0]):
            if new and key not in passed:
                found.append(f"{name_of(key)} is {new:g}, not 0")
        elif old != new and not FREE.match(key[0]):
            found.append(f"{name_of(key)} is {new}, was {old}")
    found += [f"GET /workers: {w['url']} has load {w['load']}" for w in workers if w["load"]]
    found += [f"GET /workers: {w['url']} is {w['status']}" for w in workers if not w["is_healthy"]]
    if now.descriptors > before.descriptors:
        found.append(f"{now.descriptors} descriptors, were {before.descriptors}")
    if now.sample.threads > before.sample.threads:
        found.append(f"{now.sample.threads} threads, were {before.sample.threads}")
    return found
