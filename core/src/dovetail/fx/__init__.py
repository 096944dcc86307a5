"""Programs as graphs of steps that programs change: torch.fx.

`symbolic_trace` runs a function or module with proxies, which write down what is done
to them; a `GraphModule` runs the graph as Python that is written of it. What is done
must not depend on values. What makes programs fast is `dovetail.compile`.
"""

from __future__ import annotations

import typing as _typing

from dovetail.engine.missing_names import missing_name as _missing_name

from . import graph, graph_module, interpreter, node, proxy, subgraph_rewriter
from ._symbolic_trace import Tracer, is_fx_tracing, symbolic_trace, wrap
from .concrete import PH, PHBase
from .graph import Graph
from .graph_code import CodeGen
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "PHBase",
    "Proxy",
    "Tracer",
    "Transformer",
    "graph",
    "graph_module",
    "has_side_effect",
    "interpreter",
    "is_fx_tracing",
    "map_arg",
    "node",
    "proxy",
    "replace_pattern",
    "subgraph_rewriter",
    "symbolic_trace",
    "wrap",
]  # fmt: skip

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
