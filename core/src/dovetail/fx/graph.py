"""`Graph`: steps in an order, and what puts in, takes out and copies them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dovetail.errors import ArgumentError

from .graph_code import CodeGen, PythonCode, snake_case
from .graph_lint import lint
from .graph_pickle import records, restore
from .names import Namespace
from .node import Argument, Node, Target, map_arg


class _node_list:  # noqa: N801  torch's name
    """The nodes of a graph, in order, also while some are put in or taken out."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root, node = self.graph._root, getattr(self.graph._root, self.direction)
        while node is not root:
            following = getattr(node, self.direction)
            if not node._erased:
                yield node
            if getattr(node, self.direction) is not node:  # still in the list
                following = getattr(node, self.direction)
            node = following

    def __reversed__(self) -> _node_list:
        other = "_next" if self.direction == "_prev" else "_prev"
        return _node_list(self.graph, other)


class Graph:
    """Steps that compute something: what `symbolic_trace` makes of a function.

    Args:
        owning_module: the GraphModule that runs it, which has the modules it calls.
        tracer_cls: the class of the tracer that made it.
        tracer_extras: what the tracer needs beside, kept as it is.

    Examples:
        >>> from dovetail import fx
        >>> graph = fx.Graph()
        >>> x = graph.placeholder("x")
        >>> y = graph.call_method("relu", (x,))
        >>> _ = graph.output(y)
        >>> print(graph)
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %relu : [num_users=1] = call_method[target=relu](args = (%x,), kwargs = {})
            return relu
    """

    def __init__(
        self, owning_module: Any = None, tracer_cls: Any = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self._root = Node(self, "", "root", "", (), {})
        self._len = 0
        self._graph_namespace = Namespace()
        self._insert: Callable[[Node], None] = self._root.prepend
        self._owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()

    @property
    def owning_module(self) -> Any:
        """The module that runs it, None if there is none."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: Any) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> _node_list:
        """The steps, in order; `reversed(graph.nodes)` goes backwards."""
        return _node_list(self)

    def output_node(self) -> Node:
        """The step that says what is returned."""
        return next(n for n in reversed(self.nodes) if n.op == "output")

    def find_nodes(
        self, *, op: str, target: Target | None = None, sort: bool = True
    ) -> list[Node]:
        """The steps of a kind, with a target where that is given."""
        found = [node for node in self.nodes if node.op == op]
        return found if target is None else [n for n in found if n.target == target]

    # ---- steps are made

    def create_node(
        self, op: str, target: Target, args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None, name: str | None = None,
        type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """Put a step in at the place where steps are put in now."""
        candidate = name if name is not None else self._target_to_str(target)
        node = Node(
            self, self._graph_namespace.create_name(candidate, None), op, target,
            args or (), kwargs or {}, type_expr,
        )  # fmt: skip
        self._graph_namespace.associate_name_with_obj(node.name, node)
        self._insert(node)
        self._len += 1
        return node

    def placeholder(
        self, name: str, type_expr: Any = None, default_value: Any = ...
    ) -> Node:
        """Put in an input; one after the other, they are the parameters."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Put in what the owning module has by a dotted name."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None, type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """Put in a call of a module below the owning one."""
        return self.create_node(
            "call_module", module_name, args, kwargs, None, type_expr
        )

    def call_method(
        self, method_name: str, args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None, type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """Put in a call of a method of the first argument."""
        return self.create_node(
            "call_method", method_name, args, kwargs, None, type_expr
        )

    def call_function(
        self, the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None, type_expr: Any = None,
        name: str | None = None,
    ) -> Node:  # fmt: skip
        """Put in a call of a function."""
        return self.create_node(
            "call_function", the_function, args, kwargs, name, type_expr
        )

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """Put in what is returned."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(
        self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x
    ) -> Node:
        """Put in a step like one of another graph, whose nodes are given as ours."""
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        made = self.create_node(
            node.op, node.target, args, kwargs, node.name, node.type
        )
        made.meta = dict(node.meta)
        return made

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Put in all steps of another graph but its output.

        Args:
            val_map: our nodes by theirs; gets those that are made.

        Returns: what the other graph returns, in our nodes, or None.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], val_map.__getitem__)
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        copied = Graph(tracer_cls=self._tracer_cls)
        copied._codegen = self._codegen
        of: dict[Node, Node] = {}
        result = copied.graph_copy(self, of, return_output_node=True)
        if result is not None:
            value, old = result
            copied.output(value, type_expr=old.type).meta = dict(old.meta)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        return {"steps": records(self), "codegen": self._codegen}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        self._codegen = state["codegen"]
        restore(self, state["steps"])

    # ---- places

    def inserting_before(self, n: Node | None = None) -> Any:
        """Put steps in before one, in a `with` or from now on."""
        if n is None:
            return self.inserting_after(self._root)
        self._own(n, "inserting_before")
        return _Place(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """Put steps in after one, in a `with` or from now on."""
        if n is None:
            return self.inserting_before(self._root)
        self._own(n, "inserting_after")
        return _Place(self, n.append)

    def _own(self, node: Node, asked: str) -> None:
        if node.graph is not self:
            raise ArgumentError(
                f"fx.Graph.{asked}",
                "n",
                was="of another graph",
                needed="one of its own",
            )

    def erase_node(self, to_erase: Node) -> None:
        """Take out a step that nothing uses.

        Raises: RuntimeError if something does.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had "
                f"{len(to_erase.users)} users in the graph: {to_erase.users}!"
            )
        self._own(to_erase, "erase_node")
        if to_erase._erased:
            return
        before, after = to_erase._prev, to_erase._next
        to_erase._remove_from_list()
        to_erase._prev, to_erase._next = before, after  # those who walk go on from it
        to_erase._erased = True
        self._len -= 1
        to_erase._take((), {})

    def eliminate_dead_code(
        self, is_impure_node: Callable[[Node], bool] | None = None
    ) -> bool:
        """Take out the steps that nothing uses and that change nothing.

        Returns: whether there were any.
        """
        lint(self)
        impure = is_impure_node or (lambda node: node.is_impure())
        unused = False
        for node in list(reversed(self.nodes)):
            if not node.users and not impure(node):
                self.erase_node(node)
                unused = True
        return unused

    def lint(self) -> None:
        """Raise RuntimeError where the graph is not one that can be run."""
        lint(self)

    # ---- texts

    def python_code(self, root_module: str, **_options: Any) -> PythonCode:
        """The steps as a function `forward`, and what its names mean."""
        return self._codegen.generate(self, root_module)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Write code in another way."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> None:
        """Let a function change the code, whenever it is written."""
        self._codegen.transformer = make_transformer(self._codegen.transformer)

    def process_inputs(self, *args: Any) -> Any:
        """The inputs of the graph, of the arguments of its code."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """What the code returns, of the output of the graph."""
        return self._codegen.process_outputs(out)

    def print_tabular(self) -> None:
        """Print the steps as a table."""
        head = ["opcode", "name", "target", "args", "kwargs"]
        rows = [
            [str(v) for v in (n.op, n.name, n.target, n.args, n.kwargs)]
            for n in self.nodes
        ]
        wide = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for row in (head, ["-" * width for width in wide], *rows):
            cells = (c.ljust(w) for c, w in zip(row, wide, strict=True))
            print("  ".join(cells).rstrip())

    def __str__(self) -> str:
        names: list[str] = []
        lines = [node.format_node(names) for node in self.nodes]
        body = "".join(f"\n    {line}" for line in lines if line)
        return f"graph():{body}"

    def _target_to_str(self, target: Any) -> str:
        if callable(target):
            name = getattr(target, "__name__", type(target).__name__)
            return snake_case(name.strip("_") if _is_magic(name) else name)
        name = str(target)
        return snake_case(name[2:-2] if _is_magic(name) else name)


def _is_magic(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


class _Place:
    """A place where steps are put in, until its `with` ends."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph, self.before = graph, graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        """From now on; it was chosen when it was made."""

    def __exit__(self, *_error: object) -> None:
        self.graph._insert = self.before
