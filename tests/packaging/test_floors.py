"""Imports go down the floors only, without circles and in the open.

An import counts wherever it is written, also inside a function; only blocks under
`if TYPE_CHECKING:` are exempt, since they never run.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "core" / "src"
CPU = ROOT / "backends" / "cpu" / "src"

# From the ground up. A module imports from floors below its own, and from its own
# as long as no circle arises.
FLOORS = (
    {"errors", "dtypes", "limits", "float8", "device", "memory_formats"},
    {"codegen"},
    {"device_api", "xp"},
    {"engine"},
    {"ops"},
    {"frontend", "tensor_api", "array_api", "sparse"},
    {"compiler"},
    {
        "nn",
        "optim",
        "data",
        "distributed",
        "futures",
        "io",
        "autograd",
        "func",
        "random",
        "accelerator",
        "amp",
        "backends",
        "jit",
        "fft",
        "linalg",
        "masked",
        "multiprocessing",
        "profiler",
        "quasirandom",
        "signal",
        "special",
        "return_types",
        "utils",
    },
    {"distributions", "device_modules", "fx", "library"},
    {"cpu", "cuda", "mps", "xpu"},
    {
        "train",
        "serve",
        "cli",
        "torch_names",
        "demos",
        "conformance",
        "testing",
        "scaffold",
    }
    | {"signatures"},
    {"dovetail"},  # the package's own __init__ and __main__
)
# The highest floor below the top is programs, which may be written as users write
# theirs: they may `import dovetail`.
PROGRAMS = FLOORS[-2]

STANDARD = sys.stdlib_module_names

# What these see of dovetail, and what else beside the standard library.
# (`xp` fills a backend's table, whose class it has to name.)
XP_MAY_IMPORT = {
    "dovetail.codegen.array_steps",
    "dovetail.codegen.grid_places",
    "dovetail.codegen.philox",
    "dovetail.codegen.random_values",
    "dovetail.codegen.values",
    "dovetail.device_api.capabilities",
    "dovetail.device_api.kernels",
    "dovetail.errors",
    "dovetail.float8",
    "dovetail.dtypes",
    "dovetail.limits",
    "dovetail.xp",
}
CPU_MAY_IMPORT = {
    "dovetail.codegen",
    "dovetail.device_api",
    "dovetail.dtypes",
    "dovetail.errors",
    "dovetail.xp",
    "dovetail_cpu",
    "numpy",
}


# Imports that wait until they are needed, because of what they bring along.
DEFERRED = {
    ("dovetail.autograd", "dovetail.func.mapping"),  # for batches of cotangents alone
    ("dovetail.codegen.runtime", "dovetail.codegen.runtime.kernels"),  # hashes, 10 ms
    ("dovetail.nn.recurrent_steps", "dovetail.ops.gru"),  # few programs have one
    ("dovetail.nn.recurrent_steps", "dovetail.ops.lstm"),
    (
        "dovetail.nn.parallel.distributed",
        "dovetail.distributed.groups",
    ),  # few programs have any
    ("dovetail.data.sampler", "dovetail.distributed.groups"),
    ("dovetail.nn.module.compilation", "dovetail.compiler"),  # few programs compile
    # for gradients that are sparse
    ("dovetail.optim.adagrad", "dovetail.optim.sparse_gradients"),
    ("dovetail.optim.sgd", "dovetail.optim.sparse_gradients"),
    ("dovetail.optim.sparse_adam", "dovetail.optim.sparse_gradients"),
    ("dovetail.io.containers", "dovetail.sparse.file_parts"),  # few files have one
    ("dovetail.io.torch_pickles", "dovetail.sparse.file_parts"),
    ("dovetail.nn.functional._embedding", "dovetail.nn.functional._sparse_rows"),
    ("dovetail.device_api.registry", "dovetail.device_api.plugins"),  # pluggy, 3 ms
    ("dovetail.engine.kernel_programs", "dovetail.engine.numbered_steps"),  # graphs
    ("dovetail.engine.rule_calls", "dovetail.engine.bound_pull"),  # with graphs, 3 ms
    ("dovetail.xp.random", "dovetail.xp.polar"),  # the forms of kernels, 5 ms
}


@dataclass(frozen=True, slots=True)
class Import:
    """One module that another one imports."""

    module: str
    target: str
    line: int
    nested: bool

    @property
    def pair(self) -> tuple[str, str]:
        """Who imports what."""
        return self.module, self.target

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


class Reader(ast.NodeVisitor):
    """Collects `(target, names, line, nested)` of every import that can run."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.depth = 0
        self.found: list[tuple[str, list[str], int, bool]] = []

    def add(self, target: str, names: list[str], node: ast.expr | ast.stmt) -> None:
        self.found.append((target, names, node.lineno, self.depth > 0))

    def absolute(self, name: str, level: int) -> str:
        """The absolute name of what a relative import names."""
        if not level:
            return name
        parts = self.package.split(".")[: len(self.package.split(".")) - level + 1]
        return ".".join([*parts, name] if name else parts)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.add(alias.name, [], node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        target = self.absolute(node.module or "", node.level)
        self.add(target, [alias.name for alias in node.names], node)

    def visit_Call(self, node: ast.Call) -> None:
        """`import_module("a.b")` and `__import__("a.b")` are imports too."""
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        first = node.args[0] if node.args else None
        if name in {"import_module", "__import__"} and isinstance(first, ast.Constant):
            given = str(first.value)
            relative = given.lstrip(".")
            self.add(self.absolute(relative, len(given) - len(relative)), [], node)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for child in node.orelse:
                self.visit(child)
        else:
            self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> None:
        """A module that needs an extra may be imported where its absence is caught.

        It still counts as an import: for the floors, and for circles.
        """
        caught = {ast.unparse(h.type) for h in node.handlers if h.type is not None}
        outer = self.depth
        if "ImportError" in caught:
            self.depth = 0
        for child in node.body:
            self.visit(child)
        self.depth = outer
        for rest in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(rest)

    def visit_nested(self, node: ast.AST) -> None:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    visit_FunctionDef = visit_nested
    visit_AsyncFunctionDef = visit_nested
    visit_Lambda = visit_nested


def modules(source: Path) -> dict[str, Path]:
    """Every module below a source folder, by its dotted name."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(module: str, path: Path, known: dict[str, Path]) -> Iterator[Import]:
    """The imports of one module, each resolved to a module where it is one of ours."""
    is_package = path.name == "__init__.py"
    reader = Reader(module if is_package else module.rpartition(".")[0])
    reader.visit(ast.parse(path.read_text(encoding="utf-8"), str(path)))
    for target, names, line, nested in reader.found:
        inner = {f"{target}.{name}" for name in names}
        modules_named = sorted(inner & known.keys())
        if len(modules_named) < len(inner) or not names:
            modules_named.append(target)
        for name in modules_named:
            yield Import(module, name, line, nested)


def imports(source: Path) -> list[Import]:
    """All imports of all modules below a source folder."""
    known = modules(source)
    return [i for name, path in known.items() for i in imports_of(name, path, known)]


def is_ours(name: str) -> bool:
    """Whether a module belongs to core."""
    return name.partition(".")[0] == "dovetail"


def within(name: str, allowed: set[str]) -> bool:
    """Whether a module is one of the allowed ones or inside one."""
    return any(name == a or name.startswith(f"{a}.") for a in allowed)


def section(module: str) -> str:
    """The entry of FLOORS that a module of core belongs to."""
    parts = module.split(".")
    top = len(parts) == 1 or parts[1] == "__main__"
    return "dovetail" if top else parts[1]


def floor(module: str) -> int:
    """The number of the floor that a module of core is on."""
    for number, sections in enumerate(FLOORS):
        if section(module) in sections:
            return number
    pytest.fail(f"{module} is on no floor: give {section(module)!r} one in FLOORS")


def goes_up(i: Import) -> bool:
    """Whether an import within core leads to a higher floor."""
    if section(i.module) in PROGRAMS and i.target == "dovetail":
        return False
    return floor(i.target) > floor(i.module)


def upward(source: Path) -> list[str]:
    """Imports that lead to a higher floor."""
    return [str(i) for i in imports(source) if is_ours(i.target) and goes_up(i)]


def hidden(source: Path) -> list[str]:
    """Imports of our own modules from inside functions.

    The package's own `__init__` may load what is seldom needed when it is asked for.
    """
    found = [i for i in imports(source) if i.nested and is_ours(i.target)]
    return [str(i) for i in found if i.module != "dovetail" and i.pair not in DEFERRED]


def circle(source: Path) -> list[str]:
    """The modules of a circle of imports, or nothing where there is none."""
    graph: dict[str, set[str]] = {name: set() for name in modules(source)}
    for i in imports(source):
        if i.target in graph and not (i.module == "dovetail" and i.nested):
            graph[i.module].add(i.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def strangers(found: list[Import], allowed: set[str]) -> list[str]:
    """Imports of anything but the allowed and the standard library."""
    foreign = [i for i in found if i.target.partition(".")[0] not in STANDARD]
    return [str(i) for i in foreign if not within(i.target, allowed)]


def assert_none(found: list[str]) -> None:
    """Fails with a line for each thing found."""
    assert not found, "\n".join(["", *found])


def test_every_module_has_a_floor() -> None:
    """All of the package dovetail has a floor; pytest's plug-in is beside it."""
    packages = {name.partition(".")[0] for name in modules(CORE)}
    assert packages == {"dovetail", "dovetail_pytest"}
    assert all(floor(name) >= 0 for name in modules(CORE))


def test_imports_go_down() -> None:
    """No module imports from a floor above its own."""
    assert_none(upward(CORE))


def test_no_import_hides_in_a_function() -> None:
    """Modules of ours are imported at the top of the file."""
    assert_none(hidden(CORE))


def test_no_circles() -> None:
    """The modules can be put in an order in which each needs only earlier ones."""
    assert_none(circle(CORE))


def test_xp_imports_no_array_library() -> None:
    """Shared kernels get their array library as an argument."""
    found = [i for i in imports(CORE) if section(i.module) == "xp"]
    assert_none(strangers(found, XP_MAY_IMPORT))


def test_cpu_backend_sees_the_interface_only() -> None:
    """The CPU backend needs what any author of a backend has, and NumPy."""
    assert_none(strangers(imports(CPU), CPU_MAY_IMPORT))


# Tests of the tests: each of these has to be noticed.
BROKEN = {
    "upward": ("engine/a.py", "from dovetail.nn import module", upward),
    "upward-relative": ("engine/a.py", "from ..ops import add", upward),
    "upward-to-the-top": ("engine/a.py", "import dovetail", upward),
    "upward-through-the-top": ("engine/a.py", "from dovetail import zeros", upward),
    "upward-in-a-try": ("engine/a.py", "try:\n import dovetail.nn\nfinally: 0", upward),
    "upward-by-name": (
        "engine/a.py",
        "import importlib\nx = importlib.import_module('dovetail.nn.module')",
        upward,
    ),
    "hidden": ("nn/a.py", "def f():\n    from dovetail.engine import b", hidden),
    "hidden-by-name": ("nn/a.py", "f = lambda: __import__('dovetail.engine')", hidden),
    "circle": ("engine/a.py", "from dovetail.engine import b", circle),
    "circle-through-the-package": ("engine/a.py", "from . import something", circle),
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The source folder of a small package without a fault."""
    files = {
        "__init__.py": "from dovetail import engine, nn\ndef f():\n from . import cli",
        "engine/__init__.py": "from dovetail.engine.a import *",
        "engine/a.py": "",
        "engine/b.py": "from . import a",
        "nn/__init__.py": (
            "from typing import TYPE_CHECKING\nfrom dovetail import engine"
        ),
        "nn/module.py": "if TYPE_CHECKING:\n    import dovetail",
        "cli/__init__.py": "import dovetail as torch\ndef f(): import rich",
    }
    for name, text in files.items():
        path = tmp_path / "dovetail" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_a_sound_package_passes(package: Path) -> None:
    """Types, lazy loading by the top and programs on the top are no faults."""
    assert upward(package) + hidden(package) + circle(package) == []


@pytest.mark.parametrize("fault", BROKEN)
def test_a_fault_is_noticed(fault: str, package: Path) -> None:
    """Each kind of wrong import is found by the check that is meant for it."""
    name, text, check = BROKEN[fault]
    (package / "dovetail" / name).write_text(text, encoding="utf-8")
    assert check(package) != []


def test_a_stranger_is_noticed(package: Path) -> None:
    """An array library in xp is found, the standard library is not."""
    (package / "dovetail" / "xp.py").write_text("import numpy.linalg, math")
    found = [i for i in imports(package) if i.module == "dovetail.xp"]
    assert strangers(found, XP_MAY_IMPORT) == ["dovetail.xp:1 imports numpy.linalg"]
