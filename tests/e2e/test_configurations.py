"""The settings in configs/ start a gateway. Ports are chosen here, so that tests can run side by side."""

import pytest
import yaml
from pathlib import Path

from binary import *

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
SETTINGS = {
    "smg.toml": (CONFIGS / "smg.toml").read_text(),
    "kubernetes": yaml.safe_load((CONFIGS / "kubernetes/configmap.yaml").read_text())["data"]["smg.toml"],
}


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
async def test_starts_and_answers_probes(tmp_path, text):
    file = tmp_path / "smg.toml"
    file.write_text(text)
    probes = free_port()
    async with Launched("--config", file, "--health-check-port", probes, policy=None) as g:
        assert (await request(probes, "GET", "/liveness")).status == 200
        assert (await request(probes, "GET", "/readiness")).status == 503
        assert (await request(g.metrics_port, "GET", "/metrics")).status == 200
