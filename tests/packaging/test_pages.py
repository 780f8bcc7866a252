"""The pages in docs/ name flags, metrics and alerts that exist."""

import re
import tomllib

import pytest
import yaml

import promql
from conftest import ROOT

PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if not page.name.startswith("how_to")]
# Flags of other programs, and of ours that are gone or come in families.
OTHERS = {"--tsan-e2e", "--preset", "--build", "--target", "--rm", "--entrypoint", "--set", "--backend", "--help", "--version",
          "--tests", "--parallel", "--data", "--header", "--no-pager"}


def each_of(pages):
    return pytest.mark.parametrize("page", pages, ids=[page.name for page in pages])


# performance.md shows how to run many other programs.
@each_of([page for page in PAGES if page.name != "performance.md"])
def test_flags_are_known(printed, page):
    known = set(re.findall(r"`(--[\w-]+)`", printed("flags"))) | OTHERS
    named = set(re.findall(r"(?<![\w-])--[a-z][\w-]*\w", page.read_text()))
    # `--health-check-*` and `--retry-*` stand for several.
    families = {flag for flag in named if any(other.startswith(flag + "-") for other in known)}
    assert named - known - families == set()


@each_of(PAGES)
def test_metrics_are_known(printed, page):
    metrics = promql.read_reference(printed("metrics"))
    known = metrics.keys() | promql.series_of(metrics).keys()
    named = set(re.findall(r"`(smg_\w*[a-z0-9])(?![\w*])", page.read_text()))
    assert named - known == set()


def test_each_alert_has_a_first_step():
    table = set(re.findall(r"`(Smg\w+)`", (ROOT / "docs/operations.md").read_text()))
    groups = yaml.safe_load((ROOT / "configs/prometheus/alerts.yml").read_text())["groups"]
    assert table == {rule["alert"] for group in groups for rule in group["rules"]}


def test_settings_in_pages_are_flags(printed):
    known = set(re.findall(r"`--([\w-]+)`", printed("flags")))
    blocks = [block for page in PAGES for block in re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)]
    assert blocks
    assert {key for block in blocks for key in tomllib.loads(block)} <= known
