"""The output of a workload's pods, line by line."""

import contextlib
import sys
import threading
from collections.abc import Iterator

from headgate.cli.presentation.output import for_terminal, say
from headgate.client.pods import PodLogStream, PodOutput
from headgate.client.problems import ServerProblem

SECONDS_FOR_THE_REST = 15.0


class RunOutput:
    """Shows the output of pods line by line, with ranks in front where there are several."""

    def __init__(
        self, source: PodLogStream, *, is_prefixed: bool, with_times: bool = False
    ) -> None:
        self._source = source
        self._is_prefixed = is_prefixed
        self._with_times = with_times
        self._halves: dict[tuple[int, str], bytes] = {}

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Shows output beside the caller's work, and the rest of it after that."""
        thread = threading.Thread(target=self._show_all, name="output", daemon=True)
        thread.start()
        try:
            yield
        finally:
            thread.join(SECONDS_FOR_THE_REST)
            self._source.close()

    def _show_all(self) -> None:
        try:
            self.show(self._source.follow())
        except ServerProblem as problem:
            say(f"The output cannot be shown: {problem}")

    def show(self, found: Iterator[PodOutput]) -> None:
        """Shows output to its end, also where that is no end of a line."""
        try:
            for output in found:
                self._show(output)
        finally:
            for (rank, stream), half in self._halves.items():
                self._write(rank, stream, half + (b"\n" if self._is_prefixed and half else b""))

    def _show(self, output: PodOutput) -> None:
        if output.missing:
            self._write(output.rank, "stderr", b"[%d bytes not kept]\n" % output.missing)
        at = output.at if self._with_times else ""
        place = (output.rank, output.stream)
        whole, end, half = (self._halves.get(place, b"") + output.content).rpartition(b"\n")
        self._halves[place] = half
        self._write(*place, whole + end, at)

    def _write(self, rank: int, stream: str, lines: bytes, at: str = "") -> None:
        """Writes bytes as they are, and for a terminal without what it would obey but colors."""
        out = sys.stderr if stream == "stderr" else sys.stdout
        if out.isatty():
            lines = for_terminal(lines)
        prefix = f"[{rank}] " if self._is_prefixed else ""
        prefix += f"{at} " if at else ""
        if prefix:
            begin = prefix.encode()
            lines = b"".join(begin + line for line in _lines(lines))
        out.buffer.write(lines)
        out.flush()


def _lines(content: bytes) -> list[bytes]:
    """Lines with their ends, by line feeds alone."""
    parts = content.split(b"\n")
    return [*(part + b"\n" for part in parts[:-1]), *([parts[-1]] if parts[-1] else [])]
