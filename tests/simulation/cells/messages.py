"""Messages between directory, cells, routers and clients."""

from msgspec import Struct

from tests.simulation.cells.leases import Lent
from tests.simulation.cells.state import Entry, Job


class Ask(Struct, frozen=True):
    """A borrower asks for a lease, or for a later end of one."""

    borrower: str
    number: int
    amount: int


class Grant(Struct, frozen=True):
    """A lender has written a lease."""

    lender: str
    lease: Lent


class Return(Struct, frozen=True):
    """A borrower does not use a lease any more."""

    borrower: str
    number: int


class Over(Struct, frozen=True):
    """All leases of a pair up to a number are over."""

    lender: str
    number: int


class Entries(Struct, frozen=True):
    """Entries of the directory's log after a position."""

    after: int
    entries: tuple[Entry, ...]


class FollowedTo(Struct, frozen=True):
    """A cell has written the directory's entries up to a position."""

    cell: str
    position: int


class Ready(Struct, frozen=True):
    """The target of a move has written its file."""

    queue: str
    move: int


class Transfer(Struct, frozen=True):
    """A workload goes after its queue alone."""

    source: str
    job: Job


class Has(Struct, frozen=True):
    """The receiver of a transfer has written it."""

    uid: str
    moves: int


class Submit(Struct, frozen=True):
    """A submit with its idempotency key, on the way from a client by a router."""

    key: str
    queue: str
    amount: int
    seconds: int
    router: str = ""


class Answer(Struct, frozen=True):
    """A submit was accepted: the workload of its key."""

    key: str
    uid: str


class Refused(Struct, frozen=True):
    """A submit was refused for now; the client asks again."""

    key: str
    is_moving: bool


class Redirected(Struct, frozen=True):
    """The queue of a submit has moved."""

    submit: Submit
    move: int
    cell: str


class FetchTable(Struct, frozen=True):
    """A router asks where queues are."""

    router: str


class TableIs(Struct, frozen=True):
    """Where queues are, as far as the sender knows."""

    cells: dict[str, tuple[int, str]]
