"""Values that fields accept, and what must stand beside a field so that it says something.

Both by the end of a JSON pointer; of several the first one counts.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

SAMPLES: Sequence[tuple[str, tuple[Any, ...]]] = (
    ("/onExitCodes/operator", ("In", "NotIn")),
    ("/onExitCodes/containerName", ("c", "other")),
    ("/onPodConditions/0/type", ("DisruptionTarget",)),
    ("/onPodConditions/0/status", ("True", "False")),
    ("/podFailurePolicy/rules/0/action", ("FailJob", "FailIndex", "Ignore", "Count")),
    ("/successPolicy/rules/0/succeededIndexes", ("0-1",)),
    ("/completionMode", ("Indexed",)),
    ("/podReplacementPolicy", ("TerminatingOrFailed", "Failed")),
    ("/matchFields/0/key", ("metadata.name",)),
    ("/operator", ("Exists", "In")),
    ("/effect", ("NoExecute", "NoSchedule")),
    ("/whenUnsatisfiable", ("DoNotSchedule", "ScheduleAnyway")),
    ("/nodeAffinityPolicy", ("Ignore",)),
    ("/nodeTaintsPolicy", ("Honor",)),
    ("/topologyKey", ("kubernetes.io/hostname",)),
    ("/preemptionPolicy", ("Never",)),
    ("/restartPolicy", ("Never", "Always", "OnFailure")),
    ("/hostPath/path", ("/tmp",)),
    ("/hostPath/type", ("File",)),
    ("/volumeMounts/0/mountPath", ("/tmp",)),
    ("/volumeMounts/0/name", ("v",)),
    ("/volumes/0/name", ("v",)),
    ("/fieldRef/fieldPath", ("metadata.name",)),
    ("/limits/0/type", ("Container", "Pod")),
    ("/maxSkew", (3, 1)),
    ("/minDomains", (3, 1)),
)

Companion: TypeAlias = tuple[str, Any]
"""A path from the field to another one, and the value that must stand there."""

_OF_LABEL: Companion = ("../../labelSelector", {})
_VOLUMES = [{"name": "v", "hostPath": {"path": "/tmp"}}]
_MOUNTS = [{"name": "v", "mountPath": "/tmp"}]
_VOLUME_OF_MOUNT = (("../../../../../volumes", _VOLUMES),)
_MOUNT_OF_SOURCE = (
    ("../../../../containers/0/volumeMounts", _MOUNTS),
    ("../../name", "v"),
)
_LABELS_OF_TERM = (_OF_LABEL, ("../../../../../../../metadata/labels", {"x": "y"}))

COMPANIONS: Sequence[tuple[str, tuple[Companion, ...]]] = (
    ("/matchFields/0/values/0", (("../../operator", "In"), ("../../key", "metadata.name"))),
    ("/onExitCodes/operator", (("../values", [3]), ("../../action", "FailJob"))),
    ("/onExitCodes/values/0", (("../../operator", "In"),)),
    ("/values/0", (("../../operator", "In"),)),
    ("/tolerations/0/operator", (("../key", "a"),)),
    ("/operator", (("../values", ["x"]),)),
    ("/tolerations/0/value", (("../key", "a"), ("../operator", "Equal"))),
    ("/tolerations/0/effect", (("../key", "a"), ("../operator", "Exists"))),
    (
        "/tolerations/0/tolerationSeconds",
        (("../key", "a"), ("../operator", "Exists"), ("../effect", "NoExecute")),
    ),
    (
        "/topologySpreadConstraints/0/matchLabelKeys/0",
        (_OF_LABEL, ("../../../../../metadata/labels", {"x": "y"})),
    ),
    ("/podAffinityTerm/matchLabelKeys/0", ()),
    ("/podAffinityTerm/mismatchLabelKeys/0", ()),
    ("/matchLabelKeys/0", _LABELS_OF_TERM),
    ("/mismatchLabelKeys/0", _LABELS_OF_TERM),
    ("/onExitCodes/containerName", (("../values", [3]),)),
    (
        "/podFailurePolicy/rules/0/action",
        (("../onExitCodes", {"operator": "In", "values": [3]}),),
    ),
    *((f"/volumeMounts/0/{name}", _VOLUME_OF_MOUNT) for name in ("name", "mountPath")),
    *((f"/volumeMounts/0/{name}", _VOLUME_OF_MOUNT) for name in ("readOnly", "subPath")),
    *((f"/hostPath/{name}", _MOUNT_OF_SOURCE) for name in ("path", "type")),
    (
        "/volumes/0/name",
        (("../../../containers/0/volumeMounts", _MOUNTS), ("../hostPath", {"path": "/tmp"})),
    ),
)

WITHOUT_MEANING: Mapping[str, str] = {
    "/spec/suspend": "Kueue sets it; what is applied is queued with it and without it",
    "/spec/runPolicy/suspend": "Kueue sets it; what is applied is queued with it and without it",
    "/spec/completionMode": "pods have their index in either mode",
    "/spec/finalizers/0": "the server of the namespace sets it",
    "/metadata/generateName": "a template has no name of its own",
    "/metadata/name": "a template has no name of its own",
    "/metadata/namespace": "pods are in the namespace of their workload",
    "/taints/0/timeAdded": "the controller that sets the taint writes it",
    "/fieldRef/apiVersion": "there is one version",
    "/imagePullPolicy": "how an image is fetched: for executors that declare the capability image",
    "/ports/0/containerPort": "Kubernetes: it describes a pod; a port is open without it",
    "/ports/0/name": "Kubernetes: it describes a pod",
    "/ports/0/protocol": "Kubernetes: it describes a pod",
}
"""By the end of a pointer the fields that change nothing in Kueue or Kubernetes either, and why."""
