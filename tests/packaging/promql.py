"""As much of PromQL as it takes to find the metrics and labels that an expression uses."""

import re
from dataclasses import dataclass, field

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
RANGE = re.compile(r"\[[^\]]*\]")
SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)\s*(?:\{([^}]*)\})?")
LABELS = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
# What is neither a metric nor a label.
WORDS = {"sum", "min", "max", "avg", "count", "by", "without", "on", "ignoring", "and", "or", "unless", "rate", "increase",
         "histogram_quantile", "min_over_time", "max_over_time", "label_values", "changes", "deriv", "time", "bool"}
SUFFIXES = ("_bucket", "_sum", "_count")


@dataclass
class Metric:
    type: str
    labels: set[str] = field(default_factory=set)


def read_reference(text: str) -> dict[str, Metric]:
    """The metrics of `smg print metrics`."""
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \|", text, re.MULTILINE)
    return {name: Metric(kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


def series_of(metrics: dict[str, Metric]) -> dict[str, set[str]]:
    """The labels of each series that a scrape of these metrics stores; `up` is Prometheus's own."""
    series = {"up": set()}
    for name, metric in metrics.items():
        if metric.type == "histogram":
            series |= {name + suffix: metric.labels | ({"le"} if suffix == "_bucket" else set()) for suffix in SUFFIXES}
        else:
            series[name] = metric.labels
    return {name: labels | {"job", "instance"} for name, labels in series.items()}


def problems(expression: str, series: dict[str, set[str]]) -> list[str]:
    """What is wrong with the names in `expression`."""
    found, known = [], set()
    bare = RANGE.sub("", STRING.sub('""', expression))
    grouped = [label.strip() for group in LABELS.findall(bare) for label in group.split(",") if label.strip()]
    for name, matchers in SELECTOR.findall(LABELS.sub("", bare)):
        if name in WORDS:
            continue
        if name not in series:
            found.append(f"no such metric: {name}")
            continue
        known |= series[name]
        found += [f"{name} has no label {label}" for label in MATCHER.findall(matchers) if label not in series[name]]
    return found + [f"no metric of it has a label {label}" for label in grouped if label not in known]
