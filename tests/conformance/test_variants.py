"""The runner reads cases that it has not seen, and says what it cannot read."""

import json
from pathlib import Path

import pytest

from tests.conformance.__main__ import FOLDER
from tests.conformance.cases import case_files, read_cases
from tests.conformance.test_conformance import written
from tests.conformance.variants import CHANGES, Document, differing, together
from tests.conformance.verdicts import judge

SAMPLE = 15
"""`make test` changes one case in so many of each file; all of them are changed in the night."""


@pytest.fixture(scope="module")
def files() -> list[Path]:
    """The files of the corpus; a test that needs them is skipped where it is absent."""
    found = case_files(FOLDER) if FOLDER.is_dir() else []
    if not found:
        pytest.skip(f"the conformance corpus is absent: {FOLDER}")
    return found


def test_a_sample_of_variants_comes_to_the_outcome_of_their_cases(
    files: list[Path], tmp_path: Path
) -> None:
    assert not [told for path in files for told in differing(together, path, tmp_path, SAMPLE)]


@pytest.mark.nightly
@pytest.mark.parametrize("name", CHANGES)
def test_every_variant_comes_to_the_outcome_of_its_case(
    name: str, files: list[Path], tmp_path: Path
) -> None:
    assert not [told for path in files for told in differing(CHANGES[name], path, tmp_path)]


def test_an_input_that_nothing_reads_fails_the_case_by_its_name(tmp_path: Path) -> None:
    path = written(tmp_path, right=10_000)
    document = document_of(path)
    document["cases"][0]["inputs"]["surprise"] = ["any"]
    path.write_text(json.dumps(document), encoding="utf-8")
    (verdict,) = [judge(case) for case in read_cases(path)]
    assert (verdict.outcome, verdict.reasons) == ("failed", ("inputs.surprise is not read",))


def test_a_key_that_the_format_does_not_have_fails_the_case_by_its_name(tmp_path: Path) -> None:
    path = written(tmp_path, right=10_000)
    document = document_of(path)
    document["cases"][0]["surprise"] = True
    path.write_text(json.dumps(document), encoding="utf-8")
    (verdict,) = [judge(case) for case in read_cases(path)]
    assert (verdict.outcome, verdict.reasons) == ("failed", ("unknown key surprise",))


def test_an_absent_input_is_a_zero_value(tmp_path: Path) -> None:
    path = written(tmp_path, right=10_000)
    document = document_of(path)
    document["cases"][0]["inputs"] = {}
    document["cases"][0]["want"] = {"wantAvailable": None, "wantPotentiallyAvailable": None}
    path.write_text(json.dumps(document), encoding="utf-8")
    assert [judge(case).outcome for case in read_cases(path)] == ["passed"]


def document_of(path: Path) -> Document:
    """The document of a file, to be changed."""
    document: Document = json.loads(path.read_text(encoding="utf-8"))
    return document
