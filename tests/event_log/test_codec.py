"""Strict both ways: what cannot be read again is not written, what is not known is not read."""

from collections.abc import Collection, Iterator

import msgspec
import pytest

from headgate.domain.recorded_event import EventIgnored
from headgate.domain.values.message import Message, message
from headgate.domain.values.selectors import PodConstraints
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadDeactivated,
    WorkloadDeletionRequested,
    WorkloadPodsNotReady,
    WorkloadSubmitted,
)
from headgate.domain.workloads.specs import (
    PodSet,
    RetryPolicy,
    Scheduling,
    SuccessRule,
    WorkloadSpec,
)
from headgate.event_log import codec
from headgate.event_log.codec import (
    SCHEMA_VERSIONS,
    UnknownEvent,
    Unstorable,
    decode,
    encode,
    upcast,
)
from headgate.event_log.upcasters import UPCASTERS
from headgate.messages.catalogue import text_of
from tests.event_log.golden_files import path_of

MAY_BE_IGNORED = {
    "workload.explained": {"evaluation_reason", "free", "readable_since"},
    "workload": {"needs", "readable_since"},
    "workload.deactivated": set[str](),
    "workload.scaled_down": set[str](),
    # Folds of releases before it keep what it tells.
    "workload.deleted": {"phase", "queue_name", "created_at", "finished_at", "readable_since"},
    "workload.imported": set[str](),
    # Without workload_timeouts, which is declared, the maximum has no effect.
    "cluster_queue": {"max_timeout_on_workload_seconds"},
    # A release before `losses` admits beside orphaned pods, with or without the fields.
    "executor": {"losses", "orphans", "readable_since"},
    # Errors of devices are shown, and decide nothing.
    "node": {"uncorrected_errors", "readable_since"},
    # The state of a victim follows from its own events, which need this release.
    "round.committed": {"indices", "readable_since"},
}
"""Fields without which a release before them decides the same, by the event or its kind."""


def test_the_name_stands_beside_the_fields_not_among_them() -> None:
    assert encode(WorkloadAdmitted(waited_seconds=3)) == (
        "workload.admitted",
        1,
        b'{"waited_seconds":3}',
    )


def test_an_event_without_fields_is_an_empty_object() -> None:
    name = "workload.deletion_requested"
    assert encode(WorkloadDeletionRequested()) == (name, 1, b"{}")
    assert decode(name, 1, b"{}") == WorkloadDeletionRequested()


@pytest.mark.parametrize(
    ("name", "version"),
    [("workload.vanished", 1), ("workload.admitted", 2), ("workload.admitted", 0)],
)
def test_what_is_not_known_is_not_read(name: str, version: int) -> None:
    with pytest.raises(UnknownEvent):
        decode(name, version, b'{"waited_seconds":3}')


@pytest.mark.parametrize("fields", [b"{}", b'{"waited_seconds":"3"}', b"[]", b'{"waited_seconds":'])
def test_fields_that_are_missing_or_of_another_type_are_not_read(fields: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode("workload.admitted", 1, fields)


def test_a_text_with_nul_cannot_be_stored() -> None:
    with pytest.raises(Unstorable):
        encode(WorkloadPodsNotReady(message="a\0b"))


@pytest.mark.parametrize("message", ["a\\u0000b", "\\", "\\\\u0000", "😀\u2028", '"'])
def test_any_other_text_comes_back_as_it_was(message: str) -> None:
    event = WorkloadPodsNotReady(message=message)

    assert decode(*encode(event)) == event


def test_steps_follow_each_other_up_to_the_wanted_version() -> None:
    steps = {
        ("x.happened", 1): lambda fields: {"amount": fields["count"]},
        ("x.happened", 2): lambda fields: {**fields, "unit": "pods"},
    }

    assert upcast("x.happened", 1, 3, {"count": 4}, steps) == {"amount": 4, "unit": "pods"}
    assert upcast("x.happened", 2, 3, {"amount": 4}, steps) == {"amount": 4, "unit": "pods"}


def test_a_missing_step_is_not_passed_over() -> None:
    with pytest.raises(UnknownEvent):
        upcast("x.happened", 1, 2, {}, {})


def test_an_event_of_an_older_version_is_read_as_a_present_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(SCHEMA_VERSIONS, "workload.admitted", 2)
    monkeypatch.setitem(
        UPCASTERS, ("workload.admitted", 1), lambda fields: {"waited_seconds": fields["waited"]}
    )

    assert decode("workload.admitted", 1, b'{"waited":3}') == WorkloadAdmitted(waited_seconds=3)


def test_every_older_version_has_a_step() -> None:
    needed = {(name, v) for name, current in SCHEMA_VERSIONS.items() for v in range(1, current)}

    assert set(UPCASTERS) == needed


@pytest.mark.parametrize(
    "found",
    [
        message("LabelNotUnderstood", label="kueue.x-k8s.io/preemptibility", value="may be"),
        message("LabelsOfPodsDiffer", label="kai.scheduler/preemptibility"),
        message("PreemptionPoliciesOfPodsDiffer"),
        message("SettingIgnored", key="kueue.x-k8s.io/of-our-own"),
        message(
            "SettingMisspelled", key="kueue.x-k8s.io/podset-x", meant="kueue.x-k8s.io/podset-y"
        ),
    ],
)
def test_an_ignored_label_of_version_1_is_read_as_a_manifest_is_today(found: Message) -> None:
    fields = {"spec": {"ignored": [text_of(found), "Another sentence."]}}

    spec = upcast("workload.submitted", 1, 2, fields)["spec"]

    another = Message("AsRecorded", {"text": "Another sentence."})
    assert msgspec.convert(spec["ignored"], list[Message]) == [found, another]


def test_a_later_event_is_read_as_far_as_it_says_that_it_can_be() -> None:
    added = b'{"readable_since":1,"waited_seconds":3,"tint":"blue"}'
    assert decode("workload.admitted", 7, added) == WorkloadAdmitted(waited_seconds=3)
    ignorable = b'{"ignorable":true,"tint":"blue"}'
    ignored = EventIgnored(name="workload.tinted", schema_version=1, body=ignorable)
    assert decode("workload.tinted", 1, ignorable) == ignored
    assert encode(ignored) == ("workload.tinted", 1, ignorable)


@pytest.mark.parametrize(
    "fields", [b"{}", b'{"ignorable":false}', b'{"ignorable":1}', b'{"readable_since":2}', b"[]"]
)
def test_a_later_event_that_does_not_say_so_is_not_read(fields: bytes) -> None:
    with pytest.raises(UnknownEvent):
        decode("workload.admitted", 9, fields)


def test_what_earlier_releases_need_to_know_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "IGNORABLE", frozenset({"workload.deletion_requested"}))
    monkeypatch.setattr(codec, "READABLE_SINCE", {"workload.admitted": 1})

    assert encode(WorkloadDeletionRequested())[2] == b'{"ignorable":true}'
    admitted = encode(WorkloadAdmitted(waited_seconds=3))[2]
    assert admitted == b'{"readable_since":1,"waited_seconds":3}'
    assert decode("workload.admitted", 1, admitted) == WorkloadAdmitted(waited_seconds=3)


