"""Which role may do what, and where: one table, and one function that judges.

A right is a verb on a resource, as routes name it: `operate workloads`. A grant gives a role within
a scope: namespaces, ClusterQueues, one Executor, or the installation. A user holds any number of
grants and may what one of them allows.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias, get_args

import msgspec

from headgate.domain.field_rules import shown
from headgate.domain.kinds.registry import KINDS
from headgate.domain.rejection import InvalidRequest, NotAllowed

Role = Literal["viewer", "submitter", "namespace-admin", "queue-admin", "executor", "admin"]
Verb = Literal["read", "submit", "operate", "configure", "report"]
RoleScope: TypeAlias = Literal["Namespaces", "ClusterQueues", "Executor", "Installation"]

ROLES: tuple[Role, ...] = get_args(Role)
VERBS: tuple[Verb, ...] = get_args(Verb)


class Right(NamedTuple):
    """A verb on a resource: the plural of a kind, or a part of the API such as `events`."""

    verb: Verb
    resource: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


NAMESPACED = frozenset({"workloads", *(kind.path for kind in KINDS if kind.is_namespaced)})
READABLE = frozenset(
    {
        "cycles", "events", "history", "identity", "metrics", "overview", "preemptions",
        "simulations", "system", "views", "workloads", *(kind.path for kind in KINDS),
    }
)  # fmt: skip
"""Resources that every role reads; of those in namespaces only what its scope shows."""
ADMINISTERED = frozenset({"backtests", "erasures", "readmodels", "serviceaccounts", "tokens"})
"""Resources of admins alone."""
RESOURCES = READABLE | ADMINISTERED

ROLE_RIGHTS: dict[Role, dict[Verb, frozenset[str]]] = {
    "viewer": {"read": READABLE},
    "submitter": {
        "read": READABLE,
        "submit": frozenset({"workloads"}),
        "operate": frozenset({"workloads"}),
    },
    "namespace-admin": {
        "read": READABLE,
        "submit": frozenset({"workloads"}),
        "operate": frozenset({"workloads", "localqueues"}),
        "configure": frozenset({"localqueues", "limitranges", "cronjobs", "trainingruntimes"}),
    },
    "queue-admin": {
        "read": READABLE,
        "operate": frozenset({"workloads", "localqueues", "clusterqueues", "acknowledgments"}),
    },
    "executor": {
        "read": READABLE,
        "report": frozenset({"workloads", "nodes", "admissionchecks", "executors"}),
    },
    "admin": dict.fromkeys(VERBS, RESOURCES),
}
"""The rights of each role within its scope; all other rights are refused."""

SCOPES: dict[Role, RoleScope] = {
    "viewer": "Namespaces",
    "submitter": "Namespaces",
    "namespace-admin": "Namespaces",
    "queue-admin": "ClusterQueues",
    "executor": "Executor",
    "admin": "Installation",
}
"""What the grant of a role names: a viewer or executor that names nothing has no bounds."""


class Grant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A role, with the namespaces, ClusterQueues or Executor that it is for."""

    role: Role
    namespaces: tuple[str, ...] = ()
    cluster_queues: tuple[str, ...] = ()
    executor: str = ""

    @property
    def shows_everything(self) -> bool:
        """Whether objects of every namespace may be read."""
        if SCOPES[self.role] != "Namespaces":
            return True
        return self.role == "viewer" and not self.namespaces

    def covers(self, right: Right, namespace: str, cluster_queue: str) -> bool:
        """Whether the right holds there; an empty place means any place of the grant."""
        if right.verb == "read" and (self.shows_everything or right.resource not in NAMESPACED):
            return True
        match SCOPES[self.role]:
            case "Namespaces":
                return _is_within(namespace, self.namespaces)
            case "ClusterQueues":
                return _is_within(cluster_queue, self.cluster_queues)
            case _:
                return True


