"""`dovetail.save` and `load`: what is kept, what is refused, what a crash leaves."""

from __future__ import annotations

import base64
import io
import json
import math
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import time
from argparse import Namespace
from collections import Counter, OrderedDict, defaultdict
from contextlib import suppress
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail import dtypes, nn, optim
from dovetail.engine.tensor import Tensor
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DovetailError,
    DTypeError,
    FileFormatError,
    NotSupported,
)

law = settings(deadline=None, database=None, derandomize=True, max_examples=40)


def kept(obj: Any, **options: Any) -> Any:
    """What a file of `obj` holds."""
    file = io.BytesIO()
    dt.save(obj, file)
    file.seek(0)
    return dt.load(file, **options)


def content(path: Path) -> Any:
    """The numbers of a file with one tensor."""
    return set(dt.load(path)["x"].tolist())


def bits(x: Tensor) -> bytes:
    """The elements, bit for bit."""
    return x._kind.backend.copy_out(x._a).tobytes()


def same(a: Any, b: Any) -> bool:
    """Whether two objects agree in classes, order and every bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Tensor):
        of = [(x.dtype, x.shape, x.device, x.requires_grad, bits(x)) for x in (a, b)]
        return of[0] == of[1]
    if isinstance(a, np.ndarray | np.generic):
        of = [(x.dtype, x.shape, x.tobytes()) for x in (a, b)]
        return of[0] == of[1]
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, complex):
        return same((a.real, a.imag), (b.real, b.imag))
    return bool(a == b)


@st.composite
def tensors(draw: Any) -> Tensor:
    """Tensors of any dtype with random bits."""
    dtype = draw(st.sampled_from(dtypes.ALL))
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    if dtype is dt.bool:
        host = rng.integers(0, 2, shape).astype(bool)
    else:
        size = dtype.itemsize * math.prod(shape)
        host = np.frombuffer(rng.bytes(size), dtype.numpy).reshape(shape).copy()
    x = dt.from_numpy(host)
    x.requires_grad = dtype.is_inexact and draw(st.booleans())
    return nn.Parameter(x, x.requires_grad) if draw(st.booleans()) else x


@st.composite
def arrays(draw: Any) -> Any:
    """NumPy's arrays, in any layout, and its numbers."""
    host = draw(tensors().filter(lambda x: x.dtype in dtypes.ANY)).detach().numpy()
    if host.ndim and draw(st.booleans()):
        host = host[::-1].swapaxes(0, -1)
    return host[()] if not host.ndim and draw(st.booleans()) else host


KEYS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=3),
    st.floats(allow_nan=False), st.binary(max_size=3),
    st.tuples(st.integers(), st.text(max_size=2)),
)  # fmt: skip
LEAVES = st.one_of(
    tensors(), arrays(), KEYS, st.floats(), st.complex_numbers(),
    st.text(st.characters()),
    st.sampled_from([dt.bfloat16, dt.device("cuda:1"), dt.Size([2, 3]), 2**200]),
    st.frozensets(st.integers()), st.sets(st.text(max_size=2)),
)  # fmt: skip
OBJECTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(KEYS, inner, max_size=3),
        st.dictionaries(KEYS, inner, max_size=3).map(OrderedDict),
    ),
    max_leaves=8,
)


@given(OBJECTS)
@law
def test_everything_is_kept(obj: Any) -> None:
    """Classes, order, keys and every bit come back."""
    assert same(kept(obj), obj)


def test_counters_and_versions() -> None:
    """Counters are kept, and the versions that a state dict carries."""
    state = nn.BatchNorm1d(2).state_dict()
    again = kept([Counter("aab"), state])
    assert (type(again[0]), again[0]) == (Counter, Counter("aab"))
    assert again[1]._metadata == state._metadata


