"""`dovetail new-backend`: the package that it writes, as text and in this process."""

from __future__ import annotations

import ast
import importlib
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support import acme, child

import dovetail as dt
from dovetail.cli import main
from dovetail.conformance import waivers
from dovetail.conformance.report import todo
from dovetail.conformance.run import About
from dovetail.device_api import Backend, DenseBackend, Unwritten, registry
from dovetail.device_api.unwritten import is_unwritten, methods, unwritten
from dovetail.engine.op import vocabulary
from dovetail.errors import ArgumentError, KernelError, NotSupported
from dovetail.scaffold import functions, layout, package
from dovetail.scaffold.names import names_of

COLUMNS = 88
KINDS = pytest.mark.parametrize("dense", [False, True], ids=["strided", "dense"])
PRIMITIVES = [op.name for op in vocabulary.values() if op.primitive]
METHODS = [b.__abstractmethods__ for b in (Backend, DenseBackend)]
DONE = ("devices", "kernels")
SOLUTION = Path(acme.__file__).parent


def rendered(device: str = "acme", **options: Any) -> dict[str, str]:
    """The files of a package, by path."""
    return package.render(package.Skeleton(names=names_of(device), **options))


def sources(dense: bool = False) -> dict[str, str]:
    """The Python files of the package acme, by name."""
    files = rendered(dense=dense)
    return {Path(p).name: text for p, text in files.items() if p.endswith(".py")}


def signatures(text: str) -> dict[str, str]:
    """Every function of a module, by its name in its class: how it is called."""
    found = {}
    for node in ast.walk(ast.parse(text)):
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.FunctionDef):
                name = f"{getattr(node, 'name', '')}.{inner.name}"
                returns = ast.unparse(inner.returns) if inner.returns else ""
                found[name] = f"{ast.unparse(inner.args)} -> {returns}"
    return found


@pytest.fixture(params=[False, True], ids=["strided", "dense"])
def backend(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Backend]:
    """A new backend, imported from its folder and registered."""
    plan = package.Skeleton(names=names_of("acme"), dense=request.param)
    written = package.write(plan, tmp_path)
    monkeypatch.syspath_prepend(written.folder / "src")
    made: Backend = importlib.import_module("dovetail_acme").dovetail_backend()()
    registry.register(made)
    yield made
    registry.unregister("acme")
    for name in [m for m in sys.modules if m.partition(".")[0] == "dovetail_acme"]:
        del sys.modules[name]


# ---- names


@pytest.mark.parametrize(
    "name",
    ["", "Acme", "1st", "a-b", "a.b", "a__b", "acme_", "_acme", "a b", "é", "a" * 33],
)
def test_no_name_of_a_device(name: str) -> None:
    """What cannot be a device type, a module and a distribution is refused."""
    with pytest.raises(ArgumentError, match="lower-case letters"):
        names_of(name)


@pytest.mark.parametrize("name", ["cpu", "cuda", "meta", "chaos", "auto", "pytest"])
def test_taken_names(name: str) -> None:
    """What means something else already is refused."""
    with pytest.raises(ArgumentError, match="which dovetail reserves"):
        names_of(name)


def test_names_follow_from_the_device() -> None:
    """Words of a device type become those of the distribution and the class."""
    names = names_of("my_chip2")
    assert names.distribution == "dovetail-my-chip2"
    assert names.package == "dovetail_my_chip2"
    assert names.backend == "MyChip2Backend"


# ---- what is written


@KINDS
def test_kernels_are_the_primitives(dense: bool) -> None:
    """There is one function for each op that nothing can compose, and a row for it."""
    tree = ast.parse(sources(dense)["kernels.py"])
    found = [n.name for n in tree.body if isinstance(n, ast.FunctionDef)]
    assert found == PRIMITIVES
    (table,) = [n.value for n in tree.body if ast.unparse(n).startswith("TABLE")]
    rows = [n.id for n in ast.walk(table) if isinstance(n, ast.Name)]
    assert sorted(set(rows) & set(PRIMITIVES)) == sorted(PRIMITIVES)


