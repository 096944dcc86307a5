"""Gradients by edges of the graph, without the tensors there, beside torch's."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dovetail

FRAMES = [dovetail, torch]


@pytest.mark.parametrize("frame", FRAMES)
def test_edges_stand_for_tensors(frame: Any) -> None:
    """As inputs, of nodes of one result, of several, and of leaves."""
    edge_of = frame.autograd.graph.get_gradient_edge
    x = frame.tensor([1.0, 2.0, 3.0], requires_grad=True)
    middle = x * 2
    parts = middle.unbind()
    y = parts[0] * parts[2]
    edges = [edge_of(t) for t in (x, middle, parts[0], parts[2])]
    del middle, parts
    found = frame.autograd.grad(y, edges)
    assert [g.tolist() for g in found] == [[12.0, 0.0, 4.0], [6.0, 0.0, 2.0], 6.0, 2.0]


@pytest.mark.parametrize("frame", FRAMES)
def test_edges_are_where_a_pass_begins(frame: Any) -> None:
    """With the gradient given."""
    x = frame.tensor([1.0, 2.0], requires_grad=True)
    edge = frame.autograd.graph.get_gradient_edge(x * x)
    frame.autograd.backward(edge, frame.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 40.0]
    edge = frame.autograd.graph.get_gradient_edge(x.exp())
    (found,) = frame.autograd.grad([edge], [x], [frame.zeros(2)])
    assert found.tolist() == [0.0, 0.0]