def test_what_shares_memory_shares_it_again() -> None:
    """One tensor is one afterwards; views are views; apart stays apart."""
    x = dt.arange(12.0).reshape(3, 4)
    a, b, row, column, data = kept([x, x, x[1], x[:, 2].t(), x.data])
    assert a is b
    assert row.stride() == (1,)
    row.fill_(-1)
    assert column.tolist() == [2.0, -1.0, 10.0]
    data.zero_()
    assert a.tolist() == dt.zeros(3, 4).tolist()


@given(st.data())
@law
def test_views_in_several_dtypes(data: Any) -> None:
    """What looks at the same bytes in another dtype does so after loading."""
    x = dt.arange(16, dtype=dt.int32)
    looks = [x]
    for _ in range(data.draw(st.integers(1, 3))):
        dtype = data.draw(st.sampled_from([dt.uint8, dt.int16, dt.float32, dt.int64]))
        start = data.draw(st.integers(0, 4))
        looks.append(x.view(dtype)[start : start + data.draw(st.integers(1, 9))])
    chosen = data.draw(st.permutations(looks))
    again = kept(chosen)
    assert same(again, chosen)
    again[0].fill_(1)
    chosen[0].fill_(1)
    assert same(again, chosen)


def test_views_apart_are_written_apart(tmp_path: Path) -> None:
    """Of a large memory only what is used is written, in plain form."""
    x = dt.arange(1e6)
    dt.save({"first": x[:2], "last": x[-2:], "few": x[5::300_000]}, tmp_path / "x")
    assert os.path.getsize(tmp_path / "x") < 2000
    assert dt.io.load_file(tmp_path / "x")["last"].tolist() == [999998.0, 999999.0]
    assert dt.load(tmp_path / "x")["few"].tolist() == x[5::300_000].tolist()


def test_tied_tensors_lie_in_the_file_once(tmp_path: Path) -> None:
    """What shares the memory of a whole tensor adds nothing to it."""
    x = dt.arange(6.0).reshape(2, 3)
    dt.save({"row": x[1], "x": x, "again": x.detach()}, tmp_path / "x")
    found = dt.io.load_file(tmp_path / "x")
    assert {name: y.tolist() for name, y in found.items()} == {"x": x.tolist()}


def test_strides_are_kept_where_there_are_no_gaps() -> None:
    """A transposed tensor is one afterwards, an expanded one takes no more room."""
    x, y = kept([dt.ones(2, 3).t(), dt.ones(2, 1).expand(2, 1000)])
    assert (x.stride(), y.stride()) == ((1, 3), (1, 0))


def test_meta() -> None:
    """A tensor without data is kept without."""
    x = kept(dt.ones(2, 3, device="meta").t(), map_location="cpu")
    assert (x.is_meta, x.shape) == (True, (3, 2))


def net_and_optimizer(name: str) -> tuple[nn.Module, Any, Any]:
    dt.manual_seed(1)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    options = {"momentum": 0.9} if name == "SGD" else {}
    optimizer = getattr(optim, name)(net.parameters(), lr=0.01, **options)
    return net, optimizer, optim.lr_scheduler.MultiStepLR(optimizer, [2, 4])


def train(net: Any, optimizer: Any, scheduler: Any, steps: int) -> list[float]:
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (net(dt.rand(4, 3)) ** 2).sum()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_training_resumes(name: str, tmp_path: Path) -> None:
    """From a checkpoint, training goes on bit for bit as it would have."""
    parts = net_and_optimizer(name)
    train(*parts, 3)
    states = [part.state_dict() for part in parts]
    dt.save({"parts": states, "rng": dt.get_rng_state()}, tmp_path / "x")
    went_on = train(*parts, 3)
    found = dt.load(tmp_path / "x")
    assert list(found["parts"][0]) == list(states[0])
    assert {type(key) for key in found["parts"][1]["state"]} == {int}
    again = net_and_optimizer(name)
    for part, state in zip(again, found["parts"], strict=True):
        part.load_state_dict(state)
    dt.set_rng_state(found["rng"])
    assert train(*again, 3) == went_on


