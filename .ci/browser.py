"""Makes sure there is a browser for the tests that drive the page, installing one where it may.

Never fails: where no browser can be had it says what is missing, and the browser tests fail.
"""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main() -> None:
    """Look for a browser, then try the package manager."""
    if any(shutil.which(name) for name in NAMES):
        return
    prefix = privileges()
    if prefix is None or shutil.which("apt-get") is None:
        say_what_is_missing("it cannot be installed from here")
        return
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for step in (
        ["update", "-qq"],
        ["install", "-y", "-qq", "--no-install-recommends", "chromium"],
    ):
        command = [*prefix, "apt-get", *step]
        done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            say_what_is_missing(f"`{' '.join(command)}` failed")
            return


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
