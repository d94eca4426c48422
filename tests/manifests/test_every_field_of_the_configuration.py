"""Whatever a rule may read of the Configuration, an admin can write."""

import json
from collections.abc import Iterator
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from msgspec.structs import replace

from headgate.adapters.manifests.parse import Desired, parse
from headgate.adapters.manifests.render import render
from headgate.domain.kinds.configuration import ConfigurationSpec
from headgate.domain.kinds.wait_for_pods_ready import WaitForPodsReady
from tests.builders.policies import a_configuration

FULL = ConfigurationSpec(wait_for_pods_ready=WaitForPodsReady())


def _variants(struct: type[msgspec.Struct], usual: msgspec.Struct) -> Iterator[tuple[str, Any]]:
    for name, kind in get_type_hints(struct).items():
        for value in _other_values(kind, getattr(usual, name)):
            yield name, replace(usual, **{name: value})


def _other_values(kind: Any, usual: Any) -> Iterator[Any]:
    if get_origin(kind) in (Union, UnionType):
        if usual is not None:
            yield None
        kind = next(choice for choice in get_args(kind) if choice is not type(None))
    if get_origin(kind) is Literal:
        yield from (choice for choice in get_args(kind) if choice != usual)
    elif kind is bool:
        yield not usual
    elif kind is int:
        yield (usual or 0) + 7
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield from (made for _, made in _variants(kind, usual or kind()))


VARIANTS = [
    pytest.param(spec, id=f"{field}-{number}")
    for number, (field, spec) in enumerate(_variants(ConfigurationSpec, FULL))
]


@pytest.mark.parametrize("spec", VARIANTS)
def test_a_field_that_differs_from_its_default_is_shown_and_read_again(
    spec: ConfigurationSpec,
) -> None:
    shown = render("Configuration", replace(a_configuration(), spec=spec), 7)
    (found,) = parse(json.dumps(shown).encode(), content_type="application/json")
    assert isinstance(found, Desired), found
    assert found.spec == spec