def test_map_location() -> None:
    """A device, a dict, or a function says where tensors go."""
    obj = {"x": dt.ones(2), "y": dt.ones(1, device="meta")}
    seen = []

    def chosen(x: Tensor, where: str) -> None:
        seen.append((x.tolist(), x.device.type, where))

    for where in ("cpu", dt.device("cpu"), {"cpu": "cpu"}, {}, chosen):
        assert same(kept(obj, map_location=where)["x"], obj["x"])
    assert seen == [([1.0, 1.0], "cpu", "cpu")]
    for there in ("meta", {"cpu": "meta"}, lambda x, _: x.to("meta")):
        assert kept(obj, map_location=there)["x"].is_meta
    with dt.io.map_location("meta"):
        assert kept(obj)["x"].is_meta
        assert not kept(obj, map_location="cpu")["x"].is_meta


def test_the_users_own_error_passes_through() -> None:
    """What a function given as `map_location` raises is no fault of the file."""
    with pytest.raises(KeyError, match="mine"):
        kept(dt.ones(1), map_location=lambda *_: {}["mine"])


class _Unpicklable(nn.Module):
    """A module with a function that no pickle can name."""

    def __init__(self) -> None:
        super().__init__()
        self.act = lambda x: x


UNFIT = {
    "module": (_Unpicklable(), r"the _Unpicklable is not picklable.*state_dict\(\)"),
    "optimizer": (
        [dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)],
        r"obj\[0\] is a SGD.*state_dict\(\)",
    ),
    "generator": ((dt.Generator(),), r"obj\[0\] is a Generator.*get_state\(\)"),
    "array": (np.array(["a"]), r"obj is a ndarray.*\.astype"),
    "byte order": (np.ones(2, ">f4"), r"obj is a ndarray.*\.astype"),
    "scalar": ({1: np.datetime64(1, "s")}, r"obj\[1\] is a datetime64.*\.astype"),
    "function": ([lambda: 0], r"function is not picklable.*keep it out"),
    "subclass": ([type("Mine", (dict,), {})()], r"the Mine is not picklable"),
    "tensor": ([dt.ones(1).as_subclass(type("Own", (Tensor,), {}))], "a Own.*pickle"),
    "key": ({"a": {dt.ones(1): 1}}, r"a key of obj\['a'\] is a Tensor"),
}


@pytest.mark.parametrize("what", UNFIT)
def test_what_a_file_cannot_hold(what: str, tmp_path: Path) -> None:
    """An object that is none of ours is refused by its place, and nothing written."""
    obj, message = UNFIT[what]
    with pytest.raises(ArgumentTypeError, match=message):
        dt.save(obj, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_circles() -> None:
    """A container that holds itself is refused."""
    obj: list[Any] = [1, {}]
    obj[1]["me"] = obj
    with pytest.raises(ArgumentError, match=r"obj\[1\]\['me'\] is the list"):
        kept(obj)


# ---- files that are none, or damaged


@pytest.fixture(scope="module")
def whole() -> bytes:
    """A small file."""
    file = io.BytesIO()
    x = dt.arange(6.0).reshape(2, 3)
    dt.save({"x": x, "rows": (x[0], x[1:].t()), 3: [1.5, {"z": 1j}]}, file)
    return file.getvalue()


def test_every_cut_is_noticed(whole: bytes) -> None:
    """A file cut short anywhere is refused, and the error says so."""
    for end in {*range(0, len(whole), 7), len(whole) - 1}:
        with pytest.raises(FileFormatError, match=f"is {end} bytes .* cut short"):
            dt.load(io.BytesIO(whole[:end]))


@given(data=st.data())
@settings(law, max_examples=150)
def test_no_damage_leads_anywhere_else(whole: bytes, data: Any) -> None:
    """Whatever is changed in a file, loading returns or raises an error of ours."""
    changed = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(whole) - 1))
        changed[place] = data.draw(st.integers(0, 255))
    with suppress(DovetailError):
        dt.load(io.BytesIO(bytes(changed)))


