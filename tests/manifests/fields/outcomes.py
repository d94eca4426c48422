"""What becomes of a field: the manifest is read with it and without it, and the answers compared.

`honoured`: something else is stored, scheduled or run, or only an executor that declares the field
gets the pods. `warned`: the answer names the field. `refused`: the object, or the start of its
pods, is refused at the field. `silent`: nothing of these.
"""

import copy
import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import yaml

from headgate.adapters.manifests.parse import Desired, Refused, parse
from headgate.application.queries.lint_warnings import (
    IGNORED_JOB_FIELDS,
    found_in_template,
)
from headgate.domain.kinds.registry import KINDS_BY_NAME
from headgate.domain.rejection import Violation, lies_within, moved
from headgate.domain.values.capabilities import AGENT_CAPABILITIES, CONTROLLER
from headgate.domain.workloads.decide.spec_rules import workload_violations
from headgate.domain.workloads.specs import PodSet, WorkloadSpec
from headgate.executor.substrate import CannotStart, PodPlan, RunKey
from headgate.executor.substrates.agent.pod_template import (
    PodRules,
    checkpoint_signal,
    read_template,
)
from tests.jobs.manifests import RUNTIME
from tests.manifests.fields.schemas import Field
from tests.manifests.fields.tables import POD

Outcome = Literal["honoured", "warned", "refused", "silent"]
Manifest = dict[str, Any]

_KEY = RunKey(workload="ns/x", uid="u", attempt=1, pod_set="main", index=0, run=1)
_RULES = PodRules(allow_root=True, allowed_host_paths=("/",))


class Answer(NamedTuple):
    """What a manifest is answered: what it changes, what is named, and how its pods start.

    `needs` are the capabilities beyond an agent's: only executors that declare these get the pods,
    with the whole `templates`.
    """

    effect: Any = None
    warned: frozenset[str] = frozenset()
    ignored: tuple[str, ...] = ()
    refused: frozenset[str] = frozenset()
    runs: object = None
    needs: frozenset[str] = frozenset()
    templates: tuple[str, ...] = ()


def outcome(base: Manifest, field: Field) -> Outcome:
    """The outcome of a field in a manifest that is accepted without it."""
    found = {_outcome(base, field, value) for value in field.samples}
    order: tuple[Outcome, ...] = ("honoured", "warned", "refused")
    return next((each for each in order if each in found), "silent")


def _outcome(base: Manifest, field: Field, value: Any) -> Outcome:
    beside = copy.deepcopy(base)
    for pointer, sample in field.beside:
        put(beside, pointer, sample, keeps=True)
    for pointer, sample in field.companions:
        put(beside, pointer, sample)
    given = copy.deepcopy(beside)
    put(given, field.pointer, value)
    before, after = _answer_without(field.pointer, beside, base), answer(given)
    if after.refused:
        return "refused" if _names(after.refused, field.pointer) else "silent"
    if after.effect != before.effect or _is_handed_over(before, after, field.pointer):
        return "honoured"
    if not after.needs and not before.needs and after.runs != before.runs:
        is_refused = isinstance(after.runs, str) and not isinstance(before.runs, str)
        return "refused" if is_refused else "honoured"
    is_told = _is_told(before.warned, after.warned, field.pointer)
    return "warned" if is_told or after.ignored != before.ignored else "silent"


def _answer_without(pointer: str, beside: Manifest, base: Manifest) -> Answer:
    """The answer to a manifest without the field, with the mapping or list in which it stands."""
    parent, _, last = pointer.rpartition("/")
    empty = copy.deepcopy(beside)
    remove(empty, pointer)
    if parent:
        put(empty, parent, [] if last.isdecimal() else {}, keeps=True)
    answers = (answer(manifest) for manifest in (empty, beside, base))
    return next(found for found in answers if not found.refused)


def _is_handed_over(before: Answer, after: Answer, pointer: str) -> bool:
    """Whether the field goes to the kind's controller, or to an executor that declares it."""
    if after.templates == before.templates:
        return False
    steps = set(pointer.split("/"))
    return any(
        need.startswith(CONTROLLER) or steps.issuperset(need.split(".")) for need in after.needs
    )


def _names(pointers: frozenset[str], pointer: str) -> bool:
    """Whether one of the pointers leads to another one, or through it."""
    return any(lies_within(each, pointer) or lies_within(pointer, each) for each in pointers - {""})


def _is_told(before: frozenset[str], after: frozenset[str], pointer: str) -> bool:
    """Whether the field, or one that it is part of, is warned about, or something in it anew."""
    return any(
        lies_within(pointer, each) or (each not in before and lies_within(each, pointer))
        for each in after - {"", "/spec"}
    )