@KINDS
def test_methods_are_those_asked_for(dense: bool) -> None:
    """The class has every abstract method of its base, and no other."""
    base = DenseBackend if dense else Backend
    found = signatures(sources(dense)["backend.py"])
    wanted = {f"AcmeBackend.{name}" for name in base.__abstractmethods__}
    assert set(found) == wanted


@KINDS
def test_every_function_says_what_it_does(dense: bool) -> None:
    """Kernels have the words of their declarations, in at most three lines."""
    tree = ast.parse(sources(dense)["kernels.py"])
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            doc = ast.get_docstring(node, clean=False)
            assert doc is not None, node.name
            words, _, _ = vocabulary[node.name].doc.partition(">>>")
            assert doc.split() == words.split()
            assert doc.count("\n") < 3, node.name


@KINDS
@pytest.mark.parametrize("device", ["x", "acme", "a_device_with_a_name_that_is_l32"])
def test_code_is_formatted(dense: bool, device: str, tmp_path: Path) -> None:
    """ruff has nothing to change, nor to say, about a package of any name."""
    plan = package.Skeleton(names=names_of(device), dense=dense)
    folder = package.write(plan, tmp_path).folder
    rules = "B,C4,E,F,I,N,PL,PT,RUF,SIM,UP,W"
    for command in (["format", "--check"], ["check", "--select", rules]):
        child.python(
            "-m", "ruff", *command, "--isolated", "--no-cache", ".", cwd=folder
        )


@KINDS
def test_text_is_narrow(dense: bool) -> None:
    """Lines of what the author reads and edits have at most 88 columns."""
    for path, text in rendered(dense=dense).items():
        wide = [line for line in text.splitlines() if len(line) > COLUMNS]
        assert not wide or "](http" in wide[0] or path.endswith((".yml", ".svg")), (
            path,
            wide,
        )


@pytest.mark.parametrize("license", package.LICENSES)
def test_project_file(license: str) -> None:
    """pyproject.toml announces the device and carries licence and author."""
    files = rendered("my_chip", license=license, author='Ada "A" L <ada@example.com>')
    tables = tomllib.loads(files["pyproject.toml"])
    project = tables["project"]
    assert project["name"] == "dovetail-my-chip"
    assert project["entry-points"] == {
        "dovetail.backends.v1": {"my_chip": "dovetail_my_chip"}
    }
    assert project["authors"] == [{"name": 'Ada "A" L', "email": "ada@example.com"}]
    assert project["license"] == license
    assert project["optional-dependencies"]["test"] == ["dovetail[conformance]"]
    options = tables["tool"]["pytest"]["ini_options"]
    assert "--dovetail-device=my_chip:0" in options["addopts"]
    assert "dovetail.conformance" in options["testpaths"]
    assert license.split("-", maxsplit=1)[0] in files["LICENSE"]


def test_licence_text_is_that_of_dovetail() -> None:
    """The Apache licence is shipped letter by letter."""
    ours = Path(__file__).resolve().parents[2] / "LICENSE"
    assert rendered()["LICENSE"] == ours.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("installed", "wanted"),
    [
        ("0.1.0", "dovetail>=0.1,<0.2"),
        ("0.9.3.dev1", "dovetail>=0.9,<0.10"),
        ("2.3.1", "dovetail>=2.3,<3"),
    ],
)
def test_versions_that_fit(installed: str, wanted: str) -> None:
    """The range ends where the interface may change."""
    assert package.requirement(installed) == wanted


