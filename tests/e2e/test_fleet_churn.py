"""Workers that come and go under load: no request is lost, and nothing of them is left. bench/fleet_churn.py does the
same with large numbers."""

import importlib.util
import os
from pathlib import Path

import pytest

import binary  # noqa: F401

PATH = Path(__file__).resolve().parents[2] / "bench/fleet_churn.py"
SPEC = importlib.util.spec_from_file_location("fleet_churn", PATH)
bench = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bench)


@pytest.mark.parametrize("policy", ["round_robin", "cache_aware", "consistent_hashing"])
async def test_workers_come_and_go_under_load(policy):
    urls, processes = bench.start_workers(24, 1)
    gateway = bench.Gateway(os.environ["SMG_BINARY"], ["--policy", policy, "--disable-load-monitoring"])
    try:
        await gateway.ready()
        answers, marks = await bench.churn(gateway, urls, cycles=20, clients=4)
    finally:
        gateway.stop()
        for process in processes:
            process.terminate()
    assert set(answers) == {"200"}
    _, middle, last = marks
    assert last[2] == middle[2], "series of metrics pile up"
    if not os.environ.get("SMG_SANITIZED"):
        assert last[1] < middle[1] + 2048, "memory piles up"
