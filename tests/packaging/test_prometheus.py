"""Alert rules and dashboard: they use metrics and labels that the gateway has, in expressions that Prometheus takes."""

import json
import re
import shutil
import subprocess

import pytest
import yaml

import promql
from conftest import ROOT

PROMETHEUS = ROOT / "configs/prometheus"
ALERTS = yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"]
DASHBOARD = json.loads((ROOT / "configs/grafana/smg.json").read_text())
RULES = [rule for group in ALERTS for rule in group["rules"]]
TARGETS = [(panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]
VARIABLES = [variable for variable in DASHBOARD["templating"]["list"] if variable["type"] == "query"]


@pytest.fixture(scope="session")
def metrics(printed):
    return promql.read_reference(printed("metrics"))


@pytest.fixture(scope="session")
def series(metrics):
    return promql.series_of(metrics)


@pytest.mark.parametrize("expression, wrong", [
    ("smg_worker_health == 0", []),
    ("smg_worker_healthy == 0", ["no such metric: smg_worker_healthy"]),
    ("sum by (worker) (rate(smg_worker_cb_outcomes_total{outcome='x'}[5m]))".replace("'", '"'), []),
    ('smg_worker_health{model="m"}', ["smg_worker_health has no label model"]),
    ("sum by (model) (smg_worker_health)", ["no metric of it has a label model"]),
    ("rate(smg_router_ttft_seconds[5m])", ["no such metric: smg_router_ttft_seconds"]),
    ("histogram_quantile(0.9, sum by (le, model) (rate(smg_router_ttft_seconds_bucket[5m])))", []),
])
def test_unknown_names_are_found(series, expression, wrong):
    assert promql.problems(expression, series) == wrong


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_alert_uses_what_is_exported(series, rule):
    assert promql.problems(rule["expr"], series) == []
    assert rule["labels"]["severity"] in ("warning", "critical")
    named = set(re.findall(r"\bsmg_\w+", rule["annotations"]["description"]))
    assert named <= {name for known in series for name in (known, known.removesuffix("_bucket"))}


@pytest.mark.parametrize("title, expression", TARGETS, ids=[f"{i}-{title}" for i, (title, _) in enumerate(TARGETS)])
def test_panel_uses_what_is_exported(series, title, expression):
    assert promql.problems(expression, series) == []


@pytest.mark.parametrize("variable", VARIABLES, ids=[variable["name"] for variable in VARIABLES])
def test_variable_uses_what_is_exported(series, variable):
    selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
    assert promql.problems(f"sum by ({label}) ({selector})", series) == []


def test_dashboard_is_whole():
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    cells = [(x, y) for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
             for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])]
    assert len(cells) == len(set(cells)), "panels overlap"
    assert all(0 <= x < 24 for x, _ in cells)
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD["panels"])))
    assert used == {"datasource", "job", "instance", "model", "__rate_interval"}


def promtool(tool, *arguments):
    run = subprocess.run([tool("promtool"), *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_configuration_is_valid(tool):
    promtool(tool, "check", "config", PROMETHEUS / "prometheus.yml")
    promtool(tool, "check", "rules", PROMETHEUS / "alerts.yml")


def test_panels_are_valid_expressions(tool, tmp_path):
    plain = [expression.replace("$__rate_interval", "5m") for _, expression in TARGETS]
    rules = [{"record": f"panel:{i}", "expr": expression} for i, expression in enumerate(plain)]
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    promtool(tool, "check", "rules", tmp_path / "panels.yml")


def test_alerts_fire_when_they_should(tool, tmp_path):
    for file in (PROMETHEUS / "alerts.yml", ROOT / "tests/packaging/alerts_test.yml"):
        shutil.copy(file, tmp_path)
    promtool(tool, "test", "rules", tmp_path / "alerts_test.yml")


def test_each_alert_is_tested_both_ways():
    cases = yaml.safe_load((ROOT / "tests/packaging/alerts_test.yml").read_text())["tests"]
    tested = {(case["alertname"], bool(case["exp_alerts"])) for test in cases for case in test["alert_rule_test"]}
    assert tested == {(rule["alert"], fires) for rule in RULES for fires in (True, False)}
