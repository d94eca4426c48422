#!/usr/bin/env python3
#HEADGATE --pods 2
"""Counts until it is told that it is enough, and saves its count now and then and when preempted.

The next attempt goes on from there. The directory of checkpoints is on this host; for several hosts
it would be on a shared file system.
"""

import json
import os
import pathlib
import signal
import sys
import time

CHECKPOINTS = pathlib.Path(os.environ["CHECKPOINTS"])
RANK, ATTEMPT = os.environ["RANK"], os.environ["HEADGATE_ATTEMPT"]
OWN = CHECKPOINTS / f"checkpoint-{RANK}.json"

count = json.loads(OWN.read_text())["count"] if OWN.exists() else 0


def save() -> None:
    """Saves the count whole or not at all."""
    OWN.with_suffix(".new").write_text(json.dumps({"count": count}))
    OWN.with_suffix(".new").rename(OWN)


def stop(_number: int, _frame: object) -> None:
    """Saves and ends; a line in the progress file extends the time of a soft eviction."""
    order = json.loads(pathlib.Path(os.environ["HEADGATE_EVICTION_FILE"]).read_text())
    pathlib.Path(os.environ["HEADGATE_PROGRESS_FILE"]).write_text(f"saving {count}\n")
    save()
    print(f"attempt {ATTEMPT}: {order['reason']}, saved {count}", flush=True)
    sys.exit(0)


signal.signal(signal.SIGTERM, stop)
print(f"attempt {ATTEMPT}: begins at {count}", flush=True)
while not (CHECKPOINTS / "enough").exists():
    time.sleep(0.05)
    count += 1
    if count % 20 == 1:
        save()
print(f"attempt {ATTEMPT}: done at {count}", flush=True)
