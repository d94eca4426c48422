"""No field of a manifest is passed over: it is honoured, warned about or refused (issue 17, 4)."""

import pytest

from headgate.adapters.manifests.registry import MANIFEST_KINDS
from tests.manifests.fields.outcomes import outcome
from tests.manifests.fields.samples import WITHOUT_MEANING
from tests.manifests.fields.schemas import Field
from tests.manifests.fields.walk import base_of, fields_of, findings, kinds

EVERY = 97
"""`make test` takes one field of pod templates in so many, and all fields beside these."""


def test_every_kind_that_is_read_is_walked() -> None:
    assert sorted(kinds()) == sorted(MANIFEST_KINDS)


@pytest.mark.parametrize("kind", kinds())
def test_no_field_of_a_kind_is_passed_over_in_silence(kind: str) -> None:
    found = list(findings(kind, every=EVERY))
    assert [each.pointer for each in found if each.outcome == "silent"] == []
    assert sum(each.outcome == "honoured" for each in found) >= 3


@pytest.mark.nightly
@pytest.mark.parametrize("kind", kinds())
def test_no_field_at_all_of_a_kind_is_passed_over_in_silence(kind: str) -> None:
    assert [each.pointer for each in findings(kind) if each.outcome == "silent"] == []


POD = "/spec/template/spec"


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ("/spec/managedBy", "warned"),
        ("/spec/parallelism", "honoured"),
        ("/spec/podReplacementPolicy", "warned"),
        ("/spec/scheduling/schedulingPolicy/gang/minCount", "refused"),
        (f"{POD}/containers/0/command/0", "honoured"),
        (f"{POD}/containers/0/image", "honoured"),
        (f"{POD}/containers/0/imagePullPolicy", "silent"),
        (f"{POD}/containers/0/resources/requests", "honoured"),
        (f"{POD}/containers/0/terminationMessagePath", "warned"),
        (f"{POD}/containers/0/volumeMounts/0/subPathExpr", "honoured"),
        (f"{POD}/evictionResponders/0/name", "honoured"),
        (f"{POD}/resourceClaims/0/resourceClaimName", "refused"),
        (f"{POD}/topologySpreadConstraints/0/maxSkew", "honoured"),
        (f"{POD}/volumes/0/emptyDir/sizeLimit", "warned"),
    ],
)
def test_what_becomes_of_a_field_follows_from_the_answer(pointer: str, expected: str) -> None:
    (field,) = (each for each in fields_of("Job") if each.pointer == pointer)
    assert outcome(base_of("Job"), field) == expected


def test_a_field_that_nothing_reads_is_silent() -> None:
    assert outcome(base_of("Job"), Field("/status/ready", (3,))) == "silent"


def test_fields_without_meaning_are_those_that_are_silent() -> None:
    """The list has no entry that hides a field which is told of."""
    silent = {
        field.pointer
        for kind in ("Job", "Namespace", "Node", "PyTorchJob")
        for field in fields_of(kind)
        if field.pointer.endswith(tuple(WITHOUT_MEANING))
        and "Worker" not in field.pointer
        and outcome(base_of(kind), field) == "silent"
    }
    assert {end for end in WITHOUT_MEANING if any(each.endswith(end) for each in silent)} == {
        *WITHOUT_MEANING
    }
