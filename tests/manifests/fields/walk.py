"""All fields of all kinds that are accepted, with what becomes of each."""

from collections.abc import Iterator
from typing import Literal, NamedTuple
from zlib import crc32

import yaml

from tests.manifests.fields.outcomes import Manifest, Outcome, outcome
from tests.manifests.fields.samples import WITHOUT_MEANING
from tests.manifests.fields.schemas import METADATA, Field, definitions, kubernetes_fields
from tests.manifests.fields.tables import DEFINITIONS, POD, TABLES


class Finding(NamedTuple):
    """What becomes of a field of a kind."""

    kind: str
    pointer: str
    outcome: Outcome | Literal["unmeant"]


_TEMPLATE = f"template: {{spec: {POD}}}"
BASES = {
    "Job": ("batch/v1", f"{{spec: {{parallelism: 2, completions: 2, {_TEMPLATE}}}}}"),
    "Pod": ("v1", f"{{spec: {POD}}}"),
    "Deployment": ("apps/v1", f"{{spec: {{replicas: 2, {_TEMPLATE}}}}}"),
    "StatefulSet": ("apps/v1", f"{{spec: {{replicas: 2, {_TEMPLATE}}}}}"),
    "CronJob": (
        "batch/v1",
        f"{{spec: {{schedule: '@daily', jobTemplate: {{spec: {{{_TEMPLATE}}}}}}}}}",
    ),
    "Node": ("v1", "{}"),
    "Namespace": ("v1", "{}"),
    "LimitRange": ("v1", "{spec: {limits: [{type: Container, max: {cpu: 4}}]}}"),
    "RuntimeClass": ("node.k8s.io/v1", "{handler: x}"),
    "PriorityClass": ("scheduling.k8s.io/v1", "{value: 1}"),
}
"""By kind of Kubernetes its version, and the part of a manifest that is accepted."""


def kinds() -> tuple[str, ...]:
    """The kinds with fields to walk."""
    return (*BASES, *TABLES)


def findings(kind: str, *, every: int = 1) -> Iterator[Finding]:
    """What becomes of each field of a kind; of those of pod templates only of one in `every`."""
    base = base_of(kind)
    for field in fields_of(kind):
        is_of_template = "emplate/" in field.pointer or kind == "Pod"
        if is_of_template and crc32(f"{kind} {field.pointer}".encode()) % every:
            continue
        found = outcome(base, field)
        if found == "silent" and _is_without_meaning(field.pointer):
            yield Finding(kind, field.pointer, "unmeant")
        else:
            yield Finding(kind, field.pointer, found)


def _is_without_meaning(pointer: str) -> bool:
    return any(pointer.endswith(end) for end in WITHOUT_MEANING)


def base_of(kind: str) -> Manifest:
    """A manifest of a kind that is accepted."""
    version, body = BASES[kind] if kind in BASES else TABLES[kind][:2]
    head = {"apiVersion": version, "kind": kind, "metadata": {"name": "default"}}
    manifest: Manifest = head | yaml.safe_load(body)
    return manifest


def fields_of(kind: str) -> Iterator[Field]:
    """The fields of a kind, those of metadata among them."""
    if kind in DEFINITIONS:
        parts = [part for part in _properties(kind) if part not in _HEAD]
        yield from kubernetes_fields(DEFINITIONS[kind], "", *parts) if parts else ()
    else:
        for line in filter(None, TABLES[kind].fields.splitlines()):
            yield from _line(line)
    for part in METADATA:
        yield Field(f"/metadata/{part}", ({"a": "b"}, "x"))


def _line(line: str) -> Iterator[Field]:
    pointer, _, text = line.partition(" ")
    if text.startswith("@"):
        yield from kubernetes_fields(DEFINITIONS[text[1:]], pointer)
    else:
        yield Field(pointer, (yaml.safe_load(text),))


def _properties(kind: str) -> list[str]:
    return list(definitions()[DEFINITIONS[kind]]["properties"])


_HEAD = ("apiVersion", "kind", "metadata", "status")