def with_tables(whole: bytes, change: Any) -> io.BytesIO:
    """The file with other tables in its header."""
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    tables = json.loads(header["__metadata__"]["dovetail"])
    change(tables)
    header["__metadata__"]["dovetail"] = json.dumps(tables)
    text = json.dumps(header).encode()
    return io.BytesIO(len(text).to_bytes(8, "little") + text + whole[8 + length :])


def test_the_tables_can_be_changed(whole: bytes) -> None:
    """What the next tests change is what is read."""
    assert same(dt.load(with_tables(whole, dict)), dt.load(io.BytesIO(whole)))


EVIL: dict[str, Any] = {
    "beyond the end": lambda t: t["tensors"][2].update(offset=4),
    "before the start": lambda t: t["tensors"][2].update(strides=[-2, 3]),
    "enormous strides": lambda t: t["tensors"][2].update(strides=[1 << 70, 0]),
    "enormous shape": lambda t: t["tensors"][0].update(shape=[0, 1 << 70]),
    "negative size": lambda t: t["tensors"][0].update(shape=[-2, -3]),
    "no integers": lambda t: t["tensors"][0].update(shape=[2.0, 3.0]),
    "too few strides": lambda t: t["tensors"][2].update(strides=[]),
    "another dtype": lambda t: t["memories"][0].update(dtype="int32"),
    "no dtype": lambda t: t["memories"][0].update(dtype="float31"),
    "more elements": lambda t: t["memories"][0].update(size=60),
    "no values": lambda t: t["memories"][0].pop("name"),
    "no such memory": lambda t: t["tensors"][0].update(memory=7),
    "no such values": lambda t: t["memories"][0].update(name="y"),
    "no such tensor": lambda t: t.update(tree={"tensor": 9}),
    "the last tensor": lambda t: t.update(tree={"tensor": -1}),
    "no such container": lambda t: t.update(tree={"eval": "1"}),
    "no tree": lambda t: t.pop("tree"),
    "unhashable key": lambda t: t.update(tree={"dict": [[[1], 2]]}),
    "no tables": lambda t: t.clear(),
}


@pytest.mark.parametrize("what", EVIL)
def test_tables_that_lie(whole: bytes, what: str) -> None:
    """No table of a file leads outside the memory that it brings."""
    with pytest.raises((FileFormatError, DTypeError)):
        dt.load(with_tables(whole, EVIL[what]))


def test_deep_nesting(whole: bytes) -> None:
    """A file whose containers are too deep for Python is damaged, not fatal."""
    deep = "[" * 100_000 + "]" * 100_000
    file = with_tables(whole, lambda t: t.update(tree="DEEP"))
    text = file.getvalue().replace(b'\\"DEEP\\"', deep.encode())
    length = int.from_bytes(text[:8], "little") + len(deep) - len('\\"DEEP\\"')
    with pytest.raises(FileFormatError, match="RecursionError"):
        dt.load(io.BytesIO(length.to_bytes(8, "little") + text[8:]))


def test_a_later_version(whole: bytes) -> None:
    """A file of a later version of the format says so."""
    with pytest.raises(NotSupported, match=r"version 2 .* newer dovetail"):
        dt.load(with_tables(whole, lambda t: t.update(version=2)))


def test_pickles_alone_are_not_read(tmp_path: Path) -> None:
    """What begins as a pickle, and is no file of PyTorch's."""
    (tmp_path / "x.pt").write_bytes(b"\x80\x02" + b"\x14\x00\x08\x08" * 9)
    with pytest.raises(NotSupported, match=r"x\.pt' is a pickle"):
        dt.load(tmp_path / "x.pt")