def test_waivers_start_empty(tmp_path: Path) -> None:
    """The example is a comment; without its marks it is a waiver that the kit takes."""
    text = rendered()["src/dovetail_acme/waivers.toml"]
    assert tomllib.loads(text) == {}
    lines = [line[2:] for line in text.splitlines() if line.startswith("# ")]
    importlib.import_module("dovetail.conformance.laws")  # which a waiver names
    path = tmp_path / "waivers.toml"
    path.write_text("\n".join(lines[lines.index("[[waiver]]") :]), encoding="utf-8")
    (waiver,), problems = waivers.load(path)
    assert not problems
    assert (waiver.op, waiver.tolerance) == ("float_pow", 32)


def test_no_author_is_invented() -> None:
    """What is not a name is refused; without one, the package has authors."""
    with pytest.raises(ArgumentError, match="author"):
        rendered(author="Ada <nowhere>")
    assert 'name = "The authors of dovetail-acme"' in rendered()["pyproject.toml"]


# ---- all or nothing


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    """A folder of that name is left as it was."""
    (tmp_path / "dovetail-acme").mkdir()
    with pytest.raises(ArgumentError, match="which exists"):
        package.write(package.Skeleton(names=names_of("acme")), tmp_path)
    assert list((tmp_path / "dovetail-acme").iterdir()) == []


def test_nothing_is_left_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the disk refuses a file, no other one remains."""
    write_text = Path.write_text

    def full(path: Path, *args: Any, **kwargs: Any) -> int:
        if path.name == "pyproject.toml":
            raise OSError("no space left on device")
        return write_text(path, *args, **kwargs)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ArgumentError, match="no space left"):
        package.write(package.Skeleton(names=names_of("acme")), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_jinja_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without jinja2 the command says how to get it, and writes nothing."""
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(NotSupported, match=r"pip install 'dovetail\[conformance\]'"):
        package.write(package.Skeleton(names=names_of("acme")), tmp_path)
    assert list(tmp_path.iterdir()) == []


# ---- in use


def test_kernels_are_to_be_written(backend: Backend) -> None:
    """The package loads; its kernels are all there, and all known to be unwritten."""
    assert backend.table.names() == sorted(PRIMITIVES)
    assert unwritten(backend.table) == sorted(PRIMITIVES)
    assert backend.devices()


def test_each_function_raises_its_sentence(backend: Backend) -> None:
    """What is to be written says so, by name."""
    kernels = importlib.import_module("dovetail_acme.kernels")
    for name in PRIMITIVES:
        function = getattr(kernels, name)
        count = function.__code__.co_argcount
        with pytest.raises(NotImplementedError, match=f"^{name} is to be written$"):
            function(*[None] * count)
    for function in functions.methods(dense=isinstance(backend, DenseBackend)):
        method = getattr(backend, function.name)
        if function.name not in DONE:
            count = method.__code__.co_argcount - 1
            with pytest.raises(NotImplementedError, match=f"^{function.name} is to be"):
                method(*[None] * count)


def test_a_tensor_tells_what_is_missing(backend: Backend) -> None:
    """Using the device ends in the sentence of the function that is missing."""
    with pytest.raises(NotImplementedError, match="in is to be written"):
        dt.tensor([1.0], device="acme")


def test_auto_does_not_choose_it(backend: Backend) -> None:
    """A device that cannot compute yet is not what `"auto"` stands for."""
    assert not backend.automatic


def test_kernel_errors_keep_their_cause() -> None:
    """A kernel that is to be written fails with Unwritten as the cause."""
    made = importlib.import_module("tests.support.acme.backend").AcmeBackend()
    registry.register(made)
    try:
        made.table.remove("acme")
        made.table.add("exp", _exp, dtypes=[dt.float32])
        with pytest.raises(KernelError) as caught:
            dt.zeros(2, device="acme").exp()
    finally:
        registry.unregister("acme")
    assert isinstance(caught.value.__cause__, Unwritten)


def _exp(x: Any) -> Any:
    """e to the power of x."""
    raise Unwritten("exp is to be written")


def _bare(x: Any) -> Any:
    raise Unwritten


def _conditional(x: Any) -> Any:
    if x is None:
        raise NotImplementedError("x")
    return x