def answer(manifest: Manifest) -> Answer:
    """What the manifest is answered when it is applied."""
    several = {"apiVersion": "v1", "kind": "List", "items": [manifest, *_with(manifest)]}
    found, *_ = parse(json.dumps(several).encode(), content_type="application/json")
    if isinstance(found, Refused):
        return Answer(refused=frozenset(each.pointer for each in found.problem.violations))
    broken = _broken_rules(found)
    if broken:
        return Answer(refused=frozenset(moved(each.pointer, found.places) for each in broken))
    head = (found.namespace, found.name, found.generate_name, found.labels, found.annotations)
    warned = set(_pointers_told(found))
    if not isinstance(found.spec, WorkloadSpec):
        return Answer((head, found.spec), frozenset(warned))
    templates = _templates(found)
    for number, template in enumerate(templates):
        warned |= {
            moved(f"/spec/podSets/{number}/template{pointer}", found.places)
            for pointer, _ in found_in_template(template)
        }
    # A field of a Job's spec that has no equal is named by its name, without a pointer.
    warned |= {
        f"/spec/{each.arguments['field']}"
        for each in found.spec.ignored
        if each.code == "FieldWithoutEqual"
    }
    ignored = tuple(repr(each) for each in found.spec.ignored if each.code in IGNORED_JOB_FIELDS)
    all_needs = {need for pod_set in found.spec.pod_sets for need in pod_set.needs}
    needs = frozenset(all_needs - AGENT_CAPABILITIES)
    spec = msgspec.structs.replace(
        found.spec, ignored=(), pod_sets=tuple(map(_without_text, found.spec.pod_sets))
    )
    return Answer(
        effect=(head, spec),
        warned=frozenset(warned),
        ignored=ignored,
        runs=() if needs else _runs(templates),
        needs=needs,
        templates=tuple(json.dumps(template, sort_keys=True) for template in templates),
    )


def _with(manifest: Manifest) -> list[Manifest]:
    """What comes in the same request: the pod of a PodGroup, the runtime of a TrainJob."""
    if manifest["kind"] == "TrainJob":
        return [yaml.safe_load(RUNTIME)]
    if manifest["kind"] != "PodGroup":
        return []
    name = manifest["metadata"].get("name", "")
    metadata = manifest["metadata"] | {"annotations": {"pod-group-name": name}}
    return [{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": yaml.safe_load(POD)}]


def _pointers_told(found: Desired) -> Iterator[str]:
    for warning in found.warnings:
        yield warning.pointer
        if warning.message.code == "FieldsOfController":
            fields = warning.message.arguments["fields"]
            assert isinstance(fields, tuple)
            yield from (f"{warning.pointer}/{field}" for field in fields)


def _broken_rules(found: Desired) -> tuple[Violation, ...]:
    if isinstance(found.spec, WorkloadSpec):
        return workload_violations(found.spec)
    return tuple(KINDS_BY_NAME[found.kind].rules(found.spec))


def _templates(found: Desired) -> list[Manifest]:
    """The whole pod templates, one for each pod set."""
    bodies = {sha256(body).hexdigest(): msgspec.json.decode(body) for body in found.templates}
    return [bodies.get(each.written, each.template) for each in found.spec.pod_sets]


def _without_text(pod_set: PodSet) -> PodSet:
    """The pod set without what changes with any text of its template."""
    return msgspec.structs.replace(pod_set, written="", unread="", needs=())


def _runs(templates: list[Manifest]) -> tuple[Any, ...] | str:
    """What an agent starts for each template, or why it starts nothing."""
    try:
        return tuple(_run(template) for template in templates)
    except CannotStart as problem:
        return str(problem)


def _run(template: Manifest) -> Any:
    plan = PodPlan(
        key=_KEY, log_id="l", owner="", node="n", template=template, environment={}, hosts=("n",)
    )
    return read_template(plan, _RULES, Path("/tmp"), {}), checkpoint_signal(template)


def put(manifest: Manifest, pointer: str, value: Any, *, keeps: bool = False) -> None:
    """Set the value at a pointer, with the mappings and entries that lead there.

    `keeps` leaves a value that stands there already.
    """
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    at: Any = manifest
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if isinstance(at, list):
            number = int(step)
            at.extend({} for _ in range(number + 1 - len(at)))
            at[number] = _next(at[number], following, value, keeps=keeps)
            at = at[number]
        else:
            at[step] = _next(at.get(step), following, value, keeps=keeps)
            at = at[step]


def remove(manifest: Manifest, pointer: str) -> None:
    """Remove what stands at a pointer, if anything does."""
    *above, last = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    at: Any = manifest
    for step in above:
        if isinstance(at, list):
            at = at[int(step)] if int(step) < len(at) else None
        else:
            at = at.get(step) if isinstance(at, dict) else None
    if isinstance(at, dict):
        at.pop(last, None)
    elif isinstance(at, list) and int(last) < len(at):
        at.pop(int(last))


def _next(present: Any, following: str | None, value: Any, *, keeps: bool) -> Any:
    if following is None:
        if keeps and present is not None:
            return present
        return copy.deepcopy(value)
    if following.isdecimal():
        return present if isinstance(present, list) else []
    return present if isinstance(present, dict) else {}
