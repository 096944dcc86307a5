"""Files in PyTorch's format: what they hold is read, and nothing of them is run."""

from __future__ import annotations

import copy
import io
import pickle
import zipfile
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail.errors import DovetailError, FileFormatError, NotSupported
from dovetail.io.torch_pickles import UnsafeFile

VALUES = np.arange(6, dtype=np.float32)
ran: list[Any] = []


def run(*args: Any) -> None:
    """What no file may call."""
    ran.append(args)


def _named(name: str) -> bytes:
    module, _, attribute = name.rpartition(".")
    return f"c{module}\n{attribute}\n".encode()


def _value(value: Any) -> bytes:
    return pickle.dumps(value, 2)[2:-1]


def _tuple(*parts: bytes) -> bytes:
    return b"(" + b"".join(parts) + b"t"


def _called(name: str, *parts: bytes) -> bytes:
    return _named(name) + _tuple(*parts) + b"R"


def _storage(count: int = 6, key: str = "0", name: str = "torch.FloatStorage") -> bytes:
    parts = _value("storage"), _named(name), _value(key), _value("cpu"), _value(count)
    return _tuple(*parts) + b"Q"


def _tensor(
    storage: bytes | None = None, offset: int = 0, size: Any = (2, 3),
    stride: Any = (3, 1),
) -> bytes:  # fmt: skip
    rest = _value(offset), _value(size), _value(stride), _value(False)
    hooks = _called("collections.OrderedDict")
    return _called(
        "torch._utils._rebuild_tensor_v2", storage or _storage(), *rest, hooks
    )


def _archive(
    body: bytes, records: dict[str, bytes] | None = None,
    method: int = zipfile.ZIP_STORED,
) -> bytes:  # fmt: skip
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as made:
        made.writestr("x/data.pkl", b"\x80\x02" + body + b".")
        for name, data in (records or {"data/0": VALUES.tobytes()}).items():
            made.writestr(f"x/{name}", data)
    return file.getvalue()


def _load(data: bytes, **options: Any) -> Any:
    return dt.load(io.BytesIO(data), **options)


def test_tensors_share_the_memory_of_their_storage() -> None:
    """By offset and strides, in the storage's dtype."""
    whole, part = _load(_archive(_tuple(_tensor(), _tensor(None, 1, (2,), (3,)))))
    assert whole.tolist() == [[0, 1, 2], [3, 4, 5]]
    part.fill_(-1)
    assert whole.tolist() == [[0, -1, 2], [3, -1, 5]]


def test_big_endian_files() -> None:
    """The bytes of each number are turned."""
    turned = VALUES.byteswap().tobytes()
    found = _load(_archive(_tensor(), {"data/0": turned, "byteorder": b"big"}))
    assert found.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_parameters_and_dicts() -> None:
    """With the versions that a state dict has of its modules."""
    weight = _called(
        "torch._utils._rebuild_parameter", _tensor(), _value(True),
        _called("collections.OrderedDict"),
    )  # fmt: skip
    state = _called("collections.OrderedDict") + _value("w") + weight + b"s"
    state += _value({"_metadata": {"": {"version": 1}}}) + b"b"
    found = _load(_archive(state))
    assert type(found) is OrderedDict
    assert isinstance(found["w"], dt.nn.Parameter)
    assert found._metadata == {"": {"version": 1}}


def test_map_location() -> None:
    """Tensors go where the caller wants them."""
    assert _load(_archive(_tensor()), map_location="cpu").device.type == "cpu"


