"""Sequences of several lengths, padded to one or packed without padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

from dovetail import dtypes
from dovetail import frontend as ft
from dovetail.engine.checks import values_of
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, ShapeError


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """Sequences without padding: the first steps of all, then the second ones, …

    Attributes:
        data: [steps of all sequences, ...].
        batch_sizes: how many sequences have each step; int64 on the CPU.
        sorted_indices: the order, by length, in which they lie; None if as given.
        unsorted_indices: what restores the order in which they were given.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if isinstance(data, tuple | list):  # torch's old form: both in one
            data, batch_sizes = data
        if batch_sizes is None:
            raise ArgumentError(
                "PackedSequence", "batch_sizes", was="None", needed="a tensor"
            )
        if batch_sizes.device.type != "cpu":
            raise ArgumentError(
                "PackedSequence", "batch_sizes", was=f"on {batch_sizes.device}",
                needed="the CPU", remedy="use pack_padded_sequence or pack_sequence",
            )  # fmt: skip
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move or cast the data; this sequence itself if nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        orders = [
            None if order is None else order.to(data.device)
            for order in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(data, self.batch_sizes, *orders)

    def cpu(self) -> Self:
        """On the CPU."""
        return self.to("cpu")

    def cuda(self, device: Any = None) -> Self:
        """On a CUDA device."""
        return self.to("cuda" if device is None else device)

    def float(self) -> Self:
        """As float32."""
        return self.to(dtypes.float32)

    def double(self) -> Self:
        """As float64."""
        return self.to(dtypes.float64)

    def byte(self) -> Self:
        """As uint8."""
        return self.to(dtypes.uint8)

    def char(self) -> Self:
        """As int8."""
        return self.to(dtypes.int8)

    def short(self) -> Self:
        """As int16."""
        return self.to(dtypes.int16)

    def half(self) -> Self:
        """As float16."""
        return self.to(dtypes.float16)

    def int(self) -> Self:
        """As int32."""
        return self.to(dtypes.int32)

    def long(self) -> Self:
        """As int64."""
        return self.to(dtypes.int64)

    def pin_memory(self) -> Self:
        """With data in memory that devices copy from fast, where there is such."""
        return type(self)(self.data.pin_memory(), *self[1:])

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a CUDA device."""
        return self.data.device.type == "cuda"

    def is_pinned(self) -> bool:
        """Whether the data is in memory that devices copy from fast."""
        pinned: bool = self.data.is_pinned()
        return pinned


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """What undoes a permutation."""
    if permutation is None:
        return None
    places = ft.arange(permutation.shape[0], device=permutation.device)
    inverse: Tensor = ft.empty_like(permutation).scatter(0, permutation, places)
    return inverse


def _lengths(op: str, lengths: Any) -> list[int]:
    if isinstance(lengths, Tensor):
        if lengths.device.type != "cpu":
            raise ArgumentError(
                op, "lengths", was=f"on {lengths.device}", needed="the CPU",
                remedy="move them with .cpu()",
            )  # fmt: skip
        return [int(n) for n in values_of(lengths, op).tolist()]
    return [int(n) for n in lengths]


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | Sequence[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Sequences without the padding behind their ends.

    Args:
        input: [t, n, ...], or with batch_first [n, t, ...].
        lengths: of the n sequences.
        enforce_sorted: whether they have to come by falling length.

    Examples:
        >>> x = torch.tensor([[1, 2], [3, 0]])
        >>> packed = nn.utils.rnn.pack_padded_sequence(x, [2, 1], batch_first=True)
        >>> packed.data, packed.batch_sizes
        (tensor([1, 3, 2]), tensor([2, 1]))
    """
    op = "pack_padded_sequence"
    sizes = _lengths(op, lengths)
    x = input.transpose(0, 1) if batch_first else input
    if input.ndim < 2 or len(sizes) != x.shape[1]:
        raise ShapeError(
            op, "lengths", was=f"{len(sizes)} for an input {tuple(input.shape)}",
            needed="one for each sequence of the batch",
        )  # fmt: skip
    if not sizes or min(sizes) < 1 or max(sizes) > x.shape[0]:
        raise ArgumentError(
            op, "lengths", was=sizes,
            needed=f"1 to {x.shape[0]}: Length of all samples has to be greater than 0",
        )  # fmt: skip
    order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
    sorted_indices = None
    if enforce_sorted:
        if sizes != sorted(sizes, reverse=True):
            raise ArgumentError(
                op, "lengths", was=sizes,
                needed="falling lengths: `lengths` array must be sorted in decreasing "
                "order when `enforce_sorted` is True",
                remedy="enforce_sorted=False",
            )  # fmt: skip
    else:
        sorted_indices = ft.tensor(order, dtype=dtypes.int64, device=input.device)
        x = x.index_select(1, sorted_indices)
        sizes = [sizes[i] for i in order]
    batch = [sum(n > t for n in sizes) for t in range(sizes[0])]
    n = x.shape[1]
    places = [t * n + i for t, count in enumerate(batch) for i in range(count)]
    rows = x.reshape(x.shape[0] * n, *x.shape[2:])
    index = ft.tensor(places, dtype=dtypes.int64, device=input.device)
    data = rows.index_select(0, index)
    return PackedSequence(data, ft.tensor(batch, dtype=dtypes.int64), sorted_indices)


def padding_places(batch: Sequence[int], steps: int) -> list[int]:
    """For each place of [steps, n] the row of packed data, or the row behind them."""
    starts = [sum(batch[:t]) for t in range(len(batch))]
    behind, n = sum(batch), batch[0]
    return [
        starts[t] + i if t < len(batch) and i < batch[t] else behind
        for t in range(steps)
        for i in range(n)
    ]


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Packed sequences padded to one length, and their lengths.

    Args:
        total_length: to which they are padded, instead of that of the longest.

    Returns: [t, n, ...], or with batch_first [n, t, ...]; and int64 lengths [n].
    """
    batch = _lengths("pad_packed_sequence", sequence.batch_sizes)
    steps = len(batch) if total_length is None else total_length
    if steps < len(batch):
        raise ArgumentError(
            "pad_packed_sequence", "total_length", was=total_length,
            needed=f"at least {len(batch)}, the length of the longest sequence",
        )  # fmt: skip
    data = sequence.data
    margin = ft.full(
        (1, *data.shape[1:]), padding_value, dtype=data.dtype, device=data.device
    )
    places = padding_places(batch, steps)
    index = ft.tensor(places, dtype=dtypes.int64, device=data.device)
    rows = ft.cat([data, margin]).index_select(0, index)
    padded = rows.reshape(steps, batch[0], *data.shape[1:])
    lengths = ft.tensor(
        [sum(count > i for count in batch) for i in range(batch[0])], dtype=dtypes.int64
    )
    order = sequence.unsorted_indices
    if order is not None:
        padded = padded.index_select(1, order)
        lengths = lengths.index_select(0, order.cpu())
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def pad_sequence(
    sequences: Tensor | Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Tensors of several lengths in one, padded to the longest.

    Args:
        padding_side: "right" or "left".

    Returns: [t, n, ...], or with batch_first [n, t, ...].

    Examples:
        >>> rows = [torch.tensor([1, 2, 3]), torch.tensor([4])]
        >>> nn.utils.rnn.pad_sequence(rows, batch_first=True)
        tensor([[1, 2, 3],
                [4, 0, 0]])
    """
    if padding_side not in ("right", "left"):
        raise ArgumentError(
            "pad_sequence", "padding_side", was=repr(padding_side),
            needed="'right' or 'left'",
        )  # fmt: skip
    if not isinstance(sequences, Iterable):
        raise ArgumentTypeError(
            "pad_sequence", "sequences", was=type(sequences).__name__,
            needed="an iterable of tensors",
        )  # fmt: skip
    rows = list(sequences)
    if not rows:
        raise ArgumentError(
            "pad_sequence", "sequences", was="empty", needed="one tensor or more"
        )
    longest = max(row.shape[0] for row in rows)
    padded = []
    for row in rows:
        missing = longest - row.shape[0]
        pair = (0, missing) if padding_side == "right" else (missing, 0)
        margins = (0,) * (2 * (row.ndim - 1)) + pair
        padded.append(ft.constant_pad_nd(row, margins, padding_value))
    result: Tensor = ft.stack(padded, 0 if batch_first else 1)
    return result


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded tensor, each of its own length."""
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    sizes = _lengths("unpad_sequence", lengths.cpu())
    return [x[i, :size] for i, size in enumerate(sizes)]


def pack_sequence(
    sequences: Sequence[Tensor], enforce_sorted: bool = True
) -> PackedSequence:
    """Tensors of several lengths, packed."""
    lengths = [row.shape[0] for row in sequences]
    return pack_padded_sequence(
        pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted
    )


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed one, each of its own length."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
