"""The OpenAPI document: what Litestar derives, with problems, security and common headers.

`python .ci/frontend.py client` writes it to `frontend/openapi.json`.
"""

import json
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec
from litestar import Litestar
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme, Tag
from litestar.routes import HTTPRoute

from headgate.api.parameters import AT, MIN_POSITION
from headgate.api.problems import BY_STATUS, MEDIA_TYPE
from headgate.api.workloads.schemas import WorkloadBatch


def _installed() -> str:
    try:
        return version("headgate")
    except PackageNotFoundError:
        return "0"


VERSION = _installed()


TAGS = {
    "Workload": "Submit work, see where it stands and why",
    "Queues": "The queue tree, waiting lines, stops and drains",
    "Apply": "Many objects in one request",
    "Events": "The log, page by page and as it grows",
    "Preemptions": "Preemption rounds, their victims and rules",
    "Simulations": "What would happen if something were submitted or changed",
    "Cycles": "What workers planned, and running it again",
    "History": "Revisions of the configuration, and reverts",
    "Overview": "What needs attention",
    "Executors": "What to run, and what became of it",
    "Access": "Tokens and what they allow",
    "System": "How the installation is doing",
}
COMMON_PROBLEMS = (400, 401, 403, 404, 408, 409, 410, 413, 422, 429, 500, 503, 504)
METHOD_PROBLEMS = {
    "post": (415,),
    "put": (412, 415, 428),
    "delete": (412,),
}
OF_MANY = ("apply", "reportMany", "submitWorkloads")
"""Operations on many objects, each with an outcome of its own."""
ALSO_EVENTS = ("readPodLogs",)
"""Operations that answer with server-sent events too, if asked to."""
SERVER_SENT_EVENT = {
    "type": "object",
    "description": "One event of the stream",
    "required": ["event", "data"],
    "properties": {
        "event": {"type": "string"},
        "data": {"type": "string"},
        "id": {"type": "string"},
        "retry": {"type": "integer"},
    },
}
SIMULATION_REF = {"$ref": "#/components/schemas/SimulationView"}
SIMULATED = "What it would lead to, with `dryRun=Admission`"
ANY_OBJECT = {
    "type": "object",
    "description": "An object of any kind, as its kind's own address takes it",
    "required": ["apiVersion", "kind", "metadata"],
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"$ref": "#/components/schemas/ObjectMeta"},
    },
}
POSITION_HEADER = {
    "description": "The log position the answer holds at",
    "schema": {"type": "integer"},
}
MIN_POSITION_PARAMETER = {
    "name": "minPosition",
    "in": "query",
    "description": MIN_POSITION,
    "schema": {"type": "integer", "minimum": 0},
}
AT_PARAMETER = {"name": "at", "in": "query", "description": AT, "schema": {"type": "string"}}
FIELD_MEANINGS = Path(__file__).with_name("field_meanings.toml")
"""What fields of kinds and parameters mean; a test refuses one that is missing or too many."""
PROBLEM_REF = {"$ref": "#/components/schemas/Problem"}


def config() -> OpenAPIConfig:
    """What Litestar needs to know to derive its part."""
    return OpenAPIConfig(
        title="Headgate",
        version=VERSION,
        description="Every workload is admitted, or has a reason why not.",
        use_handler_docstrings=True,
        tags=[Tag(name=name, description=text) for name, text in TAGS.items()],
        components=Components(
            security_schemes={"token": SecurityScheme(type="http", scheme="bearer")}
        ),
    )


def document(app: Litestar) -> dict[str, Any]:
    """The whole document as plain JSON."""
    found: dict[str, Any] = json.loads(json.dumps(app.openapi_schema.to_schema()))
    schemas = found["components"]["schemas"]
    schemas["AnyObject"] = ANY_OBJECT
    _, batch = msgspec.json.schema_components(
        [WorkloadBatch], ref_template="#/components/schemas/{name}"
    )
    schemas["WorkloadBatch"] = batch["WorkloadBatch"]
    found["components"]["responses"] = {f"Problem{s}": _problem(s) for s in sorted(BY_STATUS)}
    found["components"]["headers"] = {"LogPosition": POSITION_HEADER}
    found["components"]["parameters"] = {"MinPosition": MIN_POSITION_PARAMETER, "At": AT_PARAMETER}
    _describe(found)
    live = _live_operations(app)
    for path, item in found["paths"].items():
        for method, operation in item.items():
            _complete(path, method, operation)
            if method == "get" and operation["operationId"] not in live:
                operation.setdefault("parameters", []).append(_parameter("At"))
    return found


