"""The manifests and the chart: valid objects that fit each other, the gateway, and one another's twin."""

import copy
import os
import re
import subprocess
import tomllib

import pytest
import yaml

from chart import Chart, TemplateError
from conftest import ROOT
from kubernetes_shapes import misfits_of

FOLDER = ROOT / "configs/kubernetes"
PLAIN = [document for path in sorted(FOLDER.glob("*.yaml")) if path.name != "kustomization.yaml"
         for document in yaml.safe_load_all(path.read_text())]
DISCOVERY = {"discovery": {"enabled": True, "selector": {"app": "vllm", "tier": "gpu"}, "namespace": "workers"}}
ALL = {"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}}
VALUES = {
    "defaults": {},
    "all": ALL | DISCOVERY | {
        "image": {"repository": "registry.example/smg", "tag": "v2"}, "imagePullSecrets": [{"name": "pull"}],
        "env": [{"name": "SMG_API_KEY", "valueFrom": {"secretKeyRef": {"name": "smg", "key": "api-key"}}}],
        "envFrom": [{"secretRef": {"name": "smg"}}], "podAnnotations": {"a": "b"}, "podLabels": {"team": "serving"},
        "service": {"annotations": {"c": "d"}}, "nodeSelector": {"pool": "cpu"}, "priorityClassName": "high",
        "tolerations": [{"key": "gpu", "operator": "Exists"}], "affinity": {"podAffinity": {}},
        "volumes": [{"name": "tls", "secret": {"secretName": "smg-tls"}}],
        "volumeMounts": [{"name": "tls", "mountPath": "/etc/smg-tls", "readOnly": True}],
        "serviceAccount": {"annotations": {"e": "f"}},
    },
    "own account, nothing optional": {
        "serviceAccount": {"name": "mine"}, "podDisruptionBudget": {"enabled": False}},
}


def one(manifests: list[dict], kind: str) -> dict:
    [found] = [manifest for manifest in manifests if manifest["kind"] == kind]
    return found


def container(manifests: list[dict]) -> dict:
    [found] = one(manifests, "Deployment")["spec"]["template"]["spec"]["containers"]
    return found


def settings(manifests: list[dict]) -> dict:
    return tomllib.loads(one(manifests, "ConfigMap")["data"]["smg.toml"])


SETS = {"plain": PLAIN} | {name: Chart(values, release="prod").manifests() for name, values in VALUES.items()}
each_set = pytest.mark.parametrize("manifests", SETS.values(), ids=SETS)


@each_set
def test_objects_have_known_fields_only(manifests):
    assert [wrong for manifest in manifests for wrong in misfits_of(manifest)] == []


@pytest.mark.parametrize("path, value, wrong", [
    (("spec", "template", "spec", "containers", 0, "readynessProbe"), {}, "no such field"),
    (("spec", "replicas"), "2", "is no"),
    (("spec", "template", "spec", "containers", 0, "args"), "launch", "no list"),
    (("apiVersion",), "extensions/v1beta1", "no such object"),
])
def test_a_wrong_object_is_found(path, value, wrong):
    manifest = copy.deepcopy(one(PLAIN, "Deployment"))
    *parents, last = path
    place = manifest
    for key in parents:
        place = place[key]
    place[last] = value
    assert [problem for problem in misfits_of(manifest) if wrong in problem]


@each_set
def test_selectors_find_the_pods(manifests):
    deployment = one(manifests, "Deployment")["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    selectors = [deployment["selector"]["matchLabels"], one(manifests, "Service")["spec"]["selector"]]
    selectors += [manifest["spec"]["selector"]["matchLabels"] for manifest in manifests
                  if manifest["kind"] == "PodDisruptionBudget"]
    assert all(selector.items() <= labels.items() and selector for selector in selectors)
    for monitor in (manifest["spec"] for manifest in manifests if manifest["kind"] == "ServiceMonitor"):
        service = one(manifests, "Service")
        assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        assert {end["port"] for end in monitor["endpoints"]} <= {port["name"] for port in service["spec"]["ports"]}
        # The job of the alerts in configs/prometheus/alerts.yml.
        assert service["metadata"]["labels"][monitor["jobLabel"]] == "smg"


@each_set
def test_ports_are_those_of_the_settings(manifests):
    ports = {port["name"]: port["containerPort"] for port in container(manifests)["ports"]}
    found = settings(manifests)
    assert ports == {"http": found["port"], "probes": found["health-check-port"], "metrics": found["prometheus-port"]}
    assert found["host"] == found["prometheus-host"] == "0.0.0.0"
    assert {port["targetPort"] for port in one(manifests, "Service")["spec"]["ports"]} <= ports.keys()
    probes = {name: container(manifests)[name]["httpGet"] for name in ("startupProbe", "readinessProbe", "livenessProbe")}
    assert {probe["port"] for probe in probes.values()} == {"probes"}
    assert [probe["path"] for probe in probes.values()] == ["/liveness", "/readiness", "/liveness"]


@each_set
def test_a_pod_may_take_longer_to_stop_than_the_gateway(manifests):
    pod = one(manifests, "Deployment")["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > settings(manifests)["shutdown-grace-period-secs"]


@each_set
def test_pods_have_no_privileges(manifests):
    pod = one(manifests, "Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] > 0
    rights = container(manifests)["securityContext"]
    assert rights["readOnlyRootFilesystem"] and not rights["allowPrivilegeEscalation"]
    assert rights["capabilities"] == {"drop": ["ALL"]}
    has_role = any(manifest["kind"] == "Role" for manifest in manifests)
    assert pod["automountServiceAccountToken"] == (has_role and settings(manifests).get("service-discovery", False))


@each_set
def test_settings_are_flags(printed, manifests):
    flags = set(re.findall(r"`--([\w-]+)`", printed("flags")))
    assert settings(manifests).keys() <= flags


def test_role_lets_discovery_read_pods_and_nothing_else():
    manifests = SETS["all"]
    role, binding = one(manifests, "Role"), one(manifests, "RoleBinding")
    assert role["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}]
    assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] == "workers"
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    account = one(manifests, "ServiceAccount")["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": "default"}]
    assert one(manifests, "Deployment")["spec"]["template"]["spec"]["serviceAccountName"] == account
    assert settings(manifests)["selector"] == ["app=vllm", "tier=gpu"]


def test_values_come_through():
    values = {"settings": {"max-payload-size": 536870912, "retry-jitter-factor": 0.5, "upstream-http2": True,
                           "model-alias": ["gpt=a/b"], "log-level": 'a"b'}, "shutdownGracePeriodSeconds": 30}
    manifests = Chart(values).manifests()
    assert settings(manifests).items() >= {**values["settings"], "shutdown-grace-period-secs": 30}.items()
    assert one(manifests, "Deployment")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 50


def test_changed_settings_start_new_pods():
    def checksum(values: dict) -> str:
        return one(Chart(values).manifests(), "Deployment")["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
    assert checksum({}) == checksum({}) != checksum({"settings": {"policy": "random"}})


def test_unknown_values_are_found(tmp_path):
    with pytest.raises(TemplateError):
        Chart().value(".Values.replicaz", Chart().root, {})


def test_manifests_are_the_chart_with_its_defaults():
    """Except for what only Helm needs."""
    def bare(manifest: dict) -> dict:
        manifest = copy.deepcopy(manifest)
        template = manifest.get("spec", {}).get("template", {}).get("metadata", {})
        for meta in (manifest["metadata"], template):
            for label in ("app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"):
                meta.get("labels", {}).pop(label, None)
            meta.pop("namespace", None)
        template.get("annotations", {}).pop("checksum/config", None)
        if not template.get("annotations", True):
            del template["annotations"]
        return manifest

    def by_kind(manifests: list[dict]) -> dict:
        return {manifest["kind"]: bare(manifest) for manifest in manifests}

    chart = by_kind(Chart({"serviceMonitor": {"enabled": True}}).manifests())
    roles = by_kind(Chart({"discovery": {"enabled": True}}).manifests())
    assert by_kind(PLAIN) == chart | {kind: roles[kind] for kind in ("Role", "RoleBinding")}


def test_versions_are_those_of_the_binary():
    run = subprocess.run([os.environ["SMG_BINARY"], "--version"], capture_output=True, text=True, check=True)
    facts = yaml.safe_load((FOLDER / "chart/Chart.yaml").read_text())
    assert facts["appVersion"] == run.stdout.split()[1]
    assert container(PLAIN)["image"].endswith(":" + facts["appVersion"])


def test_kustomization_names_the_files():
    named = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    files = {path.name for path in FOLDER.glob("*.yaml")} - {"kustomization.yaml", "servicemonitor.yaml"}
    assert set(named) == files and len(named) == len(files)
