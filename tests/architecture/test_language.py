"""Names, docstrings, comments and texts hold to the rules of language."""

from pathlib import Path

import pytest

from tests.architecture.language import Text, refused, refused_phrases, sources
from tests.architecture.page_strings import page_strings
from tests.architecture.sources import assert_none

PAGE = """
// A comment that is in the way.
const NAMES: Record<string, string> = { wait: "Back to now", key: "lower" };
const isLate = (left: number, right: number) => left < right && /in the "way"/.test(name);
export function Verdict<T extends Named>({ of, at }: { of: T; at?: string }) {
  const words = count === 1 ? `1 pod of ${of["name"]}` : `${count} pods ${at ?? "at once"} here`;
  return (
    <Card title="What fits" aside={count > 0 && <b>{count} more</b>} padded>
      Held&nbsp;by <Link<T> to={`/x/${of.name}`}>the first</Link>: {words}
      {/* Not shown to people. */}
    </Card>
  );
}
"""


def test_no_name_or_text_breaks_a_rule_of_language() -> None:
    names, texts, strings, found = refused(sources())
    assert names > 10_000
    assert texts > 10_000
    assert strings > 5_000
    assert_none(
        found,
        "Write it in the field's terms; workloads, queues and hosts are things:",
    )


def test_the_strings_of_a_page_are_found_and_nothing_else() -> None:
    assert [(found.line, found.text) for found in page_strings(PAGE)] == [
        (3, "Back to now"),
        (6, "1 pod of {}"),
        (6, "{} pods {} here"),
        (6, "at once"),
        (8, "What fits"),
        (8, "more"),
        (9, "Held by"),
        (9, "the first"),
    ]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("What is in\n    the way", "constraint, pending reason"),
        ("2 victims had to go", "evicted, preempted"),
        ("Take it back", "undo, roll back, reclaim"),
        ("Open the Inbox", "stuck workloads, needs attention"),
    ],
)
def test_a_phrase_around_a_term_is_refused_with_the_term(text: str, terms: str) -> None:
    [found] = refused_phrases([Text(Path(__file__), 1, text)])
    assert found.endswith(f"write {terms}")


def test_a_text_in_terms_of_the_field_is_not_refused() -> None:
    said = "Evicted: 2 victims; backoff ends in 5 s, the way to unblock is a higher quota"
    assert refused_phrases([Text(Path(__file__), 1, said)]) == []
