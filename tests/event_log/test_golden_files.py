"""What was stored once can be read for ever."""

import pytest

from headgate.event_log.codec import (
    CLASSES_BY_NAME,
    EVENT_CLASSES,
    decode,
    encode,
    schema_version_of,
)
from tests.event_log.golden_files import DIRECTORY, legible, path_of
from tests.event_log.samples import sample_of

NAMES = sorted(CLASSES_BY_NAME)
FILES = sorted(path.name for path in DIRECTORY.glob("*.json"))


def parts_of(file: str) -> tuple[str, int]:
    name, _, version = file.removesuffix(".json").rpartition(".v")
    return name, int(version)


def test_no_two_events_share_a_stored_name() -> None:
    assert len(CLASSES_BY_NAME) == len(EVENT_CLASSES)


@pytest.mark.parametrize("name", NAMES)
def test_every_version_of_every_event_has_a_golden_file(name: str) -> None:
    versions = range(1, schema_version_of(name) + 1)

    assert [version for version in versions if not path_of(name, version).exists()] == []


@pytest.mark.parametrize("file", FILES)
def test_a_golden_file_of_an_event_that_is_gone_is_still_read(file: str) -> None:
    name, version = parts_of(file)

    decode(name, version, path_of(name, version).read_bytes())


@pytest.mark.parametrize("name", NAMES)
def test_an_event_is_written_as_its_golden_file_says(name: str) -> None:
    version = schema_version_of(name)
    stored = path_of(name, version).read_bytes()

    again = encode(decode(name, version, stored))

    assert again[:2] == (name, version)
    assert legible(again[2]) == stored


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_file_holds_every_field(name: str) -> None:
    stored = path_of(name, schema_version_of(name)).read_bytes()

    assert legible(encode(sample_of(CLASSES_BY_NAME[name]))[2]) == stored