@pytest.mark.parametrize(
    ("spec", "is_declared"),
    [
        (WorkloadSpec(pod_sets=(PodSet(scheduling=Scheduling(requests={})),)), True),
        (
            WorkloadSpec(
                pod_sets=(PodSet(scheduling=Scheduling(requests={})),), retry_policy=RetryPolicy()
            ),
            False,
        ),
        (
            WorkloadSpec(
                pod_sets=(PodSet(scheduling=Scheduling(requests={})),), ttl_seconds_after_finished=0
            ),
            False,
        ),
        (
            WorkloadSpec(
                pod_sets=(PodSet(scheduling=Scheduling(requests={})),),
                success_rules=(SuccessRule(),),
            ),
            False,
        ),
        (
            WorkloadSpec(pod_sets=(PodSet(completions=3, scheduling=Scheduling(requests={})),)),
            False,
        ),
        (
            WorkloadSpec(
                pod_sets=(
                    PodSet(scheduling=Scheduling(requests={}, pod_constraints=PodConstraints())),
                )
            ),
            False,
        ),
    ],
)
def test_a_workload_without_retries_is_read_by_the_first_tolerant_release(
    spec: WorkloadSpec, is_declared: bool
) -> None:
    event = WorkloadSubmitted(uid="u", namespace="team", name="job", spec=spec)
    name, version, fields = encode(event)
    assert (b'{"readable_since":5,' in fields) is is_declared
    assert decode(name, version, fields) == event


def test_a_deactivation_for_an_invalid_topology_request_alone_needs_this_release() -> None:
    declared = b'"readable_since":2'
    assert declared in encode(WorkloadDeactivated(cause="AdmissionCheck"))[2]
    assert declared not in encode(WorkloadDeactivated(cause="TopologyRequestInvalid"))[2]


@pytest.mark.parametrize("name", sorted(codec.READABLE_SINCE))
def test_each_added_field_is_declared_or_one_that_earlier_releases_may_ignore(name: str) -> None:
    earlier, current = (
        msgspec.json.decode(path_of(name, version).read_bytes())
        for version in (codec.READABLE_SINCE[name], SCHEMA_VERSIONS[name])
    )
    known = {field for field, _ in fields_in(earlier)}
    added = [
        (field, msgspec.json.encode({field: value}))
        for field, value in fields_in(current, known)
        if field not in known
    ]

    undeclared = {field for field, stored in added if not codec.has_later_fields(name, stored)}

    of_kind = MAY_BE_IGNORED.get(name.partition(".")[0])
    assert undeclared == MAY_BE_IGNORED.get(name, of_kind)


def fields_in(stored: object, known: Collection[str] | None = None) -> Iterator[tuple[str, object]]:
    """All fields, however deep; with `known`, none of those below a field that is not known."""
    for part in stored if isinstance(stored, list) else ():
        yield from fields_in(part, known)
    for name, part in stored.items() if isinstance(stored, dict) else ():
        yield name, part
        if known is None or name in known:
            yield from fields_in(part, known)
