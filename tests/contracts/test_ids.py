"""Every source of ids gives unique ids in ascending order."""

import subprocess
import sys
import uuid

from headgate.adapters.system.clocks_and_randomness import TimeOrderedIds

IN_A_FORKED_PROCESS_TOO = """
import os
from headgate.adapters.system.clocks_and_randomness import TimeOrderedIds
ids = TimeOrderedIds()
ids.new()
reading, writing = os.pipe()
if os.fork() == 0:
    os.write(writing, "".join(ids.new()[-14:] + " " for _ in range(100)).encode())
    os._exit(0)
os.wait()
there = set(os.read(reading, 10_000).decode().split())
here = {ids.new()[-14:] for _ in range(100)}
assert len(there) == len(here) == 100
print(len(there & here))
"""


def test_ids_are_uuids_of_version_seven_in_order_and_never_twice() -> None:
    ids = TimeOrderedIds()

    found = [ids.new() for _ in range(5_000)]

    assert found == sorted(set(found))
    assert {(uuid.UUID(one).version, uuid.UUID(one).variant) for one in found} == {
        (7, uuid.RFC_4122)
    }
    assert all(str(uuid.UUID(one)) == one for one in found)


def test_a_forked_process_draws_its_own_random_bits() -> None:
    command = [sys.executable, "-c", IN_A_FORKED_PROCESS_TOO]

    shared = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    assert shared.stdout.strip() == "0"