OWN = f"{__name__}.run"
MALICIOUS: dict[str, bytes] = {
    "a call": _called(OWN, _value(1)),
    "a call of os": _called("os.system", _value("true")),
    "a tensor of a size": _called("torch.Tensor", _value(1 << 40)),
    "a parameter of nothing": _called("torch.nn.parameter.Parameter"),
    "a call of torch": _called("torch.load", _value("x.pt")),
    "a class of torch": _called("torch.nn.Linear", _value(1), _value(1)),
    "a call of a builtin": _called("builtins.eval", _value("1")),
    "a name alone": _named(OWN),
    "a dotted name": _value("torch._utils") + _value("os.system") + b"\x93",
    "inst": b"(" + _value(1) + b"i" + OWN.rpartition(".")[0].encode() + b"\nrun\n",
    "obj": b"(" + _named(OWN) + _value(1) + b"o",
    "newobj": _named("collections.OrderedDict") + b")\x81",
    "ext": b"\x82\x01",
    "a function changed": _named("torch._utils._rebuild_tensor_v2")
    + _tuple(_value(None), _value({"__defaults__": ()})) + b"b",
    "a container changed": _value([]) + _value({"x": 1}) + b"b",
    "a call of a tensor": _tensor() + _tuple() + b"R",
    "a call of a number": _value(3) + _tuple() + b"R",
    "another class": _called(
        "torch._tensor._rebuild_from_type_v2", _named("torch.Size"),
        _named("torch.Size"), _tuple(_value((1,))), _value(None),
    ),
    "an encoding": _called("_codecs.encode", _value("x"), _value("utf-16")),
}  # fmt: skip


@pytest.mark.parametrize("name", MALICIOUS)
def test_nothing_is_run(name: str) -> None:
    """What may run code is named and refused, by the class that torch's users catch."""
    with pytest.raises(UnsafeFile, match="weights_only") as caught:
        _load(_archive(MALICIOUS[name]))
    assert isinstance(caught.value, pickle.UnpicklingError)
    assert ran == []


def test_what_users_allow_is_called() -> None:
    """Classes and functions among the safe ones, and all where a file is trusted."""
    with dt.io.safe_globals([run]):
        assert _load(_archive(_called(OWN, _value(1)))) is None
    assert _load(_archive(_called(OWN, _value(2))), weights_only=False) is None
    assert [ran.pop(), ran.pop()] == [(2,), (1,)]


def test_attributes_of_tensors_are_those_of_users() -> None:
    """What a tensor is made of is not written through its state."""
    x = _load(_archive(_tensor() + _value({"note": "mine", "_node": 1}) + b"b"))
    assert x.note == "mine"
    assert x._node is None
    slots = _tuple(_value({}), _value({"_a": 1}))
    assert _load(_archive(_tensor() + slots + b"b")).tolist() == [[0, 1, 2], [3, 4, 5]]


