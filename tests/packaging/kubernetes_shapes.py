"""The fields of Kubernetes objects that our manifests may use, with their types: a misspelt one is not ignored here.

A shape is a type, a map of fields (those that end in `!` must be there), `[shape]` for a list, `Map` for free keys.
"""

Map = {str: str}
PORT = (int, str)  # a number or a name
META = {"name!": str, "namespace": str, "labels!": Map, "annotations": Map}
SELECTOR = {"matchLabels!": Map}
PROBE = {"httpGet!": {"path!": str, "port!": PORT}, "periodSeconds": int, "timeoutSeconds": int, "failureThreshold": int,
         "initialDelaySeconds": int}
ENVIRONMENT = [{"name!": str, "value": str, "valueFrom": {"secretKeyRef": {"name!": str, "key!": str}}}]
CONTAINER = {
    "name!": str, "image!": str, "imagePullPolicy": str, "args!": [str], "env": ENVIRONMENT,
    "envFrom": [{"secretRef": {"name!": str}, "configMapRef": {"name!": str}}],
    "ports!": [{"name!": str, "containerPort!": int}],
    "startupProbe!": PROBE, "readinessProbe!": PROBE, "livenessProbe!": PROBE,
    "resources!": {"requests": Map, "limits": Map},
    "securityContext!": {"allowPrivilegeEscalation!": bool, "readOnlyRootFilesystem!": bool,
                         "capabilities!": {"drop!": [str]}},
    "volumeMounts": [{"name!": str, "mountPath!": str, "readOnly": bool}],
}
POD = {
    "serviceAccountName": str, "automountServiceAccountToken": bool, "enableServiceLinks": bool,
    "terminationGracePeriodSeconds!": int, "imagePullSecrets": [{"name!": str}], "priorityClassName": str,
    "securityContext!": {"runAsNonRoot!": bool, "runAsUser!": int, "runAsGroup!": int, "fsGroup": int,
                         "seccompProfile!": {"type!": str}},
    "topologySpreadConstraints": [{"maxSkew!": int, "topologyKey!": str, "whenUnsatisfiable!": str,
                                   "labelSelector!": SELECTOR}],
    "containers!": [CONTAINER],
    "volumes": [{"name!": str, "configMap": {"name!": str}, "secret": {"secretName!": str}}],
    "nodeSelector": Map, "affinity": dict,
    "tolerations": [{"key": str, "operator": str, "value": str, "effect": str}],
}
OBJECT = {"apiVersion!": str, "kind!": str, "metadata!": META}
SHAPES = {
    ("v1", "ConfigMap"): OBJECT | {"data!": Map},
    ("v1", "ServiceAccount"): OBJECT | {"automountServiceAccountToken!": bool},
    ("v1", "Service"): OBJECT | {"spec!": {
        "type": str, "selector!": Map, "ports!": [{"name!": str, "port!": int, "targetPort!": PORT}]}},
    ("apps/v1", "Deployment"): OBJECT | {"spec!": {
        "replicas": int, "selector!": SELECTOR,
        "strategy": {"type!": str, "rollingUpdate": {"maxUnavailable": PORT, "maxSurge": PORT}},
        "template!": {"metadata!": {"labels!": Map, "annotations": Map}, "spec!": POD}}},
    ("policy/v1", "PodDisruptionBudget"): OBJECT | {"spec!": {
        "maxUnavailable": PORT, "minAvailable": PORT, "selector!": SELECTOR}},
    ("monitoring.coreos.com/v1", "ServiceMonitor"): OBJECT | {"spec!": {
        "jobLabel": str, "selector!": SELECTOR, "endpoints!": [{"port!": str, "interval": str, "path": str}]}},
    ("rbac.authorization.k8s.io/v1", "Role"): OBJECT | {"rules!": [
        {"apiGroups!": [str], "resources!": [str], "verbs!": [str]}]},
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): OBJECT | {
        "roleRef!": {"apiGroup!": str, "kind!": str, "name!": str},
        "subjects!": [{"kind!": str, "name!": str, "namespace!": str}]},
}


def misfits(value, shape, path: str = "") -> list[str]:
    """Where `value` is not of this shape."""
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{path}: no list"]
        return [wrong for i, item in enumerate(value) for wrong in misfits(item, shape[0], f"{path}[{i}]")]
    if not isinstance(shape, dict):
        right = isinstance(value, shape) and not (isinstance(value, bool) and shape is not bool)
        return [] if right else [f"{path}: {value!r} is no {shape}"]
    if not isinstance(value, dict):
        return [f"{path}: no map"]
    if str in shape:
        return [wrong for key, item in value.items() for wrong in misfits(item, shape[str], f"{path}.{key}")]
    fields = {field.rstrip("!"): inner for field, inner in shape.items()}
    wrong = [f"{path}.{field[:-1]}: missing" for field in shape if field.endswith("!") and field[:-1] not in value]
    for key, item in value.items():
        wrong += misfits(item, fields[key], f"{path}.{key}") if key in fields else [f"{path}.{key}: no such field"]
    return wrong


def misfits_of(manifest: dict) -> list[str]:
    shape = SHAPES.get((manifest.get("apiVersion"), manifest.get("kind")))
    if shape is None:
        return [f"no such object: {manifest.get('apiVersion')} {manifest.get('kind')}"]
    return misfits(manifest, shape, manifest["kind"])
