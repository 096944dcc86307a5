"""Datasets and samplers beside torch's."""

from __future__ import annotations

from typing import Any

import pytest
import torch.utils.data

from dovetail import data


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize(("size", "replicas"), [(10, 3), (9, 3), (2, 5), (1, 4)])
def test_processes_have_torchs_parts(size: int, replicas: int, drop_last: bool) -> None:
    """Each process's samples without shuffling, and how many there are."""
    for rank in range(replicas):
        found: list[Any] = []
        for frame in (data, torch.utils.data):
            made = frame.DistributedSampler(
                range(size), replicas, rank, shuffle=False, drop_last=drop_last
            )
            found.append((list(made), len(made), made.total_size))
        assert found[0] == found[1]


def test_processes_share_a_random_order() -> None:
    """Their parts are all samples, in another order each epoch."""
    epochs = []
    for epoch in (0, 1):
        parts = [
            data.DistributedSampler(range(12), 3, rank, seed=2) for rank in range(3)
        ]
        for part in parts:
            part.set_epoch(epoch)
        epochs.append([list(part) for part in parts])
        assert sorted(i for part in epochs[-1] for i in part) == list(range(12))
    assert epochs[0] != epochs[1]


def test_stacked_datasets_are_torchs() -> None:
    """By place and by name, one by one and by lists of numbers."""
    for frame in (data, torch.utils.data):
        rows: Any = frame.Subset(range(10), [5, 6, 7])
        by_place = frame.StackDataset(rows, "abc")
        assert (len(by_place), by_place[1]) == (3, (6, "b"))
        assert by_place.__getitems__([2, 0]) == [(7, "c"), (5, "a")]
        by_name = frame.StackDataset(row=rows, text="abc")
        assert by_name[2] == {"row": 7, "text": "c"}
        for wrong in ((), (rows, "ab")):
            with pytest.raises((ValueError, RuntimeError)):
                frame.StackDataset(*wrong)
