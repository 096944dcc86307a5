"""Files written whole: what they replace, what they leave, where they cannot be."""

from __future__ import annotations

import errno
import os
import pickle
import stat
import threading
import time
from pathlib import Path

import pytest
from tests.support import child

import dovetail as dt
from dovetail.errors import FileError
from dovetail.io.whole_files import replacing

pytestmark = pytest.mark.skipif(os.name != "posix", reason="files of POSIX")


def put(path: Path, text: str = "new") -> None:
    with replacing(path) as draft:
        draft.write_text(text)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755, 0o666])
def test_the_mode_is_kept(mode: int, tmp_path: Path) -> None:
    """A file that is replaced has the mode that it had."""
    path = tmp_path / "x"
    path.touch()
    path.chmod(mode)
    dt.save(dt.ones(2), path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert dt.load(path).tolist() == [1.0, 1.0]


def test_nobody_reads_a_private_file_meanwhile(tmp_path: Path) -> None:
    """What replaces a private file is private while it is written."""
    path = tmp_path / "x"
    path.touch()
    path.chmod(0o600)
    with replacing(path) as draft:
        assert stat.S_IMODE(draft.stat().st_mode) == 0o600


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    """Saving to a FIFO is read at its other end; it stays a FIFO."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    dt.save({"x": dt.ones(3)}, path)
    reader.join(20)
    assert stat.S_ISFIFO(path.stat().st_mode)
    (tmp_path / "copy").write_bytes(read[0])
    assert dt.load(tmp_path / "copy")["x"].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
def test_a_full_device() -> None:
    """A device is written to, and its error names it."""
    with pytest.raises(FileError, match="save: '/dev/full' is No space left") as caught:
        dt.save(dt.ones(2), "/dev/full")
    assert caught.value.errno == errno.ENOSPC
    assert isinstance(caught.value, OSError)
    assert pickle.loads(pickle.dumps(caught.value)).errno == errno.ENOSPC
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


LIMITED = """
import resource, signal, sys
import dovetail as dt
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
try:
    dt.save(dt.zeros(1 << 20), sys.argv[1])
except dt.errors.FileError as error:
    print(error.errno, error)
"""


def test_a_file_that_does_not_fit(tmp_path: Path) -> None:
    """Where the system refuses to go on, the old file is there and nothing else."""
    path = tmp_path / "x"
    dt.save(1, path)
    said = child.printed(LIMITED, str(path))
    assert said.startswith(f"{errno.EFBIG} save: {str(path)!r} is File too large")
    assert dt.load(path) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_links_in_a_circle(tmp_path: Path) -> None:
    """A circle of links is told of; a dangling one leads to the new file."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(FileError, match="needed links that lead to a file"):
        dt.save(1, tmp_path / "a")
    (tmp_path / "link").symlink_to("target")
    dt.save(2, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert dt.load(tmp_path / "target") == 2


def test_a_folder(tmp_path: Path) -> None:
    """A folder is not replaced."""
    with pytest.raises(FileError, match="needed the path of a file"):
        dt.save(1, tmp_path)


def test_no_folder(tmp_path: Path) -> None:
    """Python's own error says that the folder is not there."""
    with pytest.raises(FileNotFoundError):
        dt.save(1, tmp_path / "none" / "x")


def test_long_names(tmp_path: Path) -> None:
    """A name may be as long as the system allows; a longer one is refused."""
    path = tmp_path / ("n" * 255)
    dt.save(3, path)
    assert dt.load(path) == 3
    with pytest.raises(FileError, match="needed a shorter name"):
        dt.save(3, tmp_path / ("n" * 256))


CLOSED = """
import os, sys
import dovetail as dt
first = os.path.join(sys.argv[1], "there")
dt.save(dt.ones(1), first)
dt.load(first)
os.chmod(sys.argv[1], 0o555)
if os.geteuid() == 0:  # to whom nothing is closed; all is imported now
    os.setuid(65534)
for name in "there", "new":
    try:
        dt.save(dt.ones(2), os.path.join(sys.argv[1], name))
        print(dt.load(os.path.join(sys.argv[1], name)).tolist())
    except PermissionError:
        print("refused")
"""


def test_a_folder_that_takes_no_files(tmp_path: Path) -> None:
    """A file that may be written is, also where no new one can be made."""
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder.stat().st_uid == os.getuid():
            folder.chmod(folder.stat().st_mode | 0o055)
    (tmp_path / "there").touch()
    (tmp_path / "there").chmod(0o666)
    try:
        assert child.printed(CLOSED, str(tmp_path)).split("\n")[:2] == [
            "[1.0, 1.0]",
            "refused",
        ]
    finally:
        tmp_path.chmod(0o755)


KILLED = """
import os, signal, sys
import dovetail as dt
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
dt.save(dt.ones(1000), sys.argv[1])
"""


def test_leftovers_of_killed_savers(tmp_path: Path) -> None:
    """What killed savers left, the next save into the folder removes."""
    path = tmp_path / "x"
    dt.save(1, path)
    for _ in range(3):
        child.python("-c", KILLED, path, status=-9)
    assert len(list(tmp_path.iterdir())) == 2  # the second removes the first's
    dt.save(2, tmp_path / "other")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "x"]
    assert dt.load(path) == 1


def test_others_that_write_are_left_alone(tmp_path: Path) -> None:
    """Files of writers that are there, and of other programs, stay."""
    (tmp_path / ".dovetail-notes.tmp").touch()
    with replacing(tmp_path / "x") as draft:
        put(tmp_path / "y")
        assert draft.exists()
        draft.write_text("x")
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        ".dovetail-notes.tmp", "x", "y",
    ]  # fmt: skip


@pytest.mark.parametrize(("hours", "stays"), [(1, True), (30, False)])
def test_leftovers_of_other_machines(hours: int, stays: bool, tmp_path: Path) -> None:
    """Whether a writer elsewhere is alive cannot be asked: its file's age decides."""
    path = tmp_path / ".dovetail-00000000-1-0123456789ab.tmp"
    path.touch()
    then = time.time() - hours * 3600
    os.utime(path, (then, then))
    put(tmp_path / "x")
    assert path.exists() is stays
