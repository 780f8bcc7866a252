"""A real Prometheus, of Debian's package, with our configuration and rules before a running gateway."""

import contextlib
import shutil
import signal
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
import yaml

from binary import *

CONFIGS = Path(__file__).resolve().parents[2] / "configs/prometheus"


class Prometheus:
    """`prometheus` that scrapes one gateway every second, with everything else as in configs/prometheus."""

    def __init__(self, folder: Path, metrics_port: int) -> None:
        self.folder, self.port = folder, free_port()
        shutil.copy(CONFIGS / "alerts.yml", folder)
        config = yaml.safe_load((CONFIGS / "prometheus.yml").read_text())
        config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        [job] = config["scrape_configs"]
        job["static_configs"] = [{"targets": [f"{HOST}:{metrics_port}"]}]
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))

    async def __aenter__(self) -> "Prometheus":
        self.process = await asyncio.create_subprocess_exec(
            "prometheus", f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data",
            f"--web.listen-address={HOST}:{self.port}", stdout=asyncio.subprocess.DEVNULL,
            stderr=(self.folder / "log").open("wb"))
        return self

    async def __aexit__(self, *exc) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        await self.process.wait()
        if exc[0]:
            print((self.folder / "log").read_text())

    async def ask(self, path: str, **query: str):
        """The data of an answer; None while the server is starting."""
        url = f"http://{HOST}:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"

        def fetch():
            with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5) as response:
                return json.load(response)["data"]
        return await asyncio.to_thread(fetch)

    async def value(self, expression: str) -> float | None:
        data = await self.ask("query", query=expression)
        return float(data["result"][0]["value"][1]) if data and data["result"] else None


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed (tests/run.sh install)")
async def test_prometheus_scrapes_the_gateway_and_evaluates_the_rules(tmp_path):
    async with Echo() as g, Prometheus(tmp_path, g.metrics_port) as prometheus:
        await g.post("/v1/chat/completions", {"model": "echo", "messages": user("hi")})
        await g.post("/v1/chat/completions", {"model": "echo", "messages": user("hi"), "stream": True})

        async def counted() -> bool:
            return await prometheus.value('sum(smg_router_requests_total{endpoint="chat"})') == 2

        await eventually(counted, timeout=60)
        [target] = (await prometheus.ask("targets"))["activeTargets"]
        assert target["health"] == "up" and target["lastError"] == ""
        assert await prometheus.value('sum(smg_worker_health{job="smg"})') == 2

        async def understood() -> bool:
            """All that the gateway shows, with its type and help; a family may be younger than the last scrape."""
            exposition = (await request(g.metrics_port, "GET", "/metrics")).body.decode()
            types = dict(line.split()[2:4] for line in exposition.splitlines() if line.startswith("# TYPE "))
            metadata = await prometheus.ask("metadata")
            assert all(facts[0]["help"] for facts in metadata.values())
            return {name: facts[0]["type"] for name, facts in metadata.items()} == types

        await eventually(understood, timeout=30)

        async def evaluated() -> bool:
            groups = (await prometheus.ask("rules"))["groups"]
            return {rule["health"] for group in groups for rule in group["rules"]} == {"ok"}

        await eventually(evaluated, timeout=30)
        assert (await prometheus.ask("alerts"))["alerts"] == []
