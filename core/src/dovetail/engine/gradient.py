"""The gradient of an op: its rules, and what they ask to keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dovetail.engine.parameters import Parameters, parameters_of
from dovetail.errors import ArgumentTypeError

if TYPE_CHECKING:
    from dovetail.engine.kinds import Kind

# The gradient of one argument, and where its parameters come from.
ArgumentRule = tuple[Callable[..., Any], tuple[tuple[str, Any], ...]]


class Gradient(Parameters):
    """What an op knows of its gradient.

    Attributes:
        by_body: the gradient is that of the body, so that no kernel may hide it.
        vjp: the rule for all arguments, or the first of several.
        vjp_needs: what has to be kept of what the rules take.
        wants_dtypes, wants_shapes: whether they take those of the inputs.
        pull: what takes gradients through the op, by `dovetail.engine.pullback`.
        bound: by kind, the same while nothing is recorded, by
            `dovetail.engine.bound_pull`; emptied when kernels change.
    """

    outputs: tuple[str, ...]
    by_body: bool
    on_change: Callable[[], None]

    def _without_gradient(self) -> None:
        """Know of no rule yet."""
        self.uses: dict[str, tuple[str, ...]] = {}
        self.vjp: Callable[..., Any] | None = None
        self.vjp_needs: tuple[str, ...] = ()
        self.wants_dtypes = False
        self.wants_shapes = False
        # For what the vjp keeps: the input's position (or -1 - output's), and the
        # positions of the inputs whose gradients use it (None: any).
        self.save_plan: tuple[tuple[int, tuple[int, ...] | None], ...] = ()
        # How a vjp gets its arguments: (source, index or name) by position and by name.
        self.vjp_positional: tuple[tuple[str, Any], ...] = ()
        self.vjp_keywords: tuple[tuple[str, str, Any], ...] = ()
        # A rule for each tensor parameter instead of one for all, and its arguments.
        self.rules: tuple[ArgumentRule | None, ...] | None = None
        # Written by `engine.pullback` when a gradient first flows through the op.
        self.pull: Any = None
        self.bound: dict[Kind, Any] = {}

    def set_vjp(self, rule: Callable[..., Any]) -> None:
        """Make `rule` the gradient; its parameter names say what is kept for it.

        Raises:
            ArgumentTypeError: a parameter's name means nothing.
        """
        parameters = parameters_of(rule)
        sources = self._set_gradient([name for name, _, _ in parameters])
        self.vjp = rule
        self.rules = None
        self.vjp_positional = tuple(
            sources[n] for n, _, keyword_only in parameters if not keyword_only
        )
        self.vjp_keywords = tuple(
            (n, *sources[n]) for n, _, keyword_only in parameters if keyword_only
        )

    def set_rules(
        self, rules: dict[str, Callable[..., Any]],
        takes: dict[str, list[str]] | None = None,
    ) -> None:  # fmt: skip
        """Make `rules` the gradients, each of the tensor parameter it is named by.

        What only one of them takes is kept only where that gradient is needed;
        `takes` names their parameters where their code does not.

        Raises:
            ArgumentTypeError: no such tensor parameter, or a rule takes what means
                nothing.
        """
        names = [p.name for p in self.tensors]
        unknown = [name for name in rules if name not in names]
        if unknown:
            raise ArgumentTypeError(
                f"grad of {self.name}", unknown[0], was="no tensor parameter",
                needed=f"one of {', '.join(names)}",
            )  # fmt: skip
        if takes is None:
            takes = {n: [p[0] for p in parameters_of(r)] for n, r in rules.items()}
        every = dict.fromkeys(name for taken in takes.values() for name in taken)
        self.uses = {
            name: tuple(n for n, taken in takes.items() if name in taken)
            for name in every
        }
        sources = self._set_gradient(list(every))
        self.vjp = next(iter(rules.values()))
        self.rules = tuple(
            (rules[n], tuple(sources[name] for name in takes[n]))
            if n in rules
            else None
            for n in names
        )

    def _set_gradient(self, names: list[str]) -> dict[str, tuple[str, Any]]:
        """Note what rules with these parameters need; where each comes from."""
        positions = {p.name: i for i, p in enumerate(self.tensors)}
        self.by_body = False
        self.pull = None
        self.bound.clear()
        self.on_change()
        self.vjp_needs = tuple(n for n in names if n in positions or n in self.outputs)
        sources = {n: self._source(n, positions) for n in names}
        self.wants_dtypes = any(s[0] in ("kind", "dtype") for s in sources.values())
        self.wants_shapes = any(s[0] == "shape" for s in sources.values())
        self.save_plan = tuple(self._kept(n, positions) for n in self.vjp_needs)
        return sources

    def _kept(self, name: str, positions: dict[str, int]) -> Any:
        users = self.uses.get(name)
        at = positions[name] if name in positions else -1 - self.outputs.index(name)
        return at, None if users is None else tuple(positions[u] for u in users)

    def _source(self, name: str, positions: dict[str, int]) -> tuple[str, Any]:
        """Where a vjp's parameter comes from."""
        if name in ("ct", "need"):
            return name, None
        if name in positions or name in self.outputs:
            return "saved", self.vjp_needs.index(name)
        if name in self.names:
            return "attr", name
        base, _, what = name.rpartition("_")
        if base in positions and what in ("shape", "dtype", "kind"):
            return what, positions[base]
        known = {"ct", "need", *self.names, *self.outputs}
        raise ArgumentTypeError(
            f"vjp of {self.name}", name, was="unknown",
            needed=f"one of {', '.join(sorted(known))}, or <input>_shape, _dtype, "
            "_kind",
        )  # fmt: skip