def test_archives_that_are_damaged(tmp_path: Path) -> None:
    """What begins as a file of PyTorch's, and goes on as none."""
    (tmp_path / "x.pt").write_bytes(b"PK\x03\x04" + b"\x14\x00\x08\x08" * 9)
    with pytest.raises(FileFormatError, match=r"x\.pt' is damaged"):
        dt.load(tmp_path / "x.pt")


def test_loading_runs_nothing(tmp_path: Path) -> None:
    """A pickle that would run code when loaded is refused unread."""
    evil = pickle.dumps(print, protocol=4)
    (tmp_path / "x").write_bytes(evil)
    with pytest.raises(FileFormatError, match="of another kind"):
        dt.load(tmp_path / "x")


def test_paths() -> None:
    """A missing file is Python's own error; what is no file at all is refused."""
    with pytest.raises(FileNotFoundError):
        dt.load("no/such/file")
    with pytest.raises(FileNotFoundError):
        dt.save(1, "no/such/folder/x")
    for call in (dt.load, lambda f: dt.save(1, f)):
        with pytest.raises(ArgumentTypeError, match="f is a int"):
            call(3)


# ---- plain safetensors


def test_plain_files(tmp_path: Path) -> None:
    """`save_file` and `load_file` keep tensors by name; `load` reads such files."""
    made = {d.name: dt.ones(2, 3).to(d).t() for d in dtypes.ALL if not d.is_complex}
    dt.io.save_file(made, tmp_path / "x", {"by": "me"})
    for found in (dt.io.load_file(tmp_path / "x"), dt.load(tmp_path / "x")):
        assert found.keys() == made.keys()
        assert all(same(found[name], x) for name, x in made.items())
    assert dt.io.load_file(tmp_path / "x", "meta")["int8"].is_meta


def test_a_state_dict_is_a_plain_file(tmp_path: Path) -> None:
    """Other programs find the tensors of a saved state dict under their names."""
    state = nn.Sequential(nn.Linear(2, 3), nn.ReLU()).state_dict()
    dt.save(state, tmp_path / "x")
    found = dt.io.load_file(tmp_path / "x")
    assert {name: same(found[name], x) for name, x in state.items()} == {
        "0.weight": True, "0.bias": True,
    }  # fmt: skip


def test_what_plain_files_do_not_have(tmp_path: Path) -> None:
    """Shared memory, complex numbers and anything but tensors are refused."""
    x = dt.ones(2, 2)
    for wrong in ({"a": x, "b": x[1]}, {"a": x, "b": x}):
        with pytest.raises(ArgumentError, match="sharing memory: a, b"):
            dt.io.save_file(wrong, tmp_path / "x")
    dt.io.save_file({"a": x[0], "b": x[1]}, tmp_path / "x")
    with pytest.raises(DTypeError, match="complex64"):
        dt.io.save_file({"a": x.to(dt.complex64)}, tmp_path / "x")
    with pytest.raises(ArgumentTypeError, match=r"tensors\['a'\] is a int"):
        dt.io.save_file({"a": 1}, tmp_path / "x")


# ---- crashes and other writers

WRITER = """
import sys
import dovetail as dt
from dovetail.io import files
if sys.argv[2] == "at the end":
    files.os.fsync = lambda _: (print("here", flush=True), sys.stdin.read())
x = dt.full((1 << 21,), 2.0)
for _ in range(1000):
    dt.save({"x": x}, sys.argv[1])
"""


def bytes_beside(path: Path) -> int:
    """The size of the other files in its folder, which come and go."""
    size = 0
    for other in path.parent.iterdir():
        with suppress(FileNotFoundError):
            size += other.stat().st_size if other != path else 0
    return size


