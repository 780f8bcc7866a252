"""A real Prometheus, of Debian's package, with our configuration and rules before a running gateway."""

import contextlib
import shutil
import urllib.parse
import urllib.request
from pathlib import Path

import yaml

from programs import *

CONFIGS = Path(__file__).resolve().parents[2] / "configs/prometheus"


class Prometheus:
    def __init__(self, port: int) -> None:
        self.port = port

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


@contextlib.asynccontextmanager
async def prometheus_of(folder: Path, metrics_port: int):
    """`prometheus` that scrapes one gateway every second, with everything else as in configs/prometheus."""
    port = free_port()
    shutil.copy(CONFIGS / "alerts.yml", folder)
    config = yaml.safe_load((CONFIGS / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    [job] = config["scrape_configs"]
    job["static_configs"] = [{"targets": [f"{HOST}:{metrics_port}"]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    async with running("prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                       f"--web.listen-address={HOST}:{port}", port=port):
        yield Prometheus(port)


@needs("prometheus")
async def test_prometheus_scrapes_the_gateway_and_evaluates_the_rules(tmp_path):
    async with Echo() as g, prometheus_of(tmp_path, g.metrics_port) as prometheus:
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
