"""`python -m tests.docs`: builds the documentation, follows its links and runs its commands.

Prints one line of figures; exit code 1 if a link is broken or something has no description. A
command that fails ends the program with its output.
"""

import sys

from tests.docs.commands import README, TUTORIAL, runnable_scripts
from tests.docs.descriptions import described
from tests.docs.installation import build_documentation, embedded_installation
from tests.docs.links import is_broken, links, site_pages


def main() -> int:
    """Exit code 0 if the documentation holds."""
    build_documentation()
    found = list(links())
    broken = [f"{page.name}: {target}" for page, target in found if is_broken(page, target)]
    rows = described()
    missing = [row for row, is_described in rows if not is_described]
    commands = 0
    with embedded_installation() as up:
        for page in (TUTORIAL, README):
            for script in runnable_scripts(page):
                up.shell(script)
                commands += sum(line.startswith("headgate ") for line in script.splitlines())
    for line in [*broken, *missing]:
        print(line, file=sys.stderr)
    print(
        f"pages {len(site_pages())}, links {len(found)}, broken {len(broken)}, "
        f"commands {commands} run, fields {len(rows)} described, undescribed {len(missing)}"
    )
    return int(bool(broken or missing))


if __name__ == "__main__":
    raise SystemExit(main())
