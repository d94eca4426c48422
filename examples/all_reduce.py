#!/usr/bin/env python3
#HEADGATE --pods 4
"""Adds up a number of each rank, with sockets alone: rank 0 listens where all ranks meet.

The variables are those of torchrun, so that a program for torch.distributed starts in the same way
(`init_method="env://"`).
"""

import os
import socket
import struct
import time

RANK, WORLD_SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
MEETING = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
NUMBER = struct.Struct("!q")


def receive(connection: socket.socket) -> int:
    content = b""
    while len(content) < NUMBER.size:
        content += connection.recv(NUMBER.size - len(content))
    return NUMBER.unpack(content)[0]


def all_reduce_as_first(own: int) -> int:
    """Rank 0 takes the numbers of all others and answers with the sum."""
    with socket.create_server(("", MEETING[1]), backlog=WORLD_SIZE) as listener:
        others = [listener.accept()[0] for _ in range(WORLD_SIZE - 1)]
    total = own + sum(receive(each) for each in others)
    for each in others:
        each.sendall(NUMBER.pack(total))
        each.close()
    return total


def all_reduce(own: int) -> int:
    """Another rank may start before rank 0 listens."""
    while True:
        try:
            connection = socket.create_connection(MEETING)
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    with connection:
        connection.sendall(NUMBER.pack(own))
        return receive(connection)


own = RANK + 1
total = all_reduce_as_first(own) if RANK == 0 else all_reduce(own)
print(f"rank {RANK} of {WORLD_SIZE}: {own} of {total}")
