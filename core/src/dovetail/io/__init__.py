"""Files of tensors, which hold data; code only where a whole module was saved.

`save` and `load` keep dicts, lists, tuples and numbers with tensors among them, as
the `state_dict` of a module or optimizer has them; `save_file` and `load_file` are
those of safetensors, for tensors by name. Both write the safetensors format; what
`save` keeps beside the tensors is JSON in its header.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, Final

from dovetail import dtypes
from dovetail.device import device as Device
from dovetail.engine.placement import MapLocation, map_location
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, DTypeError, NotSupported
from dovetail.io.containers import Contents, decoded, encoded
from dovetail.io.files import Opened, Target, written
from dovetail.io.packing import Packer, host_values
from dovetail.io.pickled import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from dovetail.io.torch_archives import is_torchs
from dovetail.io.torch_archives import loaded as torchs
from dovetail.io.torch_archives import unsafe_names as get_unsafe_globals_in_checkpoint
from dovetail.io.unpacking import Unpacker
from dovetail.tensor_api.memory import Layout, ground

__all__ = [
    "add_safe_globals", "clear_safe_globals", "get_safe_globals",
    "get_unsafe_globals_in_checkpoint", "load", "load_file",
    "map_location", "safe_globals", "save", "save_file",
]  # fmt: skip

_STRUCTURE: Final = "dovetail"  # the key of the header's metadata


def save(
    obj: Any, f: Target, pickle_module: Any = None, pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:  # fmt: skip
    """Write containers of tensors and plain values to a file.

    The file is replaced as a whole once everything is on the disk: a crash leaves the
    old one. Tensors whose elements share memory share it after loading; of a larger
    memory, only what they use is written. Of a tensor are kept its values, dtype,
    device, `requires_grad` and whether it is a Parameter, not its gradient, hooks
    or attributes.

    Args:
        obj: tensors, None, bool, int, float, complex, str, bytes, dtypes, devices and
            sizes; NumPy's arrays and numbers, which are so again after loading, each
            with values of its own; dicts (also ordered, and counters), lists, tuples
            and sets of them. A container that occurs twice is two after loading.
            Modules, which `load(f, weights_only=False)` gives back.
        f: a path, or a binary file open for writing.
        pickle_module: None or Python's; the format is no pickle, so that the protocol
            and torch's older format change nothing.

    Raises:
        ArgumentTypeError: something else is in it; says where.

    Examples:
        >>> import dovetail as torch
        >>> model = torch.nn.Linear(2, 1)
        >>> torch.save({"step": 10, "model": model.state_dict()}, "checkpoint.pt")
        >>> found = torch.load("checkpoint.pt")
        >>> model.load_state_dict(found["model"])
        <All keys matched successfully>
        >>> found["step"]
        10
    """
    _check_pickles("save", pickle_module)
    packer = Packer("save")
    tree = encoded(obj, packer)
    arrays, tables = packer.finish()
    written(f, arrays, _STRUCTURE, {"version": 1, "tree": tree, **tables})


def load(
    f: Target, map_location: MapLocation = None, pickle_module: Any = None, *,
    weights_only: bool | None = None, mmap: bool | None = None,
) -> Any:  # fmt: skip
    """What `save` wrote, with tensors on the devices they were saved on.

    A file that `torch.save` wrote is read, too: its pickle finds nothing but what makes
    tensors, containers and numbers. A safetensors file of another program is a dict of
    tensors on the CPU. Loading runs no code from the file unless `weights_only` is
    False.

    Args:
        f: a path, or a binary file open for reading.
        map_location: where tensors go instead: a device, a dict of devices, or a
            function; see `dovetail.io.map_location`.
        pickle_module: None or Python's.
        weights_only: False reads whole modules, too, whose pickles may run any code:
            for files that you trust.
        mmap: leave the values of a file of PyTorch's there until they are looked at;
            other files are read whole.

    Raises:
        FileFormatError: the file is cut short, damaged, or of another kind.
        UnsafeFile: it is one of PyTorch's, and names what may run code; a
            `pickle.UnpicklingError`.
        NotSupported: it is from a later version, or a program of TorchScript's.
        DeviceError: a device of it is absent, and `map_location` names no other.

    Examples:
        >>> import dovetail as torch
        >>> torch.save(torch.arange(3), "numbers.pt")
        >>> torch.load("numbers.pt", map_location="cpu")
        tensor([0, 1, 2])
    """
    _check_pickles("load", pickle_module)
    trusted = weights_only is not None and not weights_only
    mapped = nullcontext() if map_location is None else _mapped(map_location)
    if is_torchs(f):
        with mapped:
            return torchs(f, trusted, bool(mmap))
    with Opened("load", f) as opened, mapped:
        structure = opened.structure(_STRUCTURE)
        if structure is None:
            return {name: _plain(opened, name, "cpu") for name in opened.names()}
        with opened.checked():
            unpacker = Unpacker(opened, structure)
        tensors = unpacker.tensors()
        with opened.checked():
            return decoded(
                structure["tree"], Contents(tensors, unpacker.array, trusted)
            )


_PICKLES: Final = ("pickle", "_pickle", "cPickle")
_mapped: Final = map_location  # `load` has a parameter of that name


def save_file(
    tensors: Mapping[str, Tensor],
    filename: Target,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write tensors by name as a safetensors file, which any program can read.

    Args:
        metadata: texts for the header.

    Raises:
        ArgumentError: two of the tensors share memory, which the format cannot say.
        ArgumentTypeError: a name or one of the texts is no string.
        DTypeError: one is complex, which the format does not have.
    """
    _check_texts(metadata or {})
    packer = Packer("save_file")
    for name, x in tensors.items():
        _check_named(name, x)
        packer.add(x, (name,))
    _check_apart(packer.sharing())
    written(filename, _arrays(tensors), None, dict(metadata or {}))


