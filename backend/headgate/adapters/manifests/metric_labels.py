"""The section `metrics` of a Configuration: labels of metrics that objects give (KEP 7066)."""

from typing import Any, Literal

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.metadata import ManifestSchema
from headgate.adapters.manifests.records import Record, field, listed, read_required_text
from headgate.domain.kinds.metric_labels import METRIC_LABEL_KINDS, MetricLabel, MetricRules

OF_WORKLOADS = "Workload"
"""Labels of this kind would part a figure of a queue; it is passed over with a warning."""


def _read_kinds(fields: Fields, name: str, _: object) -> tuple[str, ...]:
    found = fields.words(name, (*METRIC_LABEL_KINDS, OF_WORKLOADS))
    if OF_WORKLOADS in found:
        fields.warn(name, "FieldWithoutEffect", field=f"{name}: {OF_WORKLOADS}")
    named = fields.texts(name)
    return tuple(kind for kind in found if kind != OF_WORKLOADS) if named else METRIC_LABEL_KINDS


_METRICS = Record(
    MetricRules,
    listed(
        "customLabels",
        Record(
            MetricLabel,
            field("name", read=read_required_text),
            field("sourceLabelKey", omits_usual=True),
            field("sourceAnnotationKey", omits_usual=True),
            field("sourceKinds", read=_read_kinds),
        ),
    ),
    without_effect=("bindAddress", "enableClusterQueueResources", "localQueueMetrics"),
)


def read_metrics(spec: Fields, name: str, usual: MetricRules) -> MetricRules:
    """The labels of the section, and a warning for each field that says how Kueue serves."""
    fields = spec.child(name)
    return usual if fields is None else _METRICS.read_nested(fields)


def rendered_metrics(metrics: MetricRules) -> dict[str, Any]:
    """The section."""
    return _METRICS.render(metrics)


class MetricLabelSchema(ManifestSchema, kw_only=True, frozen=True):
    """A label of metrics from a label or annotation of the object that a metric is told by."""

    name: str
    source_label_key: str | None = None
    source_annotation_key: str | None = None
    source_kinds: list[Literal["Cohort", "LocalQueue", "ClusterQueue", "Workload"]] = []


class MetricsSchema(ManifestSchema, kw_only=True, frozen=True):
    """What metrics tell beside Kueue's labels."""

    custom_labels: list[MetricLabelSchema] = []