def killed_while_writing(path: Path, when: str) -> None:
    """Kill a process as soon as it has begun to write."""
    arguments = [sys.executable, "-c", WRITER, str(path), when]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(arguments, **pipes) as process:
        assert process.stdout is not None
        if when == "at the end":
            assert process.stdout.readline() == b"here\n"
        while not bytes_beside(path):
            time.sleep(0.0005)
        process.send_signal(signal.SIGKILL)


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
@pytest.mark.parametrize("when", ["at once", "at the end"])
def test_a_killed_writer_leaves_the_old_file(when: str, tmp_path: Path) -> None:
    """A process killed while it writes leaves a whole file, and another may write."""
    path = tmp_path / "x"
    dt.save({"x": dt.full((3,), 1.0)}, path)
    killed_while_writing(path, when)
    if when == "at the end":  # all is written but the name
        assert content(path) == {1.0}
        assert len(list(tmp_path.iterdir())) == 2
    assert content(path) in ({1.0}, {2.0})
    dt.save({"x": dt.full((3,), 3.0)}, path)
    assert content(path) == {3.0}
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_while_writing_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk leaves the old file and nothing beside it."""
    path = tmp_path / "x"
    dt.save({"x": dt.ones(1)}, path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        dt.save({"x": dt.zeros(1)}, path)
    assert content(path) == {1.0}
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_two_writers_and_a_reader(tmp_path: Path) -> None:
    """Two writers of one file never mix: a reader finds one of the two, whole."""
    path = tmp_path / "x"
    dt.save({"x": dt.zeros(5000)}, path)
    failed: list[BaseException] = []

    def write(value: float) -> None:
        try:
            for _ in range(40):
                dt.save({"x": dt.full((5000,), value)}, path)
        except BaseException as error:
            failed.append(error)

    writers = [threading.Thread(target=write, args=(v,)) for v in (1.0, 2.0)]
    for writer in writers:
        writer.start()
    seen = []
    while any(writer.is_alive() for writer in writers):
        seen.append(content(path))
    assert failed == []
    assert all(len(s) == 1 for s in seen)
    assert content(path) in ({1.0}, {2.0})
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


@pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")
def test_permissions_and_links(tmp_path: Path) -> None:
    """A file has the usual permissions; a link to it stays a link."""
    (tmp_path / "plain").touch()
    (tmp_path / "link").symlink_to(tmp_path / "x")
    dt.save(1, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    modes = [(tmp_path / name).stat().st_mode for name in ("x", "plain")]
    assert modes[0] == modes[1]


def test_an_open_file_may_hold_more(tmp_path: Path) -> None:
    """Saving writes to an open file where it stands."""
    with (tmp_path / "x").open("wb") as file:
        file.write(b"before")
        dt.save([dt.ones(2)], file)
    with (tmp_path / "x").open("rb") as file:
        assert file.read(6) == b"before"
        assert dt.load(file)[0].tolist() == [1.0, 1.0]


class _Net(nn.Module):
    """Two layers with one weight, and a function of ours between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.act = nn.functional.relu

    def forward(self, x: Any) -> Any:
        return self.second(self.act(self.first(x)))


def test_whole_modules(tmp_path: Path) -> None:
    """A module comes back as it was, weights that were one are one again."""
    net, x = _Net(), dt.randn(2, 3)
    dt.save({"net": net, "weight": net.first.weight}, tmp_path / "net.pt")
    found = dt.load(tmp_path / "net.pt", weights_only=False)
    assert dt.equal(found["net"](x), net(x))
    assert found["net"].first.weight is found["net"].second.weight is found["weight"]


def test_objects_of_users(tmp_path: Path) -> None:
    """Arguments of a program beside its weights, whose tensors lie as others do."""
    weight = dt.randn(2)
    saved = {
        "weights": {"w": weight}, "when": date(2026, 1, 2), "path": Path("a/b"),
        "args": Namespace(lr=0.1, start=weight), "seen": defaultdict(list, a=[1]),
        "how": abs,
    }  # fmt: skip
    dt.save(saved, tmp_path / "x.pt")
    with pytest.raises(ValueError, match=r"weights_only.*(date|Path|Namespace)"):
        dt.load(tmp_path / "x.pt")
    found = dt.load(tmp_path / "x.pt", weights_only=False)
    assert found["args"].start is found["weights"]["w"]
    for name in ("when", "path", "seen", "how"):
        assert found[name] == saved[name]
    dt.save({"args": Namespace(lr=0.1)}, tmp_path / "y.pt")
    with dt.io.safe_globals([Namespace]):
        assert dt.load(tmp_path / "y.pt")["args"].lr == 0.1


