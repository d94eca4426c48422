"""No event names an object of another namespace to a reader of one namespace, in any typed field.

Each field of each event that holds a key is filled with keys of a foreign namespace, as are the
references among the arguments of messages at any depth.
"""

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.application.access.redaction import message_json, redactor_of, visible_to
from headgate.application.event_hub import MESSAGE_TAG, render_event, shown_event
from headgate.domain.recorded_event import DomainEvent, EventMetadata, RecordedEvent
from headgate.domain.values.message import Argument, Message, ObjectReference
from headgate.domain.workloads.events import WorkloadSubmitted
from headgate.domain.workloads.specs import PodSet, Scheduling, WorkloadSpec
from headgate.event_log.codec import EVENT_CLASSES, encode
from headgate.messages.catalogue import AS_RECORDED, text_of
from tests.event_log.samples import sample_of
from tests.hypothesis_profiles import examples

FOREIGN = "team-b/codename-zeus"
OWN = "team-a/mine"
SCOPE = frozenset({"team-a"})
WITH_REFERENCES = [event for event in EVENT_CLASSES if redactor_of(event) is not None]

keys = st.sampled_from([FOREIGN, OWN])
references = st.builds(ObjectReference, kind=st.sampled_from(["workload", "localqueue"]), key=keys)
# An event that holds U+0000 is refused at writing (Unstorable), so none is read.
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
values: st.SearchStrategy[Any] = references | st.integers() | texts
codes = st.sampled_from(["PreemptedBy", "Previously", "ReplacedBySlice", "NotYetInvented"])


def _messages(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Message]:
    listed = st.lists(inner, max_size=4).map(tuple)
    names = st.sampled_from(["preemptor", "message", "slice", "priority"])
    given_arguments: st.SearchStrategy[dict[str, Argument]] = st.dictionaries(
        names, inner | listed, max_size=4
    )
    return st.builds(Message, codes, given_arguments)


messages = _messages(st.recursive(values, _messages, max_leaves=6))
recorded = st.builds(
    Message, st.just(AS_RECORDED), st.just({"text": f"Preempted to make room for {FOREIGN}"})
)


def _filled(kind: Any, value: Any, message: Message) -> Any:
    """The value with foreign keys in every field that is typed as one, and with the message."""
    if isinstance(value, Message):
        return message
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(type(value))
        changed = {f.name: _filled(f.type, getattr(value, f.name), message) for f in fields}
        return msgspec.structs.replace(value, **changed)
    if isinstance(value, tuple):
        (item, *_) = get_args(kind)
        return tuple(_filled(item, each, message) for each in value)
    is_key = any("reference" in (each.extra or {}) for each in getattr(kind, "__metadata__", ()))
    return FOREIGN if is_key else value


def _event(event_class: type[DomainEvent], message: Message) -> RecordedEvent:
    event = _filled(event_class, sample_of(event_class), message)
    return RecordedEvent(
        position=1,
        stream="workload/team-a/mine",
        version=1,
        event=event,
        at=0,
        metadata=EventMetadata(actor="scheduler"),
    )


def test_events_with_references_are_found() -> None:
    assert len(WITH_REFERENCES) > 8


@pytest.mark.parametrize("event_class", WITH_REFERENCES)
@given(message=messages | recorded)
@settings(max_examples=examples(400, quick=6))
def test_no_event_names_an_object_of_another_namespace(
    event_class: type[DomainEvent], message: Message
) -> None:
    found = _event(event_class, message)
    shown = msgspec.json.encode(shown_event(found, SCOPE)).decode()
    assert "zeus" not in shown
    assert "zeus" not in text_of(message, visible_to(SCOPE))


@pytest.mark.parametrize("event_class", EVENT_CLASSES)
def test_readers_of_all_namespaces_get_what_redaction_leaves_of_everything(
    event_class: type[DomainEvent],
) -> None:
    found = _event(event_class, Message("PreemptedBy", {"preemptor": FOREIGN}))
    rendered = msgspec.json.decode(render_event(found))
    assert rendered == msgspec.json.decode(msgspec.json.encode(shown_event(found, None)))


def test_a_submission_without_messages_is_rendered_as_it_is_stored() -> None:
    spec = WorkloadSpec(pod_sets=(PodSet(scheduling=Scheduling(requests={})),))
    event = WorkloadSubmitted(uid="u", namespace="team-a", name="mine", spec=spec)
    found = msgspec.structs.replace(_event(WorkloadSubmitted, Message("PreemptedBy")), event=event)
    stored = encode(event)[2]
    assert MESSAGE_TAG not in stored
    shown = shown_event(found, None)
    assert b"readable_since" in stored
    assert "readable_since" not in shown["data"]
    assert msgspec.json.decode(render_event(found)) == shown


@given(message=messages)
def test_a_reader_of_all_namespaces_gets_every_argument(message: Message) -> None:
    shown = msgspec.json.encode(message_json(message)).decode()
    assert shown.count(FOREIGN) >= msgspec.json.encode(message.arguments).decode().count(FOREIGN)
