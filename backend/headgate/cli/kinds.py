"""The kinds of objects, what people call them, and what a list shows of each."""

import msgspec

from headgate.cli.failures import CommandFailed, ExitCode
from headgate.domain.kinds import registry
from headgate.messages.suggestions import nearest


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
_CONFIGURED = {
    kind.name: Kind(
        name=kind.name,
        plural=kind.path,
        words=(kind.stream_kind, kind.path, *kind.short_names),
        namespaced=kind.is_namespaced,
    )
    for kind in registry.KINDS
}
CLUSTER_QUEUE = _CONFIGURED["ClusterQueue"]
LOCAL_QUEUE = _CONFIGURED["LocalQueue"]
NODE = _CONFIGURED["Node"]

KINDS = (WORKLOAD, *_CONFIGURED.values())

_BY_WORD = {word: kind for kind in KINDS for word in kind.words}


def kind_of(word: str) -> Kind:
    """The kind a person means."""
    found = _BY_WORD.get(word.lower())
    if found is None:
        near = nearest(word.lower(), _BY_WORD.keys())
        meant = f"Did you mean {near}? " if near else ""
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