@pytest.mark.parametrize(
    ("function", "answer"),
    [(_exp, True), (_bare, True), (_conditional, False), (len, False)],
)
def test_unwritten_is_read_not_called(function: Any, answer: bool) -> None:
    """A function is unwritten if it raises Unwritten; it is not run to find out."""
    assert is_unwritten(function) is answer


def test_what_is_to_do_goes_by_what_it_unlocks() -> None:
    """The kernel that most ops are made of comes first, with what it must do."""
    items = todo.to_do(PRIMITIVES)
    counts = [item.unlocks or 0 for item in items]
    assert sorted(item.name for item in items) == sorted(PRIMITIVES)
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 10 * counts[-1]
    assert all(i.doc.split() == vocabulary[i.name].doc.split() for i in items)
    assert todo.to_do([]) == []


def test_memory_comes_before_kernels(backend: Backend) -> None:
    """What everything waits for is first, in the order in which it is proven."""
    about = About("acme:0", unwritten=("add",), methods=methods(backend))
    items = todo.missing(about)
    wanted = {m for m in METHODS[isinstance(backend, DenseBackend)] if m not in DONE}
    assert {item.name for item in items} == wanted | {"add"}
    assert items[-1].name == "add"
    assert items[-2].name == "synchronize"
    assert all(item.doc and item.unlocks is None for item in items[:-1])
    count = len(wanted) + len(PRIMITIVES)
    assert todo.progress(about, len(items)) == f"{len(items)} of {count} functions"


# ---- the solution in tests/support/acme


@pytest.mark.parametrize("module", ["backend.py", "kernels.py"])
def test_solution_fills_in_the_skeleton(module: str) -> None:
    """Names and parameters of the skeleton's functions are the solution's."""
    skeleton = signatures(sources()[module])
    solution = signatures((SOLUTION / module).read_text(encoding="utf-8"))
    assert {name: solution.get(name) for name in skeleton} == skeleton


def test_definitions_are_broken_like_a_formatter_does() -> None:
    """Long parameter lists go to a line of their own, then to one each."""
    for count in range(1, 12):
        names = tuple(f"parameter_{i}: tuple[int, ...]" for i in range(count))
        made = functions.Function("function", names, "Array", "Does it.")
        lines = layout.definition(made, 0).splitlines()
        assert max(map(len, lines)) <= COLUMNS
        assert len(lines) in (1, 3, count + 2)


# ---- the command


def test_command_says_what_is_next(tmp_path: Path) -> None:
    """The screen names the functions to write and the commands to run."""
    options = ["new-backend", "acme", "--directory", str(tmp_path)]
    result = CliRunner().invoke(main, options, env={"COLUMNS": "400"})
    assert result.exit_code == 0, result.output
    for part in (*PRIMITIVES, "copy_out", "0 of 30", 'pip install -e ".[test]"'):
        assert part in result.stdout
    assert "dovetail conformance --device acme:0 --next" in result.stdout


def test_command_in_json(tmp_path: Path) -> None:
    """`--json` prints where the package is and what is to be written."""
    options = ["new-backend", "acme", "--directory", str(tmp_path), "--json"]
    facts = json.loads(CliRunner().invoke(main, options).stdout)
    folder = tmp_path / "dovetail-acme"
    assert facts["folder"] == str(folder)
    assert facts["to_write"]["kernels"] == PRIMITIVES
    assert facts["to_write"]["methods"][:3] == ["empty", "copy_in", "copy_out"]
    assert all((folder / name).is_file() for name in facts["files"])
    found = [p for p in folder.rglob("*") if p.is_file()]
    assert len(found) == len(facts["files"])


def test_command_refuses_in_one_line(tmp_path: Path) -> None:
    """A bad name is one line on stderr."""
    options = ["new-backend", "cuda", "--directory", str(tmp_path)]
    result = CliRunner().invoke(main, options)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "which dovetail reserves" in result.stderr