class _Numbers(dt.utils.data.Dataset):
    """A class of users' that derives from one of ours, which has no state."""

    def __init__(self, values: Any) -> None:
        self.values = values


def test_objects_of_classes_that_derive_from_ours(tmp_path: Path) -> None:
    """And of ours themselves, unless they have a state to be saved."""
    normal = dt.distributions.Normal(dt.zeros(2), dt.ones(2))
    dt.save([_Numbers(dt.arange(3)), normal], tmp_path / "x.pt")
    with pytest.raises(ValueError, match=r"weights_only.*(Numbers|Normal)"):
        dt.load(tmp_path / "x.pt")
    numbers, found = dt.load(tmp_path / "x.pt", weights_only=False)
    assert numbers.values.tolist() == [0, 1, 2]
    assert dt.equal(found.log_prob(dt.ones(2)), normal.log_prob(dt.ones(2)))


def test_modules_run_no_code_unasked(tmp_path: Path) -> None:
    """By default only classes that one has named may be in a file."""
    dt.save(_Net(), tmp_path / "net.pt")
    with pytest.raises(ValueError, match=r"_Net.*weights_only|weights_only.*_Net"):
        dt.load(tmp_path / "net.pt")
    with dt.io.safe_globals([_Net]):
        assert isinstance(dt.load(tmp_path / "net.pt"), _Net)
    assert dt.io.get_safe_globals() == []


def _text(x: str) -> bytes:
    """A string as pickles have it."""
    return b"\x8c" + bytes([len(x)]) + x.encode()


def _called(module: str, name: str) -> bytes:
    """A pickle that calls what a module has by a name."""
    return b"\x80\x04" + _text(module) + _text(name) + b"\x93)R."


def _given(room: str, name: str) -> bytes:
    """A pickle of a public function."""
    return b"\x80\x04" + _text(room) + _text(name) + b"\x86Q."


def _reached() -> list[tuple[str, str]]:
    """Classes of others that our layers' modules lead to in two steps."""
    found = []
    for module in [m for n, m in sys.modules.items() if n.startswith("dovetail.nn.")]:
        for name, below in vars(module).items():
            if isinstance(below, ModuleType) and below is not sys:
                found += [
                    (module.__name__, f"{name}.{end}")
                    for end, value in vars(below).items() if isinstance(value, type)
                ]  # fmt: skip
    return found


def _loaded(whole: bytes, program: bytes) -> Any:
    """What is read of a file with this for a module."""
    text = base64.b64encode(program).decode()
    return dt.load(with_tables(whole, lambda t: t.update(tree={"module": text})))


def test_layers_lead_to_no_other_code(whole: bytes) -> None:
    """A file finds our layers and functions that compute, and calls nothing else."""
    layer = _called(nn.Identity.__module__, "Identity")
    assert isinstance(_loaded(whole, layer), nn.Identity)
    assert _loaded(whole, _given("F", "relu")) is nn.functional.relu
    reached = _reached()
    some = reached[:: len(reached) // 20]
    ways = [*some, ("os", "system"), ("builtins", "eval"), ("builtins", "type")]
    assert len(ways) > 20
    refused = [_called(*way) for way in ways]
    refused += [_given("torch", name) for name in ("save", "load", "from_file", "no")]
    for program in refused:
        with pytest.raises(ValueError, match="weights_only"):
            _loaded(whole, program)
