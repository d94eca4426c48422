"""Uploads in S3-compatible object storage: an object for each namespace and digest."""

from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from headgate.adapters.pod_logs.object_storage import UPLOADS, open_client
from headgate.application.ports import Unavailable
from headgate.application.uploads import StoredUpload, UploadKey

PIECE_BYTES = 1 << 20
MISSING = frozenset({"404", "NoSuchKey"})


class ObjectUploadStore:
    """Fills the port `UploadStore`, beside the pod logs of the same bucket and prefix."""

    def __init__(self, bucket: str, prefix: str, endpoint: str) -> None:
        self._bucket = bucket
        self._prefix = f"{prefix.strip('/')}/{UPLOADS}".lstrip("/")
        self._endpoint = endpoint

    def put(self, key: UploadKey, source: Path) -> None:
        """Keep the content of a file whole or not at all; equal content is kept once."""
        with _failures(), closing(open_client(self._endpoint)) as client, source.open("rb") as body:
            client.put_object(Bucket=self._bucket, Key=self._name(key), Body=body)

    def touch(self, key: UploadKey) -> bool:
        """Note that the upload is used now, by a copy onto itself; False where there is none."""
        name = self._name(key)
        with closing(open_client(self._endpoint)) as client:
            try:
                client.copy_object(
                    Bucket=self._bucket,
                    Key=name,
                    CopySource={"Bucket": self._bucket, "Key": name},
                    MetadataDirective="REPLACE",
                )
            except ClientError as failure:
                if failure.response.get("Error", {}).get("Code") in MISSING:
                    return False
                raise Unavailable(f"uploads: {failure}") from failure
            except BotoCoreError as failure:
                raise Unavailable(f"uploads: {failure}") from failure
        return True

    def read(self, key: UploadKey) -> Iterator[bytes] | None:
        """The content in pieces; None where there is none."""
        return self._pieces(key) if self.touch(key) else None

    def stored(self) -> list[StoredUpload]:
        """Every upload there is, in order."""
        found = []
        with _failures(), closing(open_client(self._endpoint)) as client:
            pages = client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=self._prefix
            )
            for page in pages:
                for listed in page.get("Contents", ()):
                    namespace, _, digest = listed["Key"][len(self._prefix) :].partition("/")
                    key = UploadKey(namespace=namespace, digest=digest)
                    used_at = int(listed["LastModified"].timestamp() * 1_000_000)
                    found.append(StoredUpload(key=key, used_at=used_at))
        return sorted(found, key=lambda each: each.key)

    def remove(self, keys: Collection[UploadKey]) -> None:
        """Delete uploads; unknown ones are passed over."""
        with _failures(), closing(open_client(self._endpoint)) as client:
            for key in keys:
                client.delete_object(Bucket=self._bucket, Key=self._name(key))

    def _pieces(self, key: UploadKey) -> Iterator[bytes]:
        with _failures(), closing(open_client(self._endpoint)) as client:
            found = client.get_object(Bucket=self._bucket, Key=self._name(key))
            with closing(found["Body"]) as body:
                yield from body.iter_chunks(PIECE_BYTES)

    def _name(self, key: UploadKey) -> str:
        return f"{self._prefix}{key.namespace}/{key.digest}"


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError) as failure:
        raise Unavailable(f"uploads: {failure}") from failure
