"""The kinds of objects with their names and paths, and references to objects in arguments.

The registry of configured kinds is imported when one of them is asked for: commands on workloads
alone start without it.
"""

from functools import cache
from typing import Any

import msgspec

from headgate.cli.failures import CommandFailed, ExitCode
from headgate.messages.rendering import nearest


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind: `plural` is its path in the API, `words` are the names that users may type.

    `submitted_as` is the kind of manifest that only these workloads were submitted as.
    """

    name: str
    plural: str
    words: tuple[str, ...]
    namespaced: bool = False
    submitted_as: str = ""

    @property
    def label_selector(self) -> str:
        """Returns the selector of what was submitted as this kind; empty selects all."""
        return f"{KIND_LABEL}={self.submitted_as}" if self.submitted_as else ""

    def require(self, found: dict[str, Any]) -> None:
        """Raises `CommandFailed` for an object that was submitted as another kind."""
        if not self.includes(found):
            name, known = found["metadata"]["name"], _submitted_as(found)
            raise CommandFailed(
                f"no {self.submitted_as} {name}",
                remedy=f"{name} was submitted as {known}",
                code=ExitCode.NOT_FOUND,
            )

    def includes(self, found: dict[str, Any]) -> bool:
        """Returns whether an object was submitted as this kind."""
        return self.submitted_as in {"", _submitted_as(found)}

    def path(self, namespace: str, name: str = "") -> str:
        """Returns the API path of all objects, of those in a namespace, or of one object."""
        place = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"/v1{place}/{self.plural}" + (f"/{name}" if name else "")


def _submitted_as(found: dict[str, Any]) -> str:
    """Returns the kind of manifest that a workload was submitted as."""
    return str(found["metadata"].get("labels", {}).get(KIND_LABEL, WORKLOAD.name))


KIND_LABEL = "headgate.dev/kind"
"""The label of what was submitted as another kind than Workload (registry.KIND_LABEL)."""

WORKLOAD = Kind(
    name="Workload", plural="workloads", words=("workload", "workloads", "wl"), namespaced=True
)


@cache
def configured_kinds() -> dict[str, Kind]:
    """Returns the kinds that administrators configure, by name."""
    from headgate.domain.kinds import registry  # noqa: PLC0415 - see above

    return {
        kind.name: Kind(
            name=kind.name,
            plural=kind.path,
            words=(kind.stream_kind, kind.path, *kind.short_names),
            namespaced=kind.is_namespaced,
        )
        for kind in registry.KINDS
    }


def kinds() -> tuple[Kind, ...]:
    """Returns workloads and the configured kinds."""
    return (WORKLOAD, *configured_kinds().values())


@cache
def job_kinds() -> tuple[Kind, ...]:
    """Returns the kinds of manifests that become workloads."""
    from headgate.domain.kinds import registry  # noqa: PLC0415 - see above

    return tuple(
        Kind(
            name=WORKLOAD.name,
            plural=WORKLOAD.plural,
            words=(name.lower(), f"{name.lower()}s"),
            namespaced=True,
            submitted_as=name,
        )
        for name in registry.JOB_KINDS
    )


@cache
def _by_word() -> dict[str, Kind]:
    return {word: kind for kind in (*kinds(), *job_kinds()) for word in kind.words}


def kind_of(word: str) -> Kind:
    """Returns the kind of a name; raises `CommandFailed` for an unknown one."""
    if word.lower() in WORKLOAD.words:
        return WORKLOAD
    found = _by_word().get(word.lower())
    if found is None:
        near = nearest(word.lower(), _by_word().keys())
        suggestion = f"Did you mean {near}? " if near else ""
        names = (f"{kind.words[-1]} ({kind.name})" for kind in kinds())
        known = ", ".join((*names, *(kind.words[-1] for kind in job_kinds())))
        raise CommandFailed(
            f"unknown kind {word!r}", remedy=f"{suggestion}Kinds: {known}", code=ExitCode.USAGE
        )
    return found


def is_kind(word: str) -> bool:
    """Returns whether a word names a kind."""
    return word.lower() in WORKLOAD.words or word.lower() in _by_word()


def references(words: list[str]) -> list[tuple[Kind, str]]:
    """Returns the objects of arguments such as `kind name...` or `kind/name ...`."""
    if all("/" in word and is_kind(word.partition("/")[0]) for word in words):
        return [(kind_of(word.partition("/")[0]), word.partition("/")[2]) for word in words]
    kind, *names = words
    if not names:
        raise CommandFailed(
            f"specify the name of the {kind_of(kind).name}",
            remedy=f"{kind} NAME, or {kind}/NAME",
            code=ExitCode.USAGE,
        )
    return [(kind_of(kind), name) for name in names]


def placed(name: str, namespace: str) -> tuple[str, str]:
    """Returns namespace and name of `name` or `namespace/name`."""
    first, slash, rest = name.partition("/")
    return (first, rest) if slash else (namespace, name)


def workload_key(word: str, namespace: str) -> tuple[str, str]:
    """Returns namespace and name of `name`, `namespace/name`, `wl/name` or `wl/namespace/name`."""
    kind, slash, rest = word.partition("/")
    return placed(rest if slash and kind.lower() in WORKLOAD.words else word, namespace)