DAMAGED: dict[str, bytes] = {
    "beyond the end": _archive(_tensor(None, 1)),
    "far beyond the end": _archive(_tensor(None, 0, (2, 3), (1 << 40, 1))),
    "backwards": _archive(_tensor(None, 5, (2,), (-1,))),
    "a negative size": _archive(_tensor(None, 0, (-1,), (1,))),
    "a size that overflows": _archive(_tensor(None, 0, (1 << 62,), (1,))),
    "dims that differ": _archive(_tensor(None, 0, (2, 3), (1,))),
    "a storage that is too large": _archive(_tensor(_storage(1 << 50))),
    "a record that is missing": _archive(_tensor(_storage(6, "1"))),
    "a record elsewhere": _archive(_tensor(_storage(6, "../data.pkl"))),
    "another dtype": _archive(_tensor(_storage(6, "0", "torch.DoubleStorage"))),
    "an id of nothing": _archive(_value("storage") + b"Q"),
    "compressed": _archive(_tensor(), None, zipfile.ZIP_DEFLATED),
    "no pickle": _archive(b""),
    "a large array of bytes": _archive(_called("builtins.bytearray", _value(1 << 50))),
    "an order of bytes": _archive(
        _tensor(), {"data/0": VALUES.tobytes(), "byteorder": b"middle"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_refused(name: str) -> None:
    """Before memory is made for what they say."""
    with pytest.raises(FileFormatError, match="damaged"):
        _load(DAMAGED[name])


def test_two_records_of_one_name() -> None:
    """Which of them is meant would be the reader's to choose."""
    file = io.BytesIO(_archive(_tensor()))
    with (
        zipfile.ZipFile(file, "a") as made,
        pytest.warns(UserWarning, match="Duplicate"),
    ):
        made.writestr("x/data/0", VALUES.tobytes())
    with pytest.raises(FileFormatError, match="two records"):
        _load(file.getvalue())


def test_records_that_lie_over_each_other() -> None:
    """A small file says no more than it holds."""
    file = io.BytesIO(_archive(_tensor()))
    with zipfile.ZipFile(file, "a") as made:
        for at in range(99):
            again = copy.copy(made.getinfo("x/data/0"))
            again.filename = f"x/data/{at + 1}"
            made.filelist.append(again)
        made.writestr("x/version", b"3")  # so that the list is written
    with pytest.raises(FileFormatError, match="over each other"):
        _load(file.getvalue())


def _older(body: bytes) -> bytes:
    """A file of the format before zip: pickles, and storages behind them."""
    plain = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}]
    head = b"".join(pickle.dumps(x, 2) for x in plain)
    count = VALUES.size.to_bytes(8, "little")
    behind = pickle.dumps(["0"], 2) + count + VALUES.tobytes()
    return head + b"\x80\x02" + body + b"." + behind


def _older_tensor(*rest: bytes) -> bytes:
    parts = _value("storage"), _named("torch.FloatStorage"), _value("0"), _value("cpu")
    storage = _tuple(*parts, _value(6), _value(None)) + b"Q"
    return _tuple(_tensor(storage), *rest)


def test_older_files() -> None:
    """Pickles are called once where they are trusted, and else not at all."""
    (x,) = _load(_older(_older_tensor()))
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    evil = _older(_older_tensor(_called(OWN, _value(7))))
    with pytest.raises(UnsafeFile):
        _load(evil)
    assert ran == []
    _load(evil, weights_only=False)
    assert [ran.pop()] == [(7,)]
    assert ran == []
    for length in range(30, len(evil), 9):
        with pytest.raises(DovetailError):
            _load(evil[:length])


def test_programs_are_refused_as_such() -> None:
    """TorchScript's archives look alike."""
    data = _archive(_tensor(), {"data/0": VALUES.tobytes(), "constants.pkl": b"."})
    with pytest.raises(NotSupported, match="TorchScript"):
        _load(data)


def test_files_that_are_cut_short(tmp_path: Path) -> None:
    """Whatever is left of one, an error says that it is damaged."""
    whole = _archive(_tensor())
    for length in range(12, len(whole), 7):
        with pytest.raises(DovetailError):
            _load(whole[:length])
    path = tmp_path / "x.pt"
    path.write_bytes(whole[:-30])
    with pytest.raises(FileFormatError, match=r"x\.pt"):
        dt.load(path)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=4))
def test_any_bytes_are_read_or_refused(changes: list[tuple[int, int]]) -> None:
    """Whichever bytes of a file are others, it is loaded or an error of ours raised."""
    body = _tuple(_tensor(), _value({"a": [1, 2.5, "x"]}), _value((1, None)))
    data = bytearray(_archive(body))
    for at, byte in changes:
        data[at % len(data)] = byte
    with suppress(DovetailError):
        _load(bytes(data))
    assert ran == []


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=4))
def test_any_pickle_is_read_or_refused(changes: list[tuple[int, int]]) -> None:
    """The same of the pickle alone, whose record is whole."""
    body = bytearray(_tuple(_tensor(), _value({"a": [1, 2.5, "x"]}), _called(OWN)))
    for at, byte in changes:
        body[at % len(body)] = byte
    with suppress(DovetailError):
        _load(_archive(bytes(body)))
    assert ran == []


def test_what_is_unsafe_is_listed() -> None:
    """Every name that would be refused, once and in order, and nothing is run."""
    names = dt.io.get_unsafe_globals_in_checkpoint
    assert names(io.BytesIO(_archive(_tensor()))) == []
    for name in ("a call of torch", "a class of torch", "a name alone"):
        (found,) = names(io.BytesIO(_archive(MALICIOUS[name])))
        assert found in ("torch.load", "torch.nn.Linear", OWN.replace("\n", "."))
    both = _archive(_tuple(MALICIOUS["a call of torch"], _called(OWN, _value(1))))
    assert len(names(io.BytesIO(both))) == 2
    with dt.io.safe_globals([run]):
        assert names(io.BytesIO(both)) == ["torch.load"]
    assert ran == []
    with pytest.raises(NotImplementedError, match="zip"):
        names(io.BytesIO(b"something else"))
