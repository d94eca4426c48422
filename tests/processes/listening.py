"""The end of an asyncio server of a test: no connection is left open, however late it came."""

import asyncio

TURNS_TO_SERVE = 5
"""Turns of the event loop from an accepted connection to its task, with two to spare."""


async def end_server(server: asyncio.Server) -> None:
    """Accepts no more, and ends the tasks that serve what was accepted, and all others.

    A server that closes while a connection has been accepted and has no transport yet leaves the
    socket of it open, so it listens on until those tasks had their turns.
    """
    loop = asyncio.get_running_loop()
    for listening in server.sockets:
        loop.remove_reader(listening.fileno())
    for _ in range(TURNS_TO_SERVE):
        await asyncio.sleep(0)
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    server.close()
    await server.wait_closed()
