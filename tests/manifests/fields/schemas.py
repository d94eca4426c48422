"""Fields of Kubernetes' kinds, from the schemas of the package `kubernetes-validate`."""

import json
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from posixpath import join, normpath
from typing import Any, NamedTuple

from tests.manifests.fields.samples import COMPANIONS, SAMPLES

Schema = dict[str, Any]

_VERSION = "v1.37.0-local-strict"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"

METADATA = ("annotations", "generateName", "labels", "name", "namespace")
"""What clients set of `metadata`; the server owns the rest."""


class Field(NamedTuple):
    """A field by its JSON pointer, values to try, and what must stand beside it.

    Lists have one entry. `beside` are the fields that the schema requires of the mappings that the
    pointer leads through, `companions` those without which this one says nothing.
    """

    pointer: str
    samples: tuple[Any, ...]
    beside: tuple[tuple[str, Any], ...] = ()
    companions: tuple[tuple[str, Any], ...] = ()


@cache
def definitions() -> dict[str, Schema]:
    """All schemas of the newest release in the package, by their names."""
    package = find_spec("kubernetes_validate")
    assert package is not None
    folder = next(iter(package.submodule_search_locations or ()))
    path = Path(folder, "kubernetes-json-schema", _VERSION, "_definitions.json")
    found: dict[str, Schema] = json.loads(path.read_bytes())["$defs"]
    return found


def kubernetes_fields(definition: str, at: str = "", *parts: str) -> Iterator[Field]:
    """The leaves below a definition; of its own fields only `parts`, where they are given."""
    schema = definitions()[definition]
    for name in parts or schema["properties"]:
        yield from _fields(schema["properties"][name], f"{at}/{name}", ())


def _fields(schema: Schema, at: str, beside: tuple[tuple[str, Any], ...]) -> Iterator[Field]:
    name, schema = _resolved(schema)
    properties: Schema = schema.get("properties") or {}
    if name == _META:
        properties = {part: properties[part] for part in METADATA}
    if properties:
        required = schema.get("required", ())
        for part, inner in properties.items():
            others = tuple(
                (f"{at}/{other}", _sample(f"{at}/{other}", properties[other]))
                for other in required
                if other != part
            )
            yield from _fields(inner, f"{at}/{part}", (*beside, *others))
    elif _type(schema) == "array":
        yield from _fields(schema["items"], f"{at}/0", beside)
    elif "additionalProperties" in schema and schema["additionalProperties"] is not False:
        inner = _sample(at, schema["additionalProperties"])
        samples = ({"example.com-x": inner}, {"cpu": inner})
        yield Field(at, samples, beside, companions_of(at))
    else:
        yield Field(at, samples_at(at) or _samples(name, schema), beside, companions_of(at))


def samples_at(pointer: str) -> tuple[Any, ...]:
    """The values that are accepted at a pointer, where those of its type are not."""
    return next((words for end, words in SAMPLES if pointer.endswith(end)), ())


def companions_of(pointer: str) -> tuple[tuple[str, Any], ...]:
    """The fields without which that of a pointer says nothing."""
    found = next((others for end, others in COMPANIONS if pointer.endswith(end)), ())
    return tuple((normpath(join(pointer, path)), value) for path, value in found)


def _resolved(schema: Schema) -> tuple[str, Schema]:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return name, definitions()[name] if name else schema


def _type(schema: Schema) -> str:
    found = schema.get("type", "object")
    return str(found[0] if isinstance(found, list) else found)


def _samples(name: str, schema: Schema) -> tuple[Any, ...]:
    if name == _QUANTITY:
        return ("3",)
    if name == _INT_OR_STRING:
        return (3, "50%")
    if "enum" in schema:
        return tuple(value for value in schema["enum"] if value is not None)
    match _type(schema):
        case "boolean":
            return (True, False)
        case "integer" | "number":
            return (3, 0)
        case "string":
            return ("x",)
        case _:
            return ({},)


def _sample(at: str, schema: Schema) -> Any:
    """A value of a schema, with the fields that it requires."""
    name, schema = _resolved(schema)
    if _type(schema) == "array":
        return [_sample(f"{at}/0", schema["items"])]
    required = schema.get("required")
    if required:
        return {part: _sample(f"{at}/{part}", schema["properties"][part]) for part in required}
    return (samples_at(at) or _samples(name, schema))[0]
