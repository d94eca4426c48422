"""A template is filled in by the types of its arguments, and by what the reader may see."""

import pytest

from headgate.domain.kinds.registry import KINDS
from headgate.domain.values.message import Amount, Argument, Message, message, workload_references
from headgate.messages.catalogue import AS_RECORDED, WITHHELD, remedy_of, summary_of, text_of
from headgate.messages.rendering import NAMESPACED, fill

GI = 2**30


def filled(template: str, **arguments: Argument) -> str:
    return fill(template, arguments, text_of)


@pytest.mark.parametrize(
    ("template", "arguments", "text"),
    [
        ("{pods:pod} on {hosts:host}", {"pods": 1, "hosts": 3}, "1 pod on 3 hosts"),
        ("{n:priority class}", {"n": 2}, "2 priority classes"),
        ("{n:retry}", {"n": 2}, "2 retries"),
        ("retry in {wait:duration}", {"wait": 7_800}, "retry in 2 h 10 min"),
        ("{wait:duration}", {"wait": 0}, "0 s"),
        ("at {at:time}", {"at": 1_000_000}, "at 1970-01-01 00:00:01 UTC"),
        ("in one {level:label}", {"level": "cloud.example/rack"}, "in one rack"),
        ("{names}", {"names": ("a", "b", "c", "d", "e")}, "a, b, c and 2 more"),
        ("{names:all}", {"names": ("a", "b", "c", "d")}, "a, b, c, d"),
        ("Needs {need}", {"need": Amount("cpu", 1_500)}, "Needs 1.5 CPU"),
        ("Needs {need}", {"need": Amount("nvidia.com/gpu", 8)}, "Needs 8 GPU"),
        ("{need}, {have} free", {
            "need": Amount("memory", 5_120 * GI), "have": Amount("memory", 2_368 * GI)
        }, "5120 GiB, 2368 GiB free"),
        ("on hold[ by {owner}]", {"owner": ""}, "on hold"),
        ("on hold[ by {owner}]", {"owner": "ada"}, "on hold by ada"),
        ("{count} of 8[ ({refused} refused)]", {"count": 0, "refused": 0}, "0 of 8 (0 refused)"),
        ("because {why:lower}", {"why": message(AS_RECORDED, text="It waits")}, "because it waits"),
    ],
)  # fmt: skip
def test_arguments_are_written_by_their_types(
    template: str, arguments: dict[str, Argument], text: str
) -> None:
    assert filled(template, **arguments) == text


def test_references_to_other_namespaces_are_counted_and_not_named() -> None:
    victims = workload_references(("team-a/x", "team-b/y", "team-b/z"))

    text = fill(
        "Waiting for {victims}",
        {"victims": victims},
        text_of,
        lambda each: each.key.startswith("team-a/"),
    )

    assert text == "Waiting for team-a/x, 2 workloads of other teams"


def test_a_sentence_from_before_codes_is_shown_to_readers_of_all_namespaces_only() -> None:
    recorded = Message(AS_RECORDED, {"text": "It starts once team-b/y has stopped"})

    assert text_of(recorded) == "It starts once team-b/y has stopped"
    assert text_of(recorded, lambda each: True) == WITHHELD


def test_a_code_of_another_version_is_shown_as_the_code() -> None:
    assert text_of(message("NotYetInvented", pods=3)) == "NotYetInvented"


FAILED = message(
    "PodHasFailed", pod_set="main", index=3, node="gpu-2", reason="OOMKilled", exit_code=137
)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (message("PhaseFailed", why=FAILED), "Exit 137: OOMKilled in main-3"),
        (message("PhaseFailed", why=message("RetryLimitReached", failure=FAILED, limit=3)),
         "Exit 137: OOMKilled in main-3"),
        (message("PhaseFailed"), "Failed"),
        (message("PhaseFailed", why="exit code 1"), "exit code 1"),
        (message("PhaseCancelled", why="wrong image"), "wrong image"),
        (message("OnHold", owner="admin:ana", why="a driver upgrade of all racks"),
         "On hold by ana: a driver upgrade of all…"),
        (message("OnHold", owner="admin:ana", until=1_000_000, why="fans"),
         "On hold by ana: fans"),
        (message("SomethingNew"), "SomethingNew"),
    ],
)  # fmt: skip
def test_a_line_of_a_list_has_at_most_forty_characters(found: Message, text: str) -> None:
    assert summary_of(found) == text
    assert len(summary_of(found)) <= 40


def test_a_failure_is_told_with_pod_node_and_exit_code() -> None:
    told = text_of(message("PhaseFailed", why=FAILED))
    assert told == "Failed: Pod main-3 failed on gpu-2: OOMKilled, exit code 137"


def test_only_kinds_that_live_in_namespaces_are_looked_for_in_one() -> None:
    assert {"workload", *(kind.stream_kind for kind in KINDS if kind.is_namespaced)} == NAMESPACED
    for kind in ("ClusterQueue", "Topology", "Executor", "Token"):
        assert remedy_of(message("ObjectNotFound", kind=kind)) == "Check the name."
    for kind in ("Workload", "LocalQueue"):
        told = remedy_of(message("ObjectNotFound", kind=kind))
        assert told == "Check the name and the namespace."
