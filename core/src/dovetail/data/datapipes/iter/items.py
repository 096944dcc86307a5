"""Pipes that look at one item after another."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from dovetail.errors import ArgumentError, ArgumentTypeError

from ...collate import default_collate
from ..checks import applied, check_columns, length_of
from ..datapipe import IterDataPipe
from ..decorators import functional_datapipe

T_co = TypeVar("T_co", covariant=True)


class IterableWrapper(IterDataPipe[T_co]):
    """The items of an iterable.

    Args:
        deepcopy: read a deep copy of it each time, so that what later steps change
            does not stay.
    """

    def __init__(self, iterable: Iterable[T_co], deepcopy: bool = True) -> None:
        self.iterable = iterable
        self.deepcopy = deepcopy

    def __iter__(self) -> Iterator[T_co]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:
                warnings.warn(
                    f"IterableWrapper: a {type(source).__name__} cannot be copied; "
                    "what later steps change in place stays",
                    stacklevel=2,
                )
        yield from source

    def __len__(self) -> int:
        return length_of(self, self.iterable)


@functional_datapipe("map")
class Mapper(IterDataPipe[T_co]):
    """A function of each item, or of some of its columns.

    Args:
        fn: called with the item, or with its columns by place.
        input_col: an index or a key of items, or a list of them.
        output_col: where the result goes; -1 appends it. Where it is not given, the
            result replaces the first of the columns, and the others are left out.

    Raises: ArgumentError for a function that takes another number of arguments.
    """

    def __init__(
        self, datapipe: IterDataPipe[Any], fn: Callable[..., Any],
        input_col: Any = None, output_col: Any = None,
    ) -> None:  # fmt: skip
        if input_col is None and output_col is not None:
            raise ArgumentError(
                "map", "output_col", was="given without input_col", needed="both"
            )
        if isinstance(output_col, list | tuple):
            if len(output_col) != 1:
                raise ArgumentError(
                    "map", "output_col", was=output_col, needed="one column"
                )
            (output_col,) = output_col
        check_columns("map", fn, input_col)
        self.datapipe, self.fn = datapipe, fn
        self.input_col, self.output_col = input_col, output_col

    def _of(self, item: Any) -> Any:
        result = applied(self.fn, item, self.input_col)
        if self.input_col is None:
            return result
        made = list(item) if isinstance(item, tuple) else item
        columns = self.input_col
        if self.output_col is None:
            first, *rest = columns if isinstance(columns, list | tuple) else (columns,)
            made[first] = result
            for column in sorted(rest, reverse=True):
                del made[column]
        elif self.output_col == -1:
            made.append(result)
        else:
            made[self.output_col] = result
        return tuple(made) if isinstance(item, tuple) else made

    def __iter__(self) -> Iterator[Any]:
        for item in self.datapipe:
            yield self._of(item)

    def __len__(self) -> int:
        return length_of(self, self.datapipe)


@functional_datapipe("collate")
class Collator(Mapper[T_co]):
    """Batches of lists of samples, as a DataLoader makes them.

    Args:
        conversion, collate_fn: a function of a list of samples; the latter counts.
    """

    def __init__(
        self, datapipe: IterDataPipe[Any], conversion: Any = default_collate,
        collate_fn: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        chosen: Any = conversion if collate_fn is None else collate_fn
        if isinstance(chosen, dict):
            chosen = _ByColumn(chosen)
        super().__init__(datapipe, chosen)


class _ByColumn:
    """A batch of rows that are dicts, each column by a function of its own."""

    def __init__(self, functions: dict[Any, Callable[..., Any]]) -> None:
        for name, function in functions.items():
            if not callable(function):
                raise ArgumentTypeError(
                    "collate", f"conversion[{name!r}]", was=repr(function),
                    needed="a function of the column's values",
                )  # fmt: skip
        self.functions = functions

    def __call__(self, rows: Any) -> dict[Any, Any]:
        found = {}
        missing = [name for name in self.functions if rows and name not in rows[0]]
        if missing:
            raise ArgumentError(
                "collate", "conversion", was=f"with {missing}",
                needed=f"columns of the rows: {list(rows[0])}",
            )  # fmt: skip
        for name in rows[0] if rows else ():
            join: Any = self.functions.get(name, default_collate)
            found[name] = join([row[name] for row in rows])
        return found


@functional_datapipe("filter")
class Filter(IterDataPipe[T_co]):
    """The items for which a function is true.

    Args:
        filter_fn: gives a bool; of a data frame, a column of bools keeps rows.
        input_col: what it is called with, as in `map`.

    Raises: ArgumentError for an answer that is no bool.
    """

    def __init__(
        self, datapipe: IterDataPipe[Any], filter_fn: Callable[..., Any],
        input_col: Any = None,
    ) -> None:  # fmt: skip
        check_columns("filter", filter_fn, input_col)
        self.datapipe, self.filter_fn = datapipe, filter_fn
        self.input_col = input_col

    def __iter__(self) -> Iterator[Any]:
        for item in self.datapipe:
            keeps = applied(self.filter_fn, item, self.input_col)
            if hasattr(item, "columns") and hasattr(keeps, "any"):
                if keeps.any():
                    yield item[keeps]
            elif not isinstance(keeps, bool):
                raise ArgumentError(
                    "filter", "what filter_fn gave", was=f"a {type(keeps).__name__}",
                    needed="True or False", remedy="bool(…) makes one of it",
                )  # fmt: skip
            elif keeps:
                yield item
