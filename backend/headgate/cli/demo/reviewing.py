"""The controller of the demo's admission check: it thinks for a while, then has its say."""

from headgate.adapters.system.chance import seeded
from headgate.cli.demo.teams import CHECK
from headgate.cli.replay.arrivals import Object
from headgate.client.client import HeadgateClient

RETRY_RATE = 0.1
REJECTED_RATE = 0.03
RETRY_AFTER_SECONDS = 20


def serve_check(client: HeadgateClient) -> None:
    """Tell that somebody answers for the check, without which its queues admit nothing."""
    client.act(f"/v1/admissionchecks/{CHECK}/report", {"active": True})


def review(client: HeadgateClient) -> None:
    """Answer for everyone who has quota and waits for the check."""
    for found in client.items("/v1/workloads", {"phase": "QuotaReserved"}):
        checks = found["status"].get("admissionChecks", ())
        if any(each["name"] == CHECK and each["state"] == "Pending" for each in checks):
            metadata = found["metadata"]
            path = f"/v1/namespaces/{metadata['namespace']}/workloads/{metadata['name']}"
            client.act(f"{path}/admissionchecks/{CHECK}", _verdict(found))


def _verdict(found: Object) -> Object:
    """The same for the same workload and try, so that a second look changes nothing."""
    uid = found["metadata"]["uid"]
    tries = found["status"].get("requeuedCount", 0)
    fate = seeded("review", uid, tries).random()
    if fate < REJECTED_RATE:
        return {"uid": uid, "state": "Rejected", "message": "This robot must not run this"}
    if fate < REJECTED_RATE + RETRY_RATE:
        message = "The test floor is occupied; ask again later"
        wait = {"requeueAfterSeconds": RETRY_AFTER_SECONDS}
        return {"uid": uid, "state": "Retry", "message": message, **wait}
    return {"uid": uid, "state": "Ready", "message": "Safe to run on the test floor"}
