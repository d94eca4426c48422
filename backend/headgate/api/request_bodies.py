"""Bodies that handlers parse themselves, as the OpenAPI document describes them."""

from dataclasses import dataclass, field
from typing import Any

from litestar.openapi.spec import OpenAPIMediaType, Operation, Reference, RequestBody

JSON = "application/json"
YAML = "application/yaml"


def request_body(shape: type, *, example: Any = None) -> type[Operation]:  # noqa: ANN401 - any JSON
    """Returns an operation with an object of schema `shape` as its body, in JSON or YAML."""
    schema = Reference(ref=f"#/components/schemas/{shape.__name__}")
    media = {
        JSON: OpenAPIMediaType(schema=schema, example=example),
        YAML: OpenAPIMediaType(schema=schema),
    }
    return _operation(RequestBody(content=media, required=True))


def request_documents(example: Any) -> type[Operation]:  # noqa: ANN401 - any JSON
    """Returns an operation with any number of objects of any kind as its body."""
    schema = Reference(ref="#/components/schemas/AnyObject")
    media = {
        YAML: OpenAPIMediaType(schema=schema),
        JSON: OpenAPIMediaType(schema=schema, example=example),
    }
    return _operation(RequestBody(content=media, required=True))


def _operation(body: RequestBody) -> type[Operation]:
    @dataclass
    class OperationWithBody(Operation):
        request_body: RequestBody | Reference | None = field(default_factory=lambda: body)

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
