"""Reading YAML and JSON: what is taken, and what is refused before anything is made of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.adapters.manifests.documents import read_documents
from headgate.domain.rejection import InvalidObject
from headgate.messages.catalogue import text_of


def values(text: str, content_type: str = "") -> list[Any]:
    return [document.value for document in read_documents(text.encode(), content_type)]


def refusal(body: str | bytes, content_type: str = "") -> str:
    encoded = body.encode() if isinstance(body, str) else body
    with pytest.raises(InvalidObject) as refused:
        read_documents(encoded, content_type)
    return text_of(refused.value.message)


def test_documents_know_where_they_begin_and_empty_ones_are_left_out() -> None:
    documents = read_documents(b"a: 1\n---\n# nothing\n---\n\n- b\n")
    assert [(document.value, document.line) for document in documents] == [
        ({"a": 1}, 1),
        (["b"], 4),
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("'yes'", "yes"),
        ("~", None),
        ("12", 12),
        ("0x1F", 31),
        ("0777", 511),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("12:30:00", "12:30:00"),
        ("2026-01-01", "2026-01-01"),
        ("!!str 12", "12"),
        ("4Gi", "4Gi"),
        ("1_000", "1_000"),
        ("|\n  two\n  lines\n", "two\nlines\n"),
    ],
)
def test_scalars_mean_what_they_mean_to_kubernetes(text: str, value: Any) -> None:
    assert values(f"a: {text}") == [{"a": value}]


def test_aliases_and_merges_are_followed() -> None:
    text = "base: &b {x: 1, y: 2}\nall: [*b, *b]\nown: {<<: *b, y: 3}\n"
    (found,) = values(text)
    assert found["all"] == [{"x": 1, "y": 2}] * 2
    assert found["own"] == {"x": 1, "y": 3}


def test_keys_of_labels_may_look_like_numbers() -> None:
    assert values("1: a\ntrue: b\n") == [{"1": "a", "true": "b"}]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: 1\na: 2", "line 2, column 1: duplicate key a"),
        ("a: {b: 1, b: 2}", "duplicate key b"),
        ("a: &x [*x]", "unknown alias"),
        ("a: *nobody", "unknown alias"),
        ("a: !!python/object/apply:os.system [ls]", "unknown tag"),
        ("a: !!binary aGk=", "unknown tag"),
        ("? [a]\n: b", "a key must be a string"),
        ("a: [1", "line 2"),
        ("\ta: 1", "line 1"),
        ("a: 99999999999999999999", "too large"),
        ('a: "\\0"', "U+0000"),
        ("<<: 5", "value of <<"),
        ("[" * 61 + "]" * 61 + "# yaml", "nested at most 60 deep"),
    ],
)
def test_yaml_that_is_ambiguous_is_refused_with_its_place(text: str, told: str) -> None:
    assert told in refusal(text, "application/yaml")


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 12):
        inner = ", ".join([f"*a{level - 1}"] * 10)
        lines.append(f"a{level}: &a{level} [{inner}]")
    assert "counting aliases" in refusal("\n".join(lines))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1, "a": 2}', "duplicate key a"),
        ('{"a": NaN}', "not a finite number"),
        ('{"a": 1e999}', "not a finite number"),
        ('{"a": 99999999999999999999}', "too large"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"a": "\\u0000"}', "U+0000"),
        ('{"a": }', "line 1, column 7"),
        ("[" * 61 + "]" * 61, "60 deep"),
        ("[" * 100_000, "60 deep"),
        ("5" * 5000, "too large"),
    ],
)
def test_json_that_is_ambiguous_is_refused(text: str, told: str) -> None:
    assert told in refusal(text, "application/json")


def test_json_is_known_by_its_first_character() -> None:
    assert values(' {"a": "\\u00e4"}') == [{"a": "ä"}]
    assert values("[1]") == [[1]]


def test_bytes_that_are_no_text_are_refused() -> None:
    assert "not UTF-8" in refusal(b"a: \xff")


def test_a_body_has_a_limit() -> None:
    assert "at most" in refusal(b" " * (16 * 1024 * 1024 + 1))


@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_be_refused(body: bytes) -> None:
    for content_type in ("", "application/json", "application/yaml"):
        try:
            read_documents(body, content_type)
        except InvalidObject:
            continue


@given(st.text(alphabet="{}[]:,&*!<>|-?'\"#%@ \n\tab1~.", max_size=60))
def test_no_punctuation_does_more_than_be_refused(text: str) -> None:
    try:
        read_documents(text.encode(), "application/yaml")
    except InvalidObject:
        return