def _is_within(place: str, bounds: tuple[str, ...]) -> bool:
    """Whether a place is one of the bounds; an empty place is where there is any."""
    return place in bounds if place else bool(bounds)


def right_named(text: str) -> Right:
    """Returns the right that a route names as `verb resource`."""
    said, _, resource = text.partition(" ")
    verb = next(verb for verb in VERBS if verb == said)
    assert resource in RESOURCES, text
    return Right(verb, resource)


def roles_with(right: Right) -> tuple[Role, ...]:
    """The roles that include a right within their scope, the narrowest first."""
    return tuple(
        role for role in ROLES if right.resource in ROLE_RIGHTS[role].get(right.verb, frozenset())
    )


def granting(
    grants: tuple[Grant, ...], right: Right, *, namespace: str = "", cluster_queue: str = ""
) -> Iterator[Grant]:
    """Yields the grants that allow something at a place; without a place, at any place."""
    for grant in grants:
        allowed = ROLE_RIGHTS[grant.role].get(right.verb, frozenset())
        if right.resource in allowed and grant.covers(right, namespace, cluster_queue):
            yield grant


def refusal(
    user: str, grants: tuple[Grant, ...], right: Right, namespace: str = "", cluster_queue: str = ""
) -> NotAllowed:
    """Returns why a user may not do something: no role has the right, or it ends elsewhere."""
    elsewhere = next(granting(grants, right), None)
    verb, resource = right
    if elsewhere is None or not (namespace or cluster_queue):
        roles = roles_with(right)
        return NotAllowed("RightMissing", user=user, verb=verb, resource=resource, roles=roles)
    if namespace and SCOPES[elsewhere.role] == "Namespaces":
        return NotAllowed(
            "NamespaceNotGranted", user=user, verb=verb, resource=resource, namespace=namespace
        )
    return NotAllowed(
        "ClusterQueueNotGranted", user=user, verb=verb, resource=resource, queue=cluster_queue
    )


READ_WORDS = ("get", "list", "watch", "read", "describe", "explain", "simulate")
WRITE_WORDS = ("create", "update", "replace", "apply", "edit", "delete", "revoke")
OPERATE_WORDS = (
    "hold", "release", "requeue", "activate", "deactivate", "cancel", "protect", "undo",
    "stop", "resume", "drain", "cordon", "uncordon",
)  # fmt: skip
REPORT_WORDS = ("acknowledge", "progress", "finish", "heartbeat")
WORKLOAD_WORDS = ("workload", "workloads", "wl")
WORDS = tuple(sorted({*VERBS, *READ_WORDS, *WRITE_WORDS, *OPERATE_WORDS, *REPORT_WORDS}))


def right_asked(verb: str, resource: str) -> Right:
    """Returns the right that a verb and a resource mean; raises `InvalidRequest` for unknown ones.

    To create, change or delete a workload is to submit, any other object to configure.
    """
    found = _resource(resource.lower())
    return Right(_verb(verb.lower(), found), found)


def _verb(word: str, resource: str) -> Verb:
    if word in READ_WORDS:
        return "read"
    if word in WRITE_WORDS:
        return "submit" if resource == "workloads" else "configure"
    if word in OPERATE_WORDS:
        return "operate"
    if word in REPORT_WORDS:
        return "report"
    found = next((verb for verb in VERBS if verb == word), None)
    if found is None:
        raise InvalidRequest.at("/verb", "NotOneOf", value=shown(word), choices=WORDS)
    return found


def _resource(word: str) -> str:
    if word in WORKLOAD_WORDS:
        return "workloads"
    for kind in KINDS:
        if word in (kind.name.lower(), kind.path, *kind.short_names):
            return kind.path
    for known in (word, f"{word}s"):
        if known in RESOURCES:
            return known
    choices = tuple(sorted(RESOURCES))
    raise InvalidRequest.at("/resource", "NotOneOf", value=shown(word), choices=choices)
