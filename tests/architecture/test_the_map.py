"""The README files tell the truth about today's tree: packages, folders, words, settings."""

import re
from pathlib import Path

import msgspec
import pytest

from headgate.settings import Settings
from tests.architecture.readme import (
    BACKEND_README,
    README,
    code_spans,
    glossary,
    package_lines,
    paths_named,
)
from tests.architecture.sources import (
    BACKEND,
    MIGRATIONS,
    ROOT,
    assert_none,
    files,
    files_below,
    first_sentence,
    is_ignored,
    shown,
)

GUIDES = [
    README,
    BACKEND_README,
    *sorted((ROOT / "backend" / "adr").glob("*.md")),
    ROOT / "docs" / "operations" / "security.md",
]
SETTING = re.compile(r"HEADGATE_[A-Z_]+")


def settings() -> set[str]:
    """Every environment variable the processes read."""
    return {f"HEADGATE_{field.name.upper()}" for field in msgspec.structs.fields(Settings)}


def packages() -> dict[str, str]:
    """Each package of the backend, as the map writes it, with its own first sentence."""
    initials = (path for path in files_below(BACKEND, ".py") if path.name == "__init__.py")
    named = {path.parent.relative_to(BACKEND).as_posix() + "/": path for path in initials}
    return {name: first_sentence(path) for name, path in named.items() if name != "./"}


def test_every_folder_of_code_is_a_package() -> None:
    folders = {path.parent for path in files_below(BACKEND, ".py")}
    found = [shown(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()]
    assert_none(found, "Add an __init__.py that says in one sentence what is inside:")


def test_every_module_opens_with_a_sentence() -> None:
    found = [
        shown(path)
        for path in files()
        if path.suffix == ".py" and path.stat().st_size and not first_sentence(path)
    ]
    assert_none(found, "Open it with one sentence that says what is inside:")


def test_the_map_has_one_line_for_each_package() -> None:
    mapped, real = package_lines(), packages()
    missing = [f"missing: | `{name}` | {real[name]} |" for name in sorted(real.keys() - mapped)]
    gone = [f"gone: {name}" for name in sorted(mapped.keys() - real.keys())]
    assert_none(missing + gone, "Bring the map in backend/README.md up to date:")


def test_the_map_says_what_the_packages_say() -> None:
    mapped, real = package_lines(), packages()
    found = [
        f"| `{name}` | {sentence} |"
        for name, sentence in sorted(real.items())
        if mapped.get(name, sentence) != sentence
    ]
    assert_none(found, "A package's line in the map is the sentence of its __init__.py:")


@pytest.mark.parametrize("guide", GUIDES, ids=shown)
def test_every_path_a_guide_names_exists(guide: Path) -> None:
    found = [
        path
        for path in paths_named(guide)
        if not is_ignored(path)
        and not any((folder / path).exists() for folder in (ROOT, BACKEND, ROOT / "backend"))
    ]
    assert_none(found, f"{shown(guide)} names what is not there; rename or remove:")


def test_every_top_folder_is_named_in_the_readme() -> None:
    tops = {path.relative_to(ROOT).parts[0] for path in files() if path.parent != ROOT}
    named = {path.split("/")[0] for path in paths_named(README)}
    found = sorted(top for top in tops - named if not top.startswith("."))
    assert_none(found, "Say in README.md what is in:")


def test_the_glossary_gives_each_word_one_meaning() -> None:
    words = [word.lower() for word, _ in glossary()]
    assert len(words) > 30
    assert_none(sorted({w for w in words if words.count(w) > 1}), "Defined twice; keep one:")
    assert_none([word for word, meaning in glossary() if not meaning], "Without a meaning:")


def test_the_readme_names_every_setting() -> None:
    named = {s for span in code_spans(README) for s in SETTING.findall(span)}
    missing = [f"missing: {name}" for name in sorted(settings() - named)]
    gone = [f"gone: {name}" for name in sorted(named - settings())]
    assert_none(missing + gone, "Bring the table of settings in README.md up to date:")


def test_containers_are_given_only_real_settings() -> None:
    given = set(SETTING.findall((ROOT / "compose.yaml").read_text()))
    given |= set(SETTING.findall((ROOT / "Dockerfile").read_text()))
    assert given
    assert_none(sorted(given - settings()), "No such setting; mend compose.yaml or Dockerfile:")


def test_migrations_explain_themselves() -> None:
    assert (MIGRATIONS / "README.md").is_file(), "Say in migrations/README.md how to add one."
    found = [shown(p) for p in files_below(MIGRATIONS, ".py") if not first_sentence(p)]
    assert_none(found, "Say in its docstring what it changes:")


def test_each_decision_has_a_number_of_its_own() -> None:
    folder = ROOT / "backend" / "adr"
    numbers = sorted(path.name[:4] for path in folder.glob("[0-9]*.md"))
    without = {f"{number:04}" for number in range(1, int(numbers[-1]) + 1)} - set(numbers)
    told = set(re.findall(r"\b0\d{3}\b", (folder / "README.md").read_text("utf-8")))
    twice = sorted({each for each in numbers if numbers.count(each) > 1})
    assert_none([*twice, *sorted(without - told)], "Give these numbers once, or say why not:")
