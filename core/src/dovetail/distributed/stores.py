"""Keys and values that processes of a group share: here, of one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from dovetail.errors import NotSupported


class Store:
    """Keys with values, which are bytes; whoever asks for a key waits for it."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._changed = threading.Condition()
        self.timeout = timedelta(seconds=300)

    def set_timeout(self, timeout: timedelta) -> None:
        """Wait at most as long."""
        self.timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Give a key a value."""
        with self._changed:
            self._values[key] = value.encode() if isinstance(value, str) else value
            self._changed.notify_all()

    def get(self, key: str) -> bytes:
        """The value of a key, once it has one.

        Raises: DistStoreError if it has none in time.
        """
        self.wait([key])
        return self._values[key]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys have values.

        Raises: DistStoreError if they have none in time.
        """
        seconds = (timeout or self.timeout).total_seconds()
        with self._changed:
            if not self._changed.wait_for(lambda: self.check(keys), seconds):
                raise DistStoreError(
                    f"wait timeout after {seconds} s, keys: {', '.join(keys)}"
                )

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys have values."""
        return all(key in self._values for key in keys)

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which is 0 at first, and give the sum."""
        with self._changed:
            total = int(self._values.get(key, b"0")) + amount
            self._values[key] = str(total).encode()
            self._changed.notify_all()
        return total

    def append(self, key: str, value: str) -> None:
        """Add to the end of a value."""
        with self._changed:
            self.set(key, self._values.get(key, b"") + value.encode())

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        """Give a key another value if it has the expected one, which may be ""."""
        with self._changed:
            now = self._values.get(key)
            if now == expected.encode() or (now is None and not expected):
                self.set(key, desired)
            return self._values.get(key, expected.encode())

    def delete_key(self, key: str) -> bool:
        """Take a key out; whether it was there."""
        return self._values.pop(key, None) is not None

    def num_keys(self) -> int:
        """How many keys there are."""
        return len(self._values)


class HashStore(Store):
    """A store in memory."""


def _alone(name: str, world_size: Any) -> None:
    if world_size not in (None, -1, 1):
        raise NotSupported(
            name, "world_size", was=world_size, needed="1",
            remedy="run the program with one process: stores are not shared yet",
        )  # fmt: skip


class FileStore(Store):
    """A store that torch keeps in a file, and one process in memory.

    Raises: NotSupported for several processes.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        _alone("FileStore", world_size)
        self.path = file_name


class TCPStore(Store):
    """A store that torch keeps in a server, and one process in memory.

    Raises: NotSupported for several processes, or a server elsewhere.
    """

    def __init__(
        self, host_name: str, port: int, world_size: int | None = None,
        is_master: bool = False, timeout: timedelta = timedelta(seconds=300),
        wait_for_workers: bool = True, multi_tenant: bool = False,
        master_listen_fd: int | None = None, use_libuv: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        _alone("TCPStore", world_size)
        if not is_master:
            raise NotSupported(
                "TCPStore", "is_master", was="False", needed="True",
                remedy="run the program with one process: stores are not shared yet",
            )  # fmt: skip
        self.host, self.port, self.timeout = host_name, port, timeout


class PrefixStore(Store):
    """A store in another one, whose keys begin with a text."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self._prefix, self.underlying_store = prefix, store
        self._values = _Prefixed(prefix, store._values)
        self._changed = store._changed


class _Prefixed(dict[str, bytes]):
    """The values of another dict, whose keys begin with a text."""

    def __init__(self, prefix: str, values: dict[str, bytes]) -> None:
        super().__init__()
        self.prefix, self.values_ = prefix, values

    def _key(self, key: Any) -> str:
        return f"{self.prefix}/{key}"

    def __contains__(self, key: object) -> bool:
        return self._key(key) in self.values_

    def __getitem__(self, key: str) -> bytes:
        return self.values_[self._key(key)]

    def __setitem__(self, key: str, value: bytes) -> None:
        self.values_[self._key(key)] = value

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key."""
        return self.values_.get(self._key(key), default)

    def pop(self, key: str, default: Any = None) -> Any:
        """Take a key out."""
        return self.values_.pop(self._key(key), default)

    def __len__(self) -> int:
        return sum(key.startswith(f"{self.prefix}/") for key in self.values_)


class DistError(RuntimeError):
    """What goes wrong between processes."""


class DistBackendError(DistError):
    """What goes wrong in what carries data."""


class DistNetworkError(DistError):
    """What goes wrong in a network."""


class DistStoreError(DistError):
    """What goes wrong in a store."""


class QueueEmptyError(DistStoreError):
    """A queue of a store was empty."""
