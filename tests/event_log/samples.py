"""One full sample of every stored event: each field is set, each optional part is there."""

import types
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from headgate.domain.recorded_event import DomainEvent

SampledEvent = TypeVar("SampledEvent", bound=DomainEvent)


def sample_of(event_class: type[SampledEvent]) -> SampledEvent:
    """The same sample at every call; two fields of it never hold the same number."""
    sample: SampledEvent = _Numbers().sample(event_class, event_class.__name__)
    return sample


class _Numbers:
    """Counts, so that fields that are mixed up are found out."""

    def __init__(self) -> None:
        self._last = 0

    def sample(self, kind: Any, name: str) -> Any:
        """A value of the type `kind` for a field of that name."""
        metadata = get_origin(kind)
        if metadata in SAMPLES_BY_ORIGIN:
            return SAMPLES_BY_ORIGIN[metadata](self, get_args(kind), name)
        if kind in (int, str, bool, Any):
            return self._plain(kind, name)
        assert issubclass(kind, msgspec.Struct), f"no sample for {kind}"
        # msgspec fills the type variables of generic events in.
        fields = msgspec.structs.fields(kind)
        return kind(**{field.name: self.sample(field.type, field.name) for field in fields})

    def _plain(self, kind: Any, name: str) -> object:
        self._last += 1
        if kind is int:
            return 1_800_000_000_000_000 + self._last if name.endswith("_at") else self._last
        return True if kind is bool else f"{name} {self._last}"


def _union(numbers: _Numbers, choices: tuple[Any, ...], name: str) -> object:
    return numbers.sample(next(c for c in choices if c is not type(None)), name)


def _dictionary(numbers: _Numbers, parts: tuple[Any, ...], name: str) -> object:
    return {f"{name}-key": numbers.sample(parts[1], name)}


def _tuple(numbers: _Numbers, parts: tuple[Any, ...], name: str) -> object:
    return (numbers.sample(parts[0], name), numbers.sample(parts[0], name))


def _literal(numbers: _Numbers, choices: tuple[Any, ...], name: str) -> object:
    return choices[-1]


def _annotated(numbers: _Numbers, parts: tuple[Any, ...], name: str) -> object:
    return numbers.sample(parts[0], name)


SAMPLES_BY_ORIGIN: dict[Any, Callable[[_Numbers, tuple[Any, ...], str], object]] = {
    Annotated: _annotated,
    Union: _union,
    types.UnionType: _union,
    dict: _dictionary,
    tuple: _tuple,
    Literal: _literal,
}
