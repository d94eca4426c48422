"""The kinds of objects, what people call them, and what a list shows of each."""

from difflib import get_close_matches

import msgspec

from headgate.cli.failures import CommandFailed, ExitCode


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind: `plural` is its path in the API, `words` are what people may type."""

    name: str
    plural: str
    words: tuple[str, ...]
    namespaced: bool = False

    def path(self, namespace: str, name: str = "") -> str:
        """Where the API keeps all objects, those of a namespace, or one of them."""
        place = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"/v1{place}/{self.plural}" + (f"/{name}" if name else "")


WORKLOAD = Kind(
    name="Workload", plural="workloads", words=("workload", "workloads", "wl"), namespaced=True
)
CLUSTER_QUEUE = Kind(
    name="ClusterQueue", plural="clusterqueues", words=("clusterqueue", "clusterqueues", "cq")
)
LOCAL_QUEUE = Kind(
    name="LocalQueue",
    plural="localqueues",
    words=("queue", "queues", "localqueue", "localqueues", "lq"),
    namespaced=True,
)
NODE = Kind(name="Node", plural="nodes", words=("node", "nodes", "no"))

KINDS = (
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    Kind(name="Cohort", plural="cohorts", words=("cohort", "cohorts", "co")),
    Kind(
        name="ResourceFlavor",
        plural="resourceflavors",
        words=("resourceflavor", "resourceflavors", "flavor", "flavors", "rf"),
    ),
    WORKLOAD,
    Kind(name="Topology", plural="topologies", words=("topology", "topologies", "topo")),
    NODE,
    Kind(
        name="WorkloadPriorityClass",
        plural="workloadpriorityclasses",
        words=("workloadpriorityclass", "workloadpriorityclasses", "priorityclass", "wpc"),
    ),
    Kind(
        name="AdmissionCheck",
        plural="admissionchecks",
        words=("admissioncheck", "admissionchecks", "ac"),
    ),
    Kind(
        name="DisruptionBudget",
        plural="disruptionbudgets",
        words=("disruptionbudget", "disruptionbudgets", "db"),
        namespaced=True,
    ),
    Kind(
        name="Configuration",
        plural="configurations",
        words=("configuration", "configurations", "config"),
    ),
    Kind(
        name="LimitRange",
        plural="limitranges",
        words=("limitrange", "limitranges", "limits"),
        namespaced=True,
    ),
    Kind(name="RuntimeClass", plural="runtimeclasses", words=("runtimeclass", "runtimeclasses")),
    Kind(name="Namespace", plural="namespaces", words=("namespace", "namespaces", "ns")),
)

_BY_WORD = {word: kind for kind in KINDS for word in kind.words}


def kind_of(word: str) -> Kind:
    """The kind a person means."""
    found = _BY_WORD.get(word.lower())
    if found is None:
        near = get_close_matches(word.lower(), _BY_WORD, n=1)
        meant = f"Did you mean {near[0]}? " if near else ""
        known = ", ".join(f"{kind.words[-1]} ({kind.name})" for kind in KINDS)
        raise CommandFailed(
            f"there is no kind {word!r}", remedy=f"{meant}Kinds: {known}", code=ExitCode.USAGE
        )
    return found


def references(words: list[str], default: Kind | None = None) -> list[tuple[Kind, str]]:
    """Objects named as `kind name...`, as `kind/name ...`, or by name where the kind is given."""
    if not words:
        raise CommandFailed("name at least one object", code=ExitCode.USAGE)
    if all("/" in word and word.partition("/")[0].lower() in _BY_WORD for word in words):
        return [(kind_of(word.partition("/")[0]), word.partition("/")[2]) for word in words]
    if default is not None:
        return [(default, word) for word in words]
    kind, *names = words
    if not names:
        raise CommandFailed(
            f"name the {kind_of(kind).name} you mean",
            remedy=f"{kind} NAME, or {kind}/NAME",
            code=ExitCode.USAGE,
        )
    return [(kind_of(kind), name) for name in names]


def placed(name: str, namespace: str) -> tuple[str, str]:
    """Namespace and name of `name` or `namespace/name`."""
    there, slash, rest = name.partition("/")
    return (there, rest) if slash else (namespace, name)
