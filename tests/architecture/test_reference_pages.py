"""The reference pages name every kind, event, setting and message that the code has."""

import json
import sys

import pytest

from headgate.api.openapi import field_meanings
from headgate.domain.kinds.registry import KINDS
from headgate.event_log.codec import CLASSES_BY_NAME
from headgate.messages.catalogue import TEXTS
from headgate.settings import Settings
from tests.architecture.sources import ROOT
from tests.docs.descriptions import undescribed

sys.path.insert(0, str(ROOT / "docs"))

from reference_pages import PAGES

SUBJECTS = {
    "kinds": [f"## {kind.name}\n" for kind in KINDS],
    "api": ["### POST /v1/namespaces/{namespace}/workloads\n"],
    "command-line": ["### headgate submit\n", "### headgate log\n", "#### headgate token create\n"],
    "settings": [f"`HEADGATE_{name.upper()}`" for name in Settings.__struct_fields__],
    "metrics": ["`kueue_pending_workloads` | gauge", "`headgate_log_position` | gauge"],
    "events": [f"## {name}\n" for name in CLASSES_BY_NAME],
    "messages": [f"| `{code}` |" for code in TEXTS],
}


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_page_names_all_of_its_subject(name: str) -> None:
    page = PAGES[name]()

    assert not [subject for subject in SUBJECTS[name] if subject not in page]


def test_every_setting_has_a_meaning() -> None:
    rows = [row for row in PAGES["settings"]().splitlines() if row.startswith("| `")]

    assert rows
    assert not [row for row in rows if row.rstrip(" |").endswith("`")]


@pytest.mark.parametrize("name", ["kinds", "api", "command-line", "settings", "metrics", "events"])
def test_everything_that_has_a_row_has_a_meaning(name: str) -> None:
    assert undescribed(name) == [], "write backend/headgate/api/field_meanings.toml"


def test_no_meaning_is_of_a_field_that_is_not_there() -> None:
    schemas = json.loads((ROOT / "frontend" / "openapi.json").read_text())["components"]["schemas"]
    meanings = field_meanings()
    meanings.pop("parameters")
    assert not [
        f"{name}.{field}"
        for name, fields in meanings.items()
        for field in fields
        if field not in schemas.get(name, {}).get("properties", {})
    ]
