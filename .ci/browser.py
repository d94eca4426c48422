"""Makes sure there is a browser for the tests that drive the page, installing one where it may.

Never fails: where no browser can be had it says what is missing, and the browser tests fail.
"""

import os
import shutil
import subprocess
import sys

SHELL = "chromium-headless-shell"
"""Chromium without what only a window needs: a third of the processor time of the browser."""
NAMES = (SHELL, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main() -> None:
    """Look for the browser of the tests, then try the package manager; any other will do."""
    if shutil.which(SHELL):
        return
    prefix = privileges()
    if prefix is None or shutil.which("apt-get") is None:
        why = "it cannot be installed from here"
    elif install(prefix, SHELL) or any(map(shutil.which, NAMES)) or install(prefix, "chromium"):
        return
    else:
        why = f"`{' '.join([*prefix, 'apt-get'])} install chromium` failed"
    if not any(map(shutil.which, NAMES)):
        say_what_is_missing(why)


def install(prefix: list[str], *packages: str) -> bool:
    """Whether the package manager could install them."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    steps = (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *packages])
    commands = ([*prefix, "apt-get", *step] for step in steps)
    output = subprocess.DEVNULL
    return all(
        subprocess.run(each, env=environment, stdout=output, stderr=output, check=False).returncode
        == 0
        for each in commands
    )


def privileges() -> list[str] | None:
    """What to put before a command that installs packages; None where we may not."""
    if os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo")
    if sudo is None:
        return None
    asked = subprocess.run([sudo, "-n", "true"], capture_output=True, check=False)
    return [sudo, "-n"] if asked.returncode == 0 else None


def say_what_is_missing(why: str) -> None:
    """Tell the person before the tests do."""
    sys.stderr.write(
        f"No browser is installed and {why}. The tests in tests/browser will fail: "
        f"install one of {', '.join(NAMES)}.\n"
    )


if __name__ == "__main__":
    main()
