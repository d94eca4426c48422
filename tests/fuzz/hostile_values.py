"""Values of the worst size and shape for query parameters, headers and bodies."""

import json
from collections.abc import Iterator
from typing import Any

LONG = 7_000
"""Characters of a parameter or header; the server refuses longer heads of requests by itself."""
MAX_BODY_BYTES = 9_900_000
"""Just below the limit of a request, so that it is read."""
WORKLOAD = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload"}

TEXTS = (
    "",
    "x" * LONG,
    "," * LONG,
    "(" * LONG,
    "a in (" + "b," * (LONG // 2) + ")",
    "!" * LONG,
    "a=" * (LONG // 2),
    "-" * LONG + "!",
    "9" * LONG,
    "-1",
    "1e309",
    "0x7fffffffffffffff",
    "2026-01-01T00:00:00+99:99",
    "9999-12-31T23:59:59.999999Z",
    "\x00",
    "\x1b]0;x\x07",
    "é\u0301" * (LONG // 8),
    "'; DROP TABLE event; --",
    "../" * (LONG // 3),
    "{}",
    "null",
)
"""For query parameters."""

HEADERS: tuple[dict[str, str], ...] = (
    {"Authorization": "Bearer " + "x" * LONG},
    {"Authorization": "Basic " + "=" * LONG},
    {"If-Match": '"' + "9" * LONG + '"'},
    {"If-Match": "W/" * (LONG // 2)},
    {"If-None-Match": "," * LONG},
    {"Idempotency-Key": "k" * LONG},
    {"Idempotency-Key": ""},
    {"Last-Event-ID": "9" * LONG},
    {"traceparent": "00-" + "f" * LONG},
    {"X-Request-Id": "r" * LONG},
    {"Accept": "*/*;q=" + "0," * (LONG // 2)},
    {"Content-Type": "application/json; " + "a=b;" * (LONG // 4)},
    {"Content-Type": "application/x-unknown"},
    {"Accept-Encoding": "gzip," * (LONG // 5)},
)


def bodies() -> Iterator[tuple[str, str, bytes]]:
    """Yields bodies as name, media type and bytes; each is made when it is asked for."""
    json_type, yaml_type = "application/json", "application/yaml"
    yield "empty", json_type, b""
    yield "null", json_type, b"null"
    yield "not utf-8", json_type, b'{"a": "\xff\xfe"}'
    yield "nested", json_type, b"[" * 1_000_000
    yield "nested objects", json_type, b'{"a":' * 1_000_000
    yield "nested yaml", yaml_type, b"[" * 20_000
    yield "number", json_type, b'{"a": ' + b"9" * 1_000_000 + b"}"
    yield "float", json_type, b'{"a": 1e999999}'
    yield "text", json_type, json.dumps({"reason": "x" * MAX_BODY_BYTES}).encode()
    yield "escapes", json_type, b'{"reason": "' + b"\\u0000" * (MAX_BODY_BYTES // 6 - 10) + b'"}'
    yield "keys", json_type, json.dumps({f"k{n}": 0 for n in range(400_000)}).encode()
    yield "items", json_type, b'{"items": [' + b"{}," * 1_000_000 + b"{}]}"
    yield "aliases", yaml_type, _aliases()
    yield "documents", yaml_type, b"---\na: 1\n" * 100_000
    yield "yaml text", yaml_type, b"a: " + b"x" * 5_000_000
    for name, manifest in _manifests():
        yield name, json_type, json.dumps(manifest).encode()


def _aliases() -> bytes:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    for level in range(1, 9):
        named = ",".join([f"*a{level - 1}"] * 10)
        lines.append(f"a{level}: &a{level} [{named}]")
    return "\n".join(lines).encode()


def _manifests() -> Iterator[tuple[str, dict[str, Any]]]:
    named: dict[str, Any] = {**WORKLOAD, "metadata": {"name": "fuzz", "namespace": "team-a"}}
    many = {f"label-{number}": "x" * 40 for number in range(70_000)}
    yield "labels", named | {"metadata": named["metadata"] | {"labels": many}}
    yield "annotations", named | {"metadata": named["metadata"] | {"annotations": many}}
    pods = [{"name": f"p{number}", "count": 2**31} for number in range(50_000)]
    yield "pod sets", named | {"spec": {"queueName": "main", "podSets": pods}}
    term = {"key": "a", "operator": "In", "values": ["b" * 60] * 50}
    selector = {"matchExpressions": [term] * 1_500}
    for kind, spec in (
        ("ClusterQueue", {"namespaceSelector": selector}),
        ("DisruptionBudget", {"selector": selector, "maxUnavailable": 1}),
        ("ResourceFlavor", {"nodeLabels": many}),
        ("Topology", {"levels": [{"nodeLabel": f"l{n}"} for n in range(50_000)]}),
    ):
        made = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "spec": spec}
        yield f"{kind} of many", made | {"metadata": {"name": "fuzz", "namespace": "team-a"}}
    similar = [{"name": f"resource-{number}", "nominalQuota": "1"} for number in range(20_000)]
    flavors = [{"name": "default", "resources": similar}]
    groups = [{"coveredResources": [each["name"] for each in similar], "flavors": flavors}]
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue"}
    yield "resources", queue | {"metadata": {"name": "fuzz"}, "spec": {"resourceGroups": groups}}
