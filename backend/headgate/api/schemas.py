"""The JSON shapes that several resources share, and the description of bodies in OpenAPI."""

from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
from litestar.openapi.spec import OpenAPIMediaType, Operation, Reference
from litestar.openapi.spec import RequestBody as DescribedBody

from headgate.application.queries.views import Free, Position, Schema, Timestamp, Whole

__all__ = ["Free", "Position", "Schema", "Timestamp", "Whole"]


ShortText = Annotated[str, msgspec.Meta(max_length=1024)]
"""A text of a request: a name, an id, a label, a value."""
AnnotationText = Annotated[str, msgspec.Meta(max_length=262_144)]


class RequestBody(
    msgspec.Struct, rename="camel", kw_only=True, frozen=True, forbid_unknown_fields=True
):
    """What every small request body is built from: unknown fields are refused."""


class ProblemError(Schema, kw_only=True, frozen=True):
    """One broken rule, where it is broken, and what to do."""

    pointer: Annotated[str, msgspec.Meta(examples=["/spec/podSets/0/count"])]
    code: Annotated[str, msgspec.Meta(examples=["NotInRange"])] = ""
    arguments: dict[str, Any] = {}
    rule: str
    remedy: str = ""


class Problem(Schema, kw_only=True, frozen=True):
    """What went wrong, as RFC 9457 has it, with what to do about it."""

    type: Annotated[str, msgspec.Meta(examples=["/problems/invalid-object"])]
    title: str
    status: int
    code: Annotated[str, msgspec.Meta(examples=["ObjectInvalid"])] = ""
    detail: str = ""
    remedy: str = ""
    errors: list[ProblemError] = []
    instance: str = ""
    request_id: str = ""


JSON = "application/json"
YAML = "application/yaml"


def request_body(shape: type, *, example: Any = None) -> type[Operation]:  # noqa: ANN401 - any JSON
    """Returns an operation with an object of schema `shape` as its body, in JSON or YAML."""
    schema = Reference(ref=f"#/components/schemas/{shape.__name__}")
    media = {
        JSON: OpenAPIMediaType(schema=schema, example=example),
        YAML: OpenAPIMediaType(schema=schema),
    }
    return _operation(DescribedBody(content=media, required=True))


def request_documents(example: Any) -> type[Operation]:  # noqa: ANN401 - any JSON
    """Returns an operation with any number of objects of any kind as its body."""
    schema = Reference(ref="#/components/schemas/AnyObject")
    media = {
        YAML: OpenAPIMediaType(schema=schema),
        JSON: OpenAPIMediaType(schema=schema, example=example),
    }
    return _operation(DescribedBody(content=media, required=True))


def _operation(body: DescribedBody) -> type[Operation]:
    @dataclass
    class OperationWithBody(Operation):
        request_body: DescribedBody | Reference | None = field(default_factory=lambda: body)

        def __post_init__(self) -> None:
            self.request_body = body

    return OperationWithBody


EXAMPLE_WORKLOAD = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"name": "train-7", "namespace": "team-a", "labels": {"project": "vision"}},
    "spec": {
        "queueName": "training",
        "priorityClassRef": {
            "group": "kueue.x-k8s.io",
            "kind": "WorkloadPriorityClass",
            "name": "high",
        },
        "podSets": [
            {
                "name": "main",
                "count": 4,
                "topologyRequest": {"required": "cloud.provider.com/topology-rack"},
                "template": {
                    "spec": {
                        "containers": [
                            {
                                "name": "trainer",
                                "resources": {"requests": {"cpu": "8", "nvidia.com/gpu": "8"}},
                            }
                        ]
                    }
                },
            }
        ],
    },
}
