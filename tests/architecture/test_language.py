"""Names, docstrings, comments and texts hold to the rules of language."""

from tests.architecture.language import refused, sources
from tests.architecture.sources import assert_none


def test_no_name_or_text_breaks_a_rule_of_language() -> None:
    names, texts, found = refused(sources())
    assert names > 10_000
    assert texts > 10_000
    assert_none(
        found,
        "Write it in the field's terms; workloads, queues and hosts are things:",
    )
