"""What every store promises of objects as they were written."""

from hashlib import sha256

import msgspec

from headgate.application.ports import AppendConflict, Appended, WrittenObject
from tests.contracts.adapters import Adapters
from tests.contracts.events import event, unit


def written(text: str) -> WrittenObject:
    body = text.encode()
    return WrittenObject(digest=sha256(body).hexdigest(), body=body)


def test_an_object_as_written_is_kept_with_the_append_that_refers_to_it(adapters: Adapters) -> None:
    first, second = written('{"b":"1500m","a":1}'), written("Grüße")

    (verdict,) = adapters.log.append([unit(event(), written=(first, second))])

    assert isinstance(verdict, Appended)
    assert adapters.models.written([first.digest, second.digest, "unknown"]) == {
        first.digest: first.body,
        second.digest: second.body,
    }
    assert adapters.models.written([]) == {}


def test_an_object_as_written_is_kept_once_for_all_that_refer_to_it(adapters: Adapters) -> None:
    one = written("{}")
    units = [unit(event(f"workload/a/{n}"), written=(one, one)) for n in range(3)]

    assert all(isinstance(verdict, Appended) for verdict in adapters.log.append(units))
    assert all(
        isinstance(verdict, Appended)
        for verdict in adapters.log.append([unit(event("workload/a/4"), written=(one,))])
    )

    assert adapters.models.written([one.digest]) == {one.digest: one.body}


def test_a_refused_append_leaves_kept_objects_as_they_were(adapters: Adapters) -> None:
    kept = written("kept")
    adapters.log.append([unit(event(), written=(kept,))])
    forged = msgspec.structs.replace(kept, body=b"forged")

    (refused,) = adapters.log.append([unit(event(), written=(forged,))])
    adapters.log.append([unit(event("workload/a/2"), written=(forged,))])

    assert isinstance(refused, AppendConflict)
    assert adapters.models.written([kept.digest]) == {kept.digest: kept.body}
