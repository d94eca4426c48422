"""A codec: how objects of one kind are read from manifests and written to them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import Any, Generic, Literal, TypeVar

import msgspec

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.metadata import ListMeta, ManifestSchema
from headgate.adapters.manifests.queue_status import QueueStatus
from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.kinds.configuration import ResourceRules
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.object_commands import Kind
from headgate.domain.rejection import Violation
from headgate.domain.scheduling.partition.budget_status import BudgetStatus
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Condition
from headgate.messages.rendering import IsVisible

KUEUE = ("kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1")
KUEUE_ALPHA = "kueue.x-k8s.io/v1alpha1"
"""Where Topology and Cohort began, with the fields that they have now."""

OURS = "headgate.dev/v1"

Places = tuple[tuple[str, str], ...]
"""Where parts of an object in our shape stand in the manifest, as pairs of JSON pointers."""

ReadSpec = tuple[Any, tuple[str, ...]]
"""A spec, and the names of its fields that a change keeps because the manifest left them out."""

ReadResult = TypeVar("ReadResult")
MAX_KNOWN_SPECS = 512
MAX_KNOWN_SPEC_BYTES = 8_192


class KnownSpecs(Generic[ReadResult]):
    """The results of reading specs, by their JSON: most workloads are written as others before.

    Kept is only what is short and was read without a problem, with its warnings. Any thread may use
    it; results are shared and never changed.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[ReadResult, tuple[Violation, ...]]] = {}

    def read(
        self, spec: Fields, marks: tuple[Any, ...], read: Callable[[], ReadResult]
    ) -> tuple[ReadResult, bytes]:
        """The result of `read`, and a digest of `spec` and `marks`, on which alone it depends.

        The digest is empty where the result is not kept.
        """
        written = msgspec.json.encode((spec.values, marks))
        warnings = spec.problems.warnings
        if len(written) > MAX_KNOWN_SPEC_BYTES or spec.problems or warnings:
            return read(), b""
        digest = blake2b(written).digest()
        known = self._known.get(digest)
        if known is not None:
            warnings.extend(known[1])
            return known[0], digest
        found = read()
        if spec.problems:
            return found, b""
        if len(self._known) >= MAX_KNOWN_SPECS:
            self._known.clear()
        self._known[digest] = (found, tuple(warnings))
        return found, digest


class ExecutorConnection(msgspec.Struct, frozen=True, kw_only=True):
    """What the status of an Executor shows beside its own state: its lease, nodes and rivals.

    `shared_node` is a node that an older Executor, `older`, selects too.
    """

    nodes: int = 0
    last_seen_at: Instant | None = None
    running_pods: int = 0
    shared_node: str = ""
    older: str = ""


class Extras(msgspec.Struct, frozen=True, kw_only=True):
    """What a manifest shows of an object beside its own state.

    `resources` are the rules by which the requests of a workload count for quota, `conditions`
    those that follow from other objects, in place of recorded ones; `queue_status` is for
    ClusterQueues and LocalQueues; `cluster_queue` is the spec of the one that a LocalQueue leads
    to, for the flavors of its usage; `weighted_share` is a Cohort's, `budget_standing` a
    DisruptionBudget's, `executor_connection` an Executor's. `is_visible` tells whether messages may
    name an object to the reader; without it they name only workloads of the same namespace.
    """

    queue_status: QueueStatus | None = None
    resources: ResourceRules = ResourceRules()
    conditions: tuple[Condition, ...] = ()
    cluster_queue: ClusterQueueSpec | None = None
    weighted_share: int | None = None
    budget_standing: BudgetStatus | None = None
    is_visible: IsVisible | None = None
    executor_connection: ExecutorConnection | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Codec:
    """How one kind is read and written.

    `versions` are the apiVersions it is read in; the first is written. `read` takes the mapping
    under `spec`, or the whole manifest where `has_fields_at_root` or the apiVersion is one of
    `versions_at_root`; `render` gives everything but apiVersion, kind and metadata. `schema`
    describes the manifest for the API. `old_names` pairs pointers into the spec with the names
    that fields had before. `only_name` is the name of the one object of a kind of which there is
    one. A status that `is_status_derived` changes without a change of the object.
    """

    kind: Kind[Any]
    versions: tuple[str, ...]
    read: Callable[[Fields], ReadSpec]
    render: Callable[[Configured[Any], Extras], dict[str, Any]]
    schema: type[msgspec.Struct]
    has_fields_at_root: bool = False
    versions_at_root: tuple[str, ...] = ()
    old_names: tuple[tuple[str, str], ...] = ()
    only_name: str = ""
    is_status_derived: bool = False

    @property
    def list_schema(self) -> type[msgspec.Struct]:
        """The schema of one page of objects."""
        return _list_schema(self.kind.name, self.kind.plural, self.schema)

    def read_object(self, root: Fields) -> tuple[Any, tuple[str, ...], Places]:
        """The spec of a manifest, the fields that a change keeps, and where parts of it stand."""
        if self.has_fields_at_root:
            return (*self.read(root), ())
        if root.text("apiVersion") in self.versions_at_root:
            return (*self.read(root), (("/spec", ""),))
        spec = root.child_or_empty("spec")
        places = tuple(
            (pointer, f"/spec/{old}")
            for pointer, old in self.old_names
            if old in spec.values and pointer.split("/")[2] not in spec.values
        )
        read = self.read(spec)
        spec.reject_unknown()
        return (*read, places)


@cache
def _list_schema(name: str, plural: str, schema: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """One class for each kind: the description of the API knows a schema by its class."""
    return msgspec.defstruct(
        f"{name}List",
        [
            ("api_version", str),
            ("kind", Literal[f"{name}List"]),
            ("metadata", ListMeta),
            ("items", list[schema]),  # type: ignore[valid-type]
        ],
        bases=(ManifestSchema,),
        module=__name__,
        namespace={"__doc__": f"One page of {plural}."},
        kw_only=True,
        frozen=True,
    )
