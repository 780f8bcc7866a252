#!/usr/bin/env python3
"""Soak and chaos: mixed traffic for a long time, while workers die, return, freeze, come and go; every answer is
checked byte by byte, and at the end everything that the gateway held has to be back.

    bench/soak [--binary build/release/smg] [--minutes 30] [--seed S] [--concurrency 32] [--report FILE] [-- SMG FLAGS]

To be run with the Python of tests/requirements.txt: `.venv/bin/python bench/soak`. docs/performance.md says what is
checked. The exit code is 0 if nothing was wrong, else 1.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import os
import resource
import shlex
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "tests"
sys.path += [str(TESTS / "conformance"), str(TESTS)]

from chaos import Chaos, Fleet  # noqa: E402
from lab import Gateway  # noqa: E402
from ledger import MIB, Ledger, Rest, impossible, name_of, remaining  # noqa: E402
from quiet_ports import quiet_port  # noqa: E402
from traffic import BAD, MALFORMED, SCENES, Actor, Tally, traffic  # noqa: E402

GRACE = 10
REST_WITHIN = 60.0  # seconds behind the last client; below --idle-connection-timeout-secs, which would cover up a leak
RSS_MAY_GROW = (1.10, 8 * MIB)
SERIES_MAY_GROW = 100  # late outcomes: one more status code or error code makes a few

FLAGS = [
    "--policy", "round_robin", "--upstream-http2", "--upstream-pool-idle-timeout-secs", "1",
    "--health-check-interval-secs", "2", "--health-success-threshold", "1", "--worker-startup-check-interval", "1",
    "--cb-timeout-duration-secs", "1", "--retry-initial-backoff-ms", "10", "--retry-max-backoff-ms", "200",
    "--max-concurrent-requests", "24", "--queue-size", "1000", "--queue-timeout-secs", "120",
    "--load-monitor-interval", "2", "--shutdown-grace-period-secs", str(GRACE), "--forward-request-headers", "x-soak",
    "--log-level", "warn", "--log-json"]


class Soaked(Gateway):
    def __init__(self, folder: Path, *flags: str, **options) -> None:
        super().__init__(*FLAGS, "--state-file", str(folder / "state.json"), *flags, policy=None, **options)
        self.port, self.metrics_port = quiet_port(), quiet_port()

    @property
    def log_file(self) -> Path:
        return Path(self._log.name)

    def complaints(self) -> list[str]:
        """Lines of the log that ought not to be there."""
        found = [line for line in self.log.splitlines()
                 if "Sanitizer" in line or "runtime error:" in line or is_error(line)]
        return found[:20] + ([f"... {len(found) - 20} more"] if len(found) > 20 else [])


def is_error(line: str) -> bool:
    """An error other than the end of a request with a status of 500 and more, which its client has judged."""
    try:
        record = json.loads(line)
        return record["level"] == "ERROR" and record["message"] != "request finished"
    except (ValueError, KeyError, TypeError):
        return False


def is_sanitized(binary: str) -> bool:
    return b"__sanitizer_" in Path(binary).read_bytes()


class Soak:
    def __init__(self, options: argparse.Namespace, gateway: Gateway, fleet: Fleet) -> None:
        self.options, self.gateway, self.fleet = options, gateway, fleet
        self.tally = Tally()
        self.ledger = Ledger(gateway)
        self.wrong: list[str] = []

    async def run(self) -> None:
        playing = asyncio.create_task(self.play())
        ending = asyncio.create_task(self.gateway.process.wait())
        await asyncio.wait({playing, ending}, return_when=asyncio.FIRST_COMPLETED)
        if playing.done() and not playing.exception():
            await self.stop()
        elif (await asyncio.wait({ending}, timeout=5))[0]:
            playing.cancel()
            self.wrong.append(f"the gateway ended with {ending.result()} by itself")
        else:
            await playing
        more = len(self.tally.wrong) - 50
        self.wrong = self.tally.wrong[:50] + ([f"... {more} more wrong answers"] if more > 0 else []) + self.wrong
        self.wrong += self.gateway.complaints()

    async def play(self) -> None:
        seconds = self.options.minutes * 60
        warm_up = min(60.0, seconds / 4)
        await self.rehearse()
        start = await self.come_to_rest("start", None)
        await self.phase("warm-up", warm_up)
        warm = await self.come_to_rest("warm", start)
        await self.phase("soak", seconds - warm_up)
        end = await self.come_to_rest("end", start)
        self.compare(warm, end)
        await self.rehearse()

    def actor(self, name: str) -> Actor:
        return Actor(self.gateway.port, f"{self.options.seed}/{name}", self.tally)

    async def rehearse(self) -> None:
        """Each scene, while no worker dies: the fleet is well, and what the gateway makes only once is there."""
        async def often(*takes: tuple) -> None:
            actor = self.actor(f"rehearsal/{takes[0][0]}")
            for take in takes:
                await actor.play(*take)

        takes = [[(scene,)] * 3 for scene in SCENES]
        takes += [("bad_worker", do) for do in BAD], [("malformed", data) for data in MALFORMED], [("upload",)] * 10
        chaos = Chaos(self.fleet, self.gateway, self.tally)
        await asyncio.gather(*(often(*some) for some in takes), chaos.rehearse())

    async def phase(self, name: str, seconds: float) -> None:
        chaos = Chaos(self.fleet, self.gateway, self.tally)
        chaos.start()
        sampling = asyncio.create_task(self.sample(name, max(1.0, min(15.0, seconds / 10))))
        await traffic(self.gateway.port, f"{self.options.seed}/{name}", self.options.concurrency, seconds,
                      self.tally)
        sampling.cancel()
        await asyncio.wait({sampling})
        if not sampling.cancelled():
            sampling.result()
        await chaos.stop()

    async def sample(self, phase: str, pause: float) -> None:
        while True:
            sample, metrics = await self.ledger.take(phase, self.tally.total)
            self.tally.wrong += impossible(metrics)
            print(row(sample), flush=True)
            await asyncio.sleep(pause)

    async def come_to_rest(self, phase: str, before: Rest | None) -> Rest:
        """Wait until nothing is left of what was going on; `before`: the rest to come back to."""
        deadline = time.monotonic() + REST_WITHIN
        passed: set[tuple] = set()
        while True:
            now = await self.ledger.rest(phase, self.tally.total)
            passed |= now.passed()
            left = remaining(before or now, now, passed, await self.gateway.worker_list())
            if any(now.of("smg_worker_cb_state")):
                left.append("a circuit breaker is open")
                # It closes by requests that succeed.
                await asyncio.gather(*(self.actor(f"waking/{i}").play("chats") for i in range(8)))
            if not left or time.monotonic() > deadline:
                self.wrong += [f"at the {phase}: {what}" for what in left]
                print(row(now.sample), flush=True)
                return now
            self.ledger.samples.pop()
            await asyncio.sleep(0.5)

    def compare(self, warm: Rest, end: Rest) -> None:
        """What may be larger than at the start has to stay as it was when all was warm."""
        factor, more = RSS_MAY_GROW
        limit = int(warm.sample.rss * factor) + more
        if end.sample.rss > limit and not is_sanitized(self.options.binary):
            self.wrong.append(f"{end.sample.rss // 1024} KiB resident at the end, {warm.sample.rss // 1024} when warm, "
                              f"at most {limit // 1024} allowed")
        late = end.lasting - warm.lasting
        self.wrong += [f"a new series: {name_of(key)}" for key in sorted(late)]
        if end.sample.series > warm.sample.series + SERIES_MAY_GROW:
            self.wrong.append(f"{end.sample.series} series at the end, {warm.sample.series} when warm")

    async def stop(self) -> None:
        process = self.gateway.process
        since = time.monotonic()
        process.terminate()
        try:
            code = await asyncio.wait_for(process.wait(), GRACE + 30)
        except TimeoutError:
            return self.wrong.append(f"SIGTERM did not end the gateway in {GRACE + 30} s")
        took = time.monotonic() - since
        print(f"stopped in {took:.1f} s with exit code {code}")
        if code != 0:
            self.wrong.append(f"exit code {code} after SIGTERM")
        if took >= GRACE:
            self.wrong.append(f"an idle gateway took {took:.1f} s to stop: something was still running")


def row(sample) -> str:
    return (f"{sample.at:8.1f} s  {sample.phase:8}  {sample.requests:8} done  {sample.rss / MIB:7.1f} MiB  "
            f"{sample.descriptors:5} fds  {sample.threads:3} threads  {sample.series:5} series  "
            f"{sample.in_flight:4.0f} in flight")


def summary(soak: Soak) -> str:
    lines = [f"{'scene':22}{'ok':>9}{'provoked':>10}{'left':>8}{'excused':>9}{'wrong':>7}"]
    for scene, counts in sorted(soak.tally.counts.items()):
        lines.append(f"{scene:22}{counts['ok']:9}{counts['provoked']:10}{counts['left']:8}{counts['excused']:9}"
                     f"{counts['wrong']:7}")
    lines.append(f"{soak.tally.total} in all, {soak.tally.bytes / MIB:.0f} MiB; "
                 + ", ".join(f"{count} {what}" for what, count in soak.fleet.events.items())
                 + f"; a worker was away for {soak.tally.deaths.spent:.0f} s")
    return "\n".join(lines)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/soak", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/smg")
    parser.add_argument("--minutes", type=float, default=30, help="warm-up included; fractions are fine")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--concurrency", type=int, default=32, help="clients that play their scenes at once")
    parser.add_argument("--report", type=Path, help="JSON with all samples, counts and findings")
    parser.add_argument("flags", nargs="*", metavar="SMG FLAGS")
    return parser.parse_args()


async def main() -> int:
    options = parse_arguments()
    os.environ["GATEWAY"] = f"{shlex.quote(options.binary)} launch"
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    with tempfile.TemporaryDirectory() as folder:
        async with Fleet(options.seed) as fleet, \
                Soaked(Path(folder), *options.flags, workers=fleet.residents) as gateway:
            soak = Soak(options, gateway, fleet)
            await soak.run()
    print(summary(soak))
    for what in soak.wrong:
        print(f"WRONG  {what}")
    if soak.wrong:
        print(f"Something is wrong; the gateway's log is {gateway.log_file}")
    else:
        print("All came back.")
        gateway.log_file.unlink()
    if options.report:
        options.report.write_text(json.dumps({
            "minutes": options.minutes, "seed": options.seed, "concurrency": options.concurrency,
            "counts": soak.tally.counts, "events": fleet.events, "wrong": soak.wrong,
            "samples": [dataclasses.asdict(sample) for sample in soak.ledger.samples]}, indent=1))
    return 1 if soak.wrong else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
