"""Names, docstrings, comments and texts hold to the rules of language."""

from tests.architecture.language import refused, sources
from tests.architecture.sources import assert_none

NOT_YET = (
    "backend/headgate/application/queries/overview/attention.py",
    "backend/headgate/application/queries/workloads/expected_start.py",
    "backend/headgate/application/simulations/simulate.py",
    "backend/headgate/domain/lint/unusable_objects.py",
)
"""Files with texts that become codes with messages."""


def test_no_name_or_text_breaks_a_rule_of_language() -> None:
    names, texts, found = refused(sources())
    assert names > 10_000
    assert texts > 10_000
    assert_none(
        [line for line in found if not line.startswith(NOT_YET)],
        "Write it in the field's terms; workloads, queues and hosts are things:",
    )
