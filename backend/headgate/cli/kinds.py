"""The kinds of objects with names and paths, references in arguments, and objects in manifests.

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


def objects_in(documents: bytes) -> list[dict[str, Any]]:
    """Returns the objects of manifests as they are written, those of lists one by one.

    Raises `CommandFailed` for what is no YAML, and for an object without kind or name.
    """
    import yaml  # noqa: PLC0415 - only this and output need it

    found: list[Any] = []
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        written = [one for one in yaml.load_all(documents, Loader=loader) if one is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        told = f"invalid YAML{place}: {error.problem or error}"
        raise CommandFailed(told, code=ExitCode.REFUSED) from error
    except yaml.YAMLError as error:
        raise CommandFailed(f"invalid YAML: {error}", code=ExitCode.REFUSED) from error
    for one in written:
        items = one.get("items") if isinstance(one, dict) else None
        found += items if isinstance(items, list) else [one]
    for one in found:
        metadata = one.get("metadata") if isinstance(one, dict) else None
        if not isinstance(metadata, dict) or not metadata.get("name") or not one.get("kind"):
            raise CommandFailed("an object has no kind or no metadata.name", code=ExitCode.REFUSED)
    return found


OF_THE_SERVER = frozenset(
    {"uid", "resourceVersion", "creationTimestamp", "generation", "deletionTimestamp"}
)
"""Fields of metadata that the server sets."""
REPORTED_IN_STATUS = frozenset({"Node"})
"""Kinds of which users write the status: the capacity of hosts."""


def manifest_in(found: dict[str, Any]) -> dict[str, Any]:
    """Returns an object as it may be applied again: without what the server says of it."""
    metadata = {
        name: value for name, value in found["metadata"].items() if name not in OF_THE_SERVER
    }
    left = {**found, "metadata": metadata}
    if found["kind"] not in REPORTED_IN_STATUS:
        left.pop("status", None)
    first: dict[str, Any] = {
        name: left[name] for name in ("apiVersion", "kind", "metadata") if name in left
    }
    return {**first, **left}