def load_file(filename: Target, device: str | Device = "cpu") -> dict[str, Tensor]:
    """The tensors of a safetensors file by name, on one device.

    Raises:
        FileFormatError: the file is cut short, damaged, or of another kind.
    """
    with Opened("load_file", filename) as opened:
        return {name: _plain(opened, name, device) for name in opened.names()}


def _check_pickles(op: str, module: Any) -> None:
    if module is not None and getattr(module, "__name__", "") not in _PICKLES:
        raise NotSupported(
            op, "pickle_module", was=repr(module), needed="None, or pickle",
            remedy="leave it out",
        )  # fmt: skip


def _check_texts(metadata: Any) -> None:
    for name, text in dict(metadata).items():
        if type(name) is not str or type(text) is not str:
            raise ArgumentTypeError(
                "save_file", f"metadata[{name!r}]", was=f"a {type(text).__name__}",
                needed="a string under the name of a string",
            )  # fmt: skip


def _check_named(name: Any, x: Any) -> None:
    if type(name) is not str or not isinstance(x, Tensor):
        raise ArgumentTypeError(
            "save_file", f"tensors[{name!r}]", was=f"a {type(x).__name__}",
            needed="a string as the name, and a tensor",
        )  # fmt: skip


def _check_apart(shared: list[list[str]]) -> None:
    if shared:
        raise ArgumentError(
            "save_file", "tensors", was=f"sharing memory: {', '.join(shared[0])}",
            needed="memory of its own for each",
            remedy="clone() them, or use dovetail.save, which keeps what is shared",
        )  # fmt: skip


def _arrays(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    for name, x in tensors.items():
        if x.dtype.is_complex or x.is_meta:
            raise DTypeError(
                "save_file", f"tensors[{name!r}]",
                was=f"{x.dtype.name} on {x.device}", needed="real numbers",
                remedy="use dovetail.save, which has a form for it",
            )  # fmt: skip
    return {name: host_values(x) for name, x in tensors.items()}


def _plain(opened: Opened, name: str, where: str | Device) -> Tensor:
    """One tensor of a file as it lies there."""
    values = opened.values(name)
    dtype = dtypes.from_numpy(values.dtype)
    memory = ground(values.reshape(-1), dtype, 0, str(where))
    return memory.tensor(dtype, Layout.rows(values.shape))