def field_meanings() -> dict[str, dict[str, str]]:
    """What each field means, by the names of schema and field; `parameters` has those of paths."""
    return tomllib.loads(FIELD_MEANINGS.read_text())


def _describe(found: dict[str, Any]) -> None:
    """Adds the meanings to fields and parameters that have no description of their own."""
    meanings = field_meanings()
    of_parameters = meanings.pop("parameters")
    schemas = found["components"]["schemas"]
    for name, fields in meanings.items():
        properties = schemas.get(name, {}).get("properties", {})
        for field, meaning in fields.items():
            if field in properties:
                properties[field].setdefault("description", meaning)
    for item in found["paths"].values():
        for operation in item.values():
            for parameter in operation.get("parameters", ()):
                if parameter.get("name") in of_parameters:
                    parameter.setdefault("description", of_parameters[parameter["name"]])


def _live_operations(app: Litestar) -> frozenset[str]:
    """What cannot be read as it was."""
    handlers = (
        handler
        for route in app.routes
        if isinstance(route, HTTPRoute)
        for handler in route.route_handlers
    )
    return frozenset(str(each.operation_id) for each in handlers if "live" in each.opt)


def _parameter(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/parameters/{name}"}


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    _drop_derived_problem(responses)
    if not path.startswith("/v1/") and path != "/metrics":
        return
    operation["security"] = [{"token": []}]
    for status in (*COMMON_PROBLEMS, *METHOD_PROBLEMS.get(method, ())):
        responses.setdefault(str(status), {"$ref": f"#/components/responses/Problem{status}"})
    if operation["operationId"] in OF_MANY:
        responses["207"] = {**responses["200"], "description": "Some were refused"}
        responses["422"] = _all_refused(responses["200"])
    if operation["operationId"] in ALSO_EVENTS:
        responses["200"]["content"]["text/event-stream"] = {"schema": SERVER_SENT_EVENT}
    if _is_simulated(operation):
        _add_simulation(responses)
    operation["responses"] = dict(sorted(responses.items()))
    for status, response in responses.items():
        if status.startswith("2"):
            response.setdefault("headers", {})["X-Log-Position"] = {
                "$ref": "#/components/headers/LogPosition"
            }
    if method == "get" and path.startswith("/v1/") and path != "/v1/stream":
        operation.setdefault("parameters", []).append(_parameter("MinPosition"))


def _is_simulated(operation: dict[str, Any]) -> bool:
    """Whether a dry run of the operation may be one with the admission that it would lead to."""
    parameters = operation.get("parameters", ())
    return any(
        each.get("name") == "dryRun" and "Admission" in json.dumps(each["schema"])
        for each in parameters
    )


def _add_simulation(responses: dict[str, Any]) -> None:
    """With `dryRun=Admission` an operation answers as `/v1/simulations` does."""
    done = responses.setdefault("200", {"description": SIMULATED, "content": {}})
    media = done["content"].setdefault("application/json", {})
    schemas = [each for each in (media.get("schema"), SIMULATION_REF) if each]
    media["schema"] = {"anyOf": schemas} if len(schemas) > 1 else SIMULATION_REF


def _all_refused(some: dict[str, Any]) -> dict[str, Any]:
    """The answer of a request of many where all are refused, or where it cannot be read."""
    problem = _problem(422)
    return {**problem, "content": {**problem["content"], **some["content"]}}


def _drop_derived_problem(responses: dict[str, Any]) -> None:
    """Litestar documents its own error shape for 400, which we never send."""
    derived = responses.get("400", {}).get("content", {}).get("application/json", {})
    if "status_code" in derived.get("schema", {}).get("properties", {}):
        del responses["400"]


def _problem(status: int) -> dict[str, Any]:
    kind = BY_STATUS[status]
    example = {"type": f"/problems/{kind.slug}", "title": kind.title, "status": status}
    media = {"schema": PROBLEM_REF, "example": {**example, "remedy": kind.remedy}}
    return {"description": kind.title, "content": {MEDIA_TYPE: media}}


@cache
def rendered_document(app: Litestar) -> bytes:
    """The document as it is served."""
    return json.dumps(document(app), indent=1).encode()
