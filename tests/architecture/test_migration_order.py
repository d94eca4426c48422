"""Migrations are one line: two that follow on the same one would leave none to be the newest."""

import re

from tests.architecture.sources import ROOT, assert_none

REVISION = re.compile(r'^revision = "(\d+)"$', re.MULTILINE)
BEFORE = re.compile(r'^down_revision = (?:"(\d+)"|None)$', re.MULTILINE)


def test_each_migration_follows_on_the_one_of_the_number_before() -> None:
    files = sorted((ROOT / "migrations" / "versions").glob("[0-9]*.py"))
    found = [
        path.name
        for number, path in enumerate(files, start=1)
        if path.name[:4] != f"{number:04}"
        or REVISION.findall(path.read_text()) != [f"{number:04}"]
        or BEFORE.findall(path.read_text()) != ["" if number == 1 else f"{number - 1:04}"]
    ]
    assert_none(found, "Number it after the newest migration, in its name and in its text:")
