"""Builds what is released: `python .ci/package.py [FOLDER]`, by default `dist`.

The wheel has the page, the documentation, the notices of the software that page and documentation
ship, and an SBOM of Headgate with every package that its extras install.
"""

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import frontend

ROOT = Path(__file__).resolve().parent.parent
NOTICES = ROOT / "docs" / "_build" / "notices"
LICENSE_FILES = ("licen", "copying", "notice", "ofl")
OF_DOCUMENTATION = ("Sphinx", "furo", "Pygments")
"""Python packages with scripts and styles that are copied into the documentation."""
BUILDERS = ("sphinx-build", "-q", "-W", "--keep-going", "-b", "html", "docs", "docs/_build/html")


def main(folder: str = "dist") -> None:
    """Build everything; the first step that fails ends the program."""
    frontend.install()
    frontend.build()
    bin_folder = Path(sys.executable).parent
    run(str(bin_folder / BUILDERS[0]), *BUILDERS[1:])
    NOTICES.mkdir(parents=True, exist_ok=True)
    pages = npm_packages()
    (NOTICES / "NOTICES.txt").write_text(notices(pages))
    (NOTICES / "sbom.cdx.json").write_text(json.dumps(bill_of_materials(pages), indent=1) + "\n")
    wheel = ("build", "--wheel", "--no-build-isolation", "--python", sys.executable, "-q")
    run(str(bin_folder / "uv"), *wheel, "--out-dir", folder)
    print(*sorted(str(path) for path in Path(folder).glob("*.whl")), sep="\n")


def run(*command: str) -> str:
    """The output of a command; it must succeed."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def npm_packages() -> list[Path]:
    """The folder of each package that the page is made of, without those that only build it."""
    lock = json.loads((frontend.FRONTEND / "package-lock.json").read_text())
    return [
        frontend.FRONTEND / name
        for name, package in sorted(lock["packages"].items())
        if name and not package.get("dev") and (frontend.FRONTEND / name).is_dir()
    ]


def notices(pages: list[Path]) -> str:
    """The licenses of the software that a wheel carries beside Headgate itself."""
    parts = ["Software that this package ships beside Headgate itself, with its licenses.\n"]
    for folder in pages:
        package = json.loads((folder / "package.json").read_text())
        texts = [text.read_text(errors="replace") for text in license_files(folder)]
        parts.append(_notice(package["name"], package["version"], _license(package), texts))
    for name in OF_DOCUMENTATION:
        found = metadata.distribution(name)
        files = [file for file in found.files or () if "licenses" in file.parts]
        texts = [str(file.read_text()) for file in files]
        terms = found.metadata.json.get("license_expression", "")
        parts.append(_notice(name, found.version, str(terms), texts))
    return "\n".join(parts)


def _notice(name: str, version: str, terms: str, texts: list[str]) -> str:
    line = "=" * 79
    return "\n".join([line, f"{name} {version}  {terms}", line, "", *texts, ""])


def license_files(folder: Path) -> list[Path]:
    """The files of a package that hold its license."""
    return sorted(
        path
        for path in folder.iterdir()
        if path.is_file() and path.name.lower().startswith(LICENSE_FILES)
    )


def _license(package: dict[str, Any]) -> str:
    return str(package.get("license", ""))


def bill_of_materials(pages: list[Path]) -> dict[str, Any]:
    """The SBOM (CycloneDX 1.5): Python's packages as uv.lock has them, and those of the page."""
    options = ("export", "--frozen", "--no-dev", "--all-extras", "--format", "cyclonedx1.5", "-q")
    found: dict[str, Any] = json.loads(run(str(Path(sys.executable).parent / "uv"), *options))
    found.pop("serialNumber", None)
    found["metadata"].pop("timestamp", None)
    for folder in pages:
        package = json.loads((folder / "package.json").read_text())
        name, version = package["name"], package["version"]
        found["components"].append(
            {
                "type": "library",
                "bom-ref": f"npm:{name}@{version}",
                "name": name,
                "version": version,
                "licenses": [{"license": {"name": _license(package)}}],
                "purl": f"pkg:npm/{name.replace('@', '%40')}@{version}",
            }
        )
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
