"""Object code on disk: whatever is wrong with an entry or a folder, no wrong code."""

from __future__ import annotations

import errno
import itertools
import os
import random
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import child

from dovetail.codegen.runtime import objects as module
from dovetail.codegen.runtime.objects import Objects

CODE = bytes(range(256)) * 4


@pytest.fixture
def kept(tmp_path: Path) -> Objects:
    """An empty folder for code."""
    return Objects(tmp_path / "kernels")


def files(kept: Objects) -> list[Path]:
    """Every file below a folder, entries and others."""
    assert kept.folder is not None
    return sorted(path for path in kept.folder.rglob("*") if path.is_file())


def entry(kept: Objects) -> Path:
    """The one file that there is."""
    (path,) = files(kept)
    return path


def test_what_was_put_is_there(kept: Objects) -> None:
    """Code comes back by its key, also to others, and no other key has it."""
    kept.put("a", CODE)
    assert kept.get("a") == CODE
    assert Objects(kept.folder).get("a") == CODE
    assert kept.get("b") is None


def test_only_the_user_can_write(kept: Objects) -> None:
    """Files and folders are made so that nobody else can change them."""
    before = os.umask(0)
    try:
        kept.put("a", CODE)
    finally:
        os.umask(before)
    path = entry(kept)
    for made in (path, path.parent, path.parent.parent):
        assert made.stat().st_mode & 0o077 == 0


