"""Labels of metrics that the Configuration takes from objects (Kueue: `metrics.customLabels`).

Kueue: KEP 7066. Each kind of object gives labels of its own, with the kind in front of the name, to
the metrics that are told by such an object.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from headgate.domain.field_rules import (
    broken_rule_of_label_key,
    count_violations,
    duplicate_violations,
    name_violations,
    shown,
)
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.rejection import Violation, child, violation

MetricLabelKind = Literal["Cohort", "LocalQueue", "ClusterQueue"]
METRIC_LABEL_KINDS: tuple[MetricLabelKind, ...] = ("Cohort", "LocalQueue", "ClusterQueue")
MAX_METRIC_LABELS, MAX_METRIC_LABELS_OF_KIND = 20, 6

POINTER = "/spec/metrics/customLabels"
_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_]{0,62}")


class MetricLabel(msgspec.Struct, frozen=True, kw_only=True):
    """A label of metrics: the value of a label or annotation of the object they are told by.

    Without a key of either it is the object's label of the same name.
    """

    name: str
    source_label_key: str = ""
    source_annotation_key: str = ""
    source_kinds: tuple[MetricLabelKind, ...] = METRIC_LABEL_KINDS

    def value_of(self, found: Configured[Any]) -> str:
        """The value for an object; empty where it has none."""
        if self.source_annotation_key:
            return found.annotations.get(self.source_annotation_key, "")
        return found.labels.get(self.source_label_key or self.name, "")


class MetricRules(msgspec.Struct, frozen=True, kw_only=True):
    """What the metrics of the installation tell beside Kueue's labels."""

    custom_labels: tuple[MetricLabel, ...] = ()


def labels_from(
    rules: MetricRules, kind: MetricLabelKind, found: Configured[Any]
) -> Iterator[tuple[str, str]]:
    """Yields name and value of each label that an object of a kind gives to its metrics."""
    for label in rules.custom_labels:
        if kind in label.source_kinds:
            yield f"{kind.lower()}_custom_{label.name}", label.value_of(found)


def metric_violations(rules: MetricRules) -> Iterator[Violation]:
    """Broken rules of the labels (Kueue: validation of `metrics.customLabels`)."""
    labels = rules.custom_labels
    yield from count_violations(POINTER, len(labels), MAX_METRIC_LABELS)
    for kind in METRIC_LABEL_KINDS:
        of_kind = sum(kind in label.source_kinds for label in labels)
        field = f"customLabels of {kind}"
        yield from count_violations(POINTER, of_kind, MAX_METRIC_LABELS_OF_KIND, field=field)
    for index, label in enumerate(labels):
        yield from _label_violations(child(POINTER, index), label)
    yield from duplicate_violations(
        (child(POINTER, index, "name"), label.name) for index, label in enumerate(labels)
    )


def _label_violations(pointer: str, label: MetricLabel) -> Iterator[Violation]:
    if not _NAME.fullmatch(label.name):
        yield violation(f"{pointer}/name", "MetricLabelInvalid", value=shown(label.name))
    of_label, of_annotation = label.source_label_key, label.source_annotation_key
    if of_label and of_annotation:
        fields = ("sourceLabelKey", "sourceAnnotationKey")
        yield violation(f"{pointer}/sourceAnnotationKey", "NotTogether", fields=fields)
    for field, key in (("sourceLabelKey", of_label), ("sourceAnnotationKey", of_annotation)):
        if key:
            yield from name_violations(f"{pointer}/{field}", key, broken_rule_of_label_key)
    kinds = ((child(pointer, "sourceKinds", n), kind) for n, kind in enumerate(label.source_kinds))
    yield from duplicate_violations(kinds)