@settings(deadline=None, derandomize=True, database=None)
@given(st.data())
def test_a_changed_entry_is_not_there(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Bytes that are changed, left out or added anywhere: refused, and written anew."""
    kept = Objects(tmp_path_factory.mktemp("kernels"))
    kept.put("a", CODE)
    path = entry(kept)
    good = path.read_bytes()
    place = data.draw(st.integers(0, len(good) - 1))
    removed = data.draw(st.integers(0, len(good) - place))
    added = data.draw(st.binary(max_size=8))
    bad = good[:place] + added + good[place + removed :]
    path.write_bytes(bad)
    assert kept.get("a") == (CODE if bad == good else None)
    kept.put("a", CODE)
    assert kept.get("a") == CODE


def test_one_bit_is_enough(kept: Objects) -> None:
    """An entry in which any one bit is another one is refused."""
    kept.put("a", CODE)
    good = entry(kept).read_bytes()
    digest = module.sha256(b"a").digest()
    assert module._unpacked(good, digest) == CODE
    for bit in range(8 * len(good)):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        assert module._unpacked(bytes(bad), digest) is None, f"bit {bit}"


def test_a_foreign_entry_is_not_there(kept: Objects) -> None:
    """An entry of another key under this name is refused, whole as it is."""
    kept.put("a", CODE)
    ours = entry(kept)
    kept.put("b", CODE[::-1])
    (other,) = set(files(kept)) - {ours}
    os.replace(other, ours)
    assert kept.get("a") is None


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda p: p.symlink_to(p)])
def test_what_is_no_file_is_not_there(
    kept: Objects, make: Callable[[Path], object]
) -> None:
    """A folder, a pipe or a link under an entry's name is refused without waiting."""
    kept.put("a", CODE)
    path = entry(kept)
    path.unlink()
    make(path)
    assert kept.get("a") is None


def test_a_link_to_an_entry_is_not_followed(kept: Objects, tmp_path: Path) -> None:
    """What a link leads to may be written by others: it is refused."""
    kept.put("a", CODE)
    path = entry(kept)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert kept.get("a") is None


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_an_entry_that_others_can_write_is_not_there(kept: Objects, mode: int) -> None:
    """A file that a group or everybody could have changed is refused."""
    kept.put("a", CODE)
    entry(kept).chmod(mode)
    assert kept.get("a") is None


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_folder_that_others_can_write_is_not_used(
    kept: Objects, mode: int, level: int
) -> None:
    """Nothing is read from a folder that others can write to, nothing put there."""
    kept.put("a", CODE)
    entry(kept).parents[level].chmod(mode)
    again = Objects(kept.folder)
    assert again.get("a") is None
    with pytest.warns(RuntimeWarning, match="others own it or can write there"):
        again.put("a", CODE)


def test_what_another_user_owns_is_not_used(
    kept: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code is not run that somebody else has written, in his folder or in ours."""
    kept.put("a", CODE)
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert kept.get("a") is None  # a folder that was ours, with another's file
    assert Objects(kept.folder).get("a") is None
    with pytest.warns(RuntimeWarning, match="others own it"):
        Objects(kept.folder).put("a", CODE)


def fail_with(number: int) -> Callable[..., None]:
    """A function that fails as the system does."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


class Full:
    """A file on a disk that is full: half of what is written arrives."""

    def __init__(self, place: int, mode: str) -> None:
        self.place = place

    def __enter__(self) -> Full:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.place)

    def write(self, data: bytes) -> None:
        """Write half, and fail."""
        os.write(self.place, data[: len(data) // 2])
        fail_with(errno.ENOSPC)()


FAULTS: dict[str, tuple[object, str, object]] = {
    "full disk": (module, "open", Full),
    "read-only folder": (Path, "unlink", fail_with(errno.EROFS)),
    "no right to make it": (Path, "mkdir", fail_with(errno.EACCES)),
    "no rename": (os, "replace", fail_with(errno.EDQUOT)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_one_warning_where_nothing_can_be_kept(
    kept: Objects, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """A full disk or a folder that is read-only: one warning, nothing left behind."""
    where, name, broken = FAULTS[fault]
    monkeypatch.setattr(where, name, broken, raising=False)
    with pytest.warns(RuntimeWarning, match="DOVETAIL_KERNEL_CACHE may name") as seen:
        kept.put("a", CODE)
    assert len(seen) == 1
    for key in "abc":
        kept.put(key, CODE)
    monkeypatch.undo()
    assert kept.get("a") is None
    assert files(kept) == []


def test_what_is_there_is_read_where_nothing_can_be_written(
    kept: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is full or read-only still gives what it has."""
    kept.put("a", CODE)
    again = Objects(kept.folder)
    monkeypatch.setattr(Path, "unlink", fail_with(errno.EROFS))
    monkeypatch.setattr(os, "utime", fail_with(errno.EROFS))
    with pytest.warns(RuntimeWarning):
        again.put("b", CODE)
    assert again.get("a") == CODE


def test_the_bound_holds(tmp_path: Path) -> None:
    """After every write all entries together have at most the bytes that they may."""
    kept = Objects(tmp_path, limit=16 * 5000)
    draws = random.Random(0)
    for i in range(400):
        kept.put(f"key {i}", draws.randbytes(draws.randrange(1, 1500)))
        assert sum(path.stat().st_size for path in files(kept)) <= 16 * 5000
    assert len(files(kept)) > 60
    kept.put("large", bytes(5000))
    assert kept.get("large") is None


def test_what_was_used_last_stays(tmp_path: Path) -> None:
    """What makes room is the entry that was read or written longest ago."""
    kept = Objects(tmp_path, limit=16 * 5000)
    kept.put("used", bytes(1000))
    for i in range(200):
        os.utime(tmp_path / entry_name("used"), ns=(0, 0))
        assert kept.get("used") is not None, i
        kept.put(f"key {i}", bytes(1000))
    assert kept.get("key 0") is None


def entry_name(key: str) -> Path:
    """Where the entry of a key is, below the folder."""
    name = module.sha256(key.encode()).hexdigest()
    return Path(name[0]) / name


def test_folders_are_looked_at_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write does not take the longer the more there is."""
    looks = []
    sound = os.scandir
    monkeypatch.setattr(
        os, "scandir", lambda path: (looks.append(path), sound(path))[1]
    )
    kept = Objects(tmp_path, limit=16 << 20)
    for i in range(512):
        kept.put(f"key {i}", CODE)
    assert 16 <= len(looks) <= 48  # 512 is 32 for each of 16 folders


def test_what_others_write_is_seen(tmp_path: Path) -> None:
    """Two processes that fill one folder have little more in it than one may have."""
    limit, size = 20_000, 100
    writers = [Objects(tmp_path, limit=16 * limit) for _ in range(2)]
    keys = (f"key {i}" for i in itertools.count())
    for turn in range(500):
        key = next(k for k in keys if entry_name(k).parent.name == "0")
        writers[turn % 2].put(key, bytes(size - module._HEADER))
        total = sum(path.stat().st_size for path in files(writers[0]))
        assert total <= limit + 2 * module._UNSEEN * size, turn


def test_what_nobody_finishes_goes(kept: Objects) -> None:
    """Files of writers that died go after an hour, those of living ones do not."""
    kept.put("a", CODE)
    shard = entry(kept).parent
    old, new = shard / ".unfinished-old", shard / ".unfinished-new"
    other = shard / "something else"
    for path in (old, new, other):
        path.write_bytes(b"half")
        os.utime(path, (1, 1) if path != new else None)
    Objects(kept.folder).put("a", CODE)
    assert not old.exists()
    assert new.exists()
    assert other.exists()


def test_off_keeps_nothing(tmp_path: Path) -> None:
    """Without a folder nothing is kept, and nobody is warned."""
    kept = Objects(None)
    kept.put("a", CODE)
    assert kept.get("a") is None


CHOICE = """
import os, sys, warnings
warnings.simplefilter("always")
from dovetail.codegen.runtime.objects import objects
if len(sys.argv) > 1:
    import pwd
    def nobody(uid): raise KeyError(uid)
    pwd.getpwuid = nobody
    os.environ.pop("HOME", None)
print(objects().folder)
"""


def chosen(*arguments: str, **environ: str) -> tuple[str, str]:
    """The folder that a new process chooses, and what it warns of."""
    done = child.python("-c", CHOICE, *arguments, **environ)
    return done.stdout.strip(), done.stderr


def test_the_folder_is_the_users_cache(tmp_path: Path) -> None:
    """It is below the cache folder that the system's conventions name."""
    found = chosen(XDG_CACHE_HOME=str(tmp_path), DOVETAIL_KERNEL_CACHE="")
    assert found == (f"{tmp_path}/dovetail/kernels", "")


def test_no_home_is_no_folder() -> None:
    """A user without a home keeps nothing, and is told so once."""
    folder, warned = chosen("no home", XDG_CACHE_HOME="", DOVETAIL_KERNEL_CACHE="")
    assert folder == "None"
    assert warned.count("kernels are not kept on disk: ") == 1


@pytest.mark.parametrize("wish", ["off", "/some/where"])
def test_the_variable_decides(monkeypatch: pytest.MonkeyPatch, wish: str) -> None:
    """`DOVETAIL_KERNEL_CACHE` names a folder, or switches it off."""
    monkeypatch.setenv("DOVETAIL_KERNEL_CACHE", wish)
    folder = module.objects.__wrapped__().folder
    assert folder == (None if wish == "off" else Path(wish))


CROWD = """
import os, random, signal, sys, time
from pathlib import Path
from dovetail.codegen.runtime.objects import Objects

folder = Path(sys.argv[1])
small = 16 * 20_000

def code(key):
    return random.Random(key).randbytes(1 + key * 37 % 3000)

def work(number, killed):
    draws = random.Random(number)
    kept = Objects(folder, small)
    end = time.monotonic() + 60
    for turn in range(10**9 if killed else 12):
        key = draws.randrange(60)
        found = kept.get(str(key))
        assert found in (None, code(key)), (number, key)
        kept.put(str(key), code(key))
        if time.monotonic() > end:
            break

def child(number, killed=False):
    process = os.fork()
    if process:
        return process
    try:
        work(number, killed)
        os._exit(0)
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)
        os._exit(1)

crowd = [child(number) for number in range(200)]
doomed = [child(number, killed=True) for number in range(200, 208)]
states = [os.waitpid(process, 0)[1] for process in crowd]
draws = random.Random(0)
for process in doomed:
    time.sleep(draws.random() / 50)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
kept = Objects(folder, small)
found = [kept.get(str(key)) for key in range(60)]
size = sum(p.stat().st_size for p in folder.rglob("?" * 64))
print(sum(states), sum(f is not None for f in found), size <= small)
assert all(f in (None, code(key)) for key, f in enumerate(found))
"""


def test_two_hundred_processes_and_some_that_are_killed(tmp_path: Path) -> None:
    """All fill one folder at once: each reads what was written, or nothing."""
    done = child.python(
        "-W", "error", "-c", CROWD, tmp_path / "kernels", OPENBLAS_NUM_THREADS="1"
    )
    states, found, bounded = done.stdout.split()
    assert (states, bounded) == ("0", "True")
    assert int(found) > 40
    assert done.stderr == ""


def test_the_same_code_from_everywhere(tmp_path: Path) -> None:
    """Two processes with folders of their own write the same bytes."""
    code = """
from dovetail.codegen import runtime
runtime.kernel("f", "define void @f(ptr %a, i64 %l, i64 %h) {\\nret void\\n}")
"""
    written = []
    for name in "ab":
        child.python("-c", code, DOVETAIL_KERNEL_CACHE=str(tmp_path / name))
        (path,) = (p for p in (tmp_path / name).rglob("*") if p.is_file())
        written.append((path.name, path.read_bytes()))
    assert written[0] == written[1]


def test_a_kernel_comes_from_disk_or_is_compiled_anew(tmp_path: Path) -> None:
    """A second process loads what a first one compiled, unless it is spoilt."""
    code = """
from dovetail.codegen import runtime
runtime.kernel("f", "define void @f(ptr %a, i64 %l, i64 %h) {\\nret void\\n}")
"""
    folder = {"DOVETAIL_KERNEL_CACHE": str(tmp_path), "DOVETAIL_LOG": "kernels"}
    said = []
    for turn in range(3):
        said.append(child.python("-c", code, **folder).stderr.split()[-6])
        if turn == 1:
            (path,) = (p for p in tmp_path.rglob("*") if p.is_file())
            path.write_bytes(path.read_bytes()[:-1])
    assert said == ["compiled", "loaded", "compiled"]


def test_no_warning_in_passing(kept: Objects) -> None:
    """Keeping and reading code warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept.put("a", CODE)
        kept.get("a")
