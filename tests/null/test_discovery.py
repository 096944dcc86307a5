"""Plug-ins are found in metadata, loaded on first use, and isolated when broken.

Each test installs throw-away distributions and asks a fresh process about them, or one
forked where dovetail was imported and no plug-in was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from tests.support.plugins import ACME, Imported, output, write

ASK = """
from dovetail.device_api import registry
try:
    print(registry.load("acme").type)
except Exception as error:
    print(type(error).__name__, error, "| cause:", repr(error.__cause__))
"""
WORKS = (
    """
import dovetail
print(dovetail.zeros(2, device="meta").shape, end=" ")
"""
    + ASK
)
BROKEN = {
    "import": ("import no_such_library", "No module named 'no_such_library'"),
    "module": ("raise RuntimeError('no driver')", "RuntimeError: no driver"),
    "cause": (
        "try:\n    import no_such_library\nexcept ImportError as e:\n"
        "    raise RuntimeError('cannot start') from e",
        "ModuleNotFoundError: No module named 'no_such_library'",
    ),
    "construction": (
        ACME + "\nAcme.__init__ = lambda self: 1 / 0",
        "ZeroDivisionError: division by zero",
    ),
    "abstract": (
        ACME + "\nAcme.__abstractmethods__ = frozenset({'fill'})",
        "Can't instantiate abstract class Acme",
    ),
    "text that raises": (
        "class Mute(Exception):\n    def __str__(self): raise SystemExit\nraise Mute",
        "Mute (whose text raises SystemExit)",
    ),
    "devices of no class": (
        ACME.replace('DeviceInfo(0, "Acme")', "'acme'"),
        "devices() is with 'acme', needed a dovetail.device_api.DeviceInfo",
    ),
    "one device twice": (
        ACME.replace('DeviceInfo(0, "Acme")', "*[DeviceInfo(0, 'Acme')] * 2"),
        "devices() is with the indices (0, 0), needed each of them once",
    ),
    "wrong class": (
        ACME.replace("return Acme", "return dict"),
        "dovetail_backend() is <class 'dict'>, needed a subclass of "
        "dovetail.device_api.Backend",
    ),
    "no hook": ("", "dovetail_backend() is None"),
    "unknown hook": (
        ACME + "\n@hookimpl\ndef dovetail_backends(): pass",
        "unknown hook 'dovetail_backends'",
    ),
    "wrong name": (
        ACME.replace('"acme"', '"acne"'),
        "Backend.type is 'acne', needed the entry point's name, 'acme'",
    ),
    "exit": ("import sys\nsys.exit(3)", "SystemExit: 3"),
    "interrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt: "),
    "exit in the hook": (
        ACME.replace("return Acme", "raise SystemExit('no licence')"),
        "SystemExit: no licence",
    ),
    "cancelled": (
        "import asyncio\nraise asyncio.CancelledError('gone')",
        "CancelledError: gone",
    ),
    "index": (
        ACME.replace("DeviceInfo(0", "DeviceInfo(-1"),
        "DeviceInfo: index is -1, needed a number from 0 on",
    ),
    "no callable": (
        ACME + "\nAcme.kernels = lambda self, table: table.add('exp', 3, dtypes=[])",
        "plug-in acme: the kernel of exp is a int, needed a callable",
    ),
    "devices": (
        ACME.replace("return [DeviceInfo", "raise OSError('no /dev/acme')\n        ["),
        "OSError: no /dev/acme",
    ),
}


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Imported]:
    """Where programs begin that need no import of their own."""
    with Imported(tmp_path_factory.mktemp("imported")) as imported:
        yield imported


def test_listing_imports_nothing(tmp_path: Path) -> None:
    """Name, distribution, version and module are known before the module runs."""
    write(tmp_path, "acme", "raise SystemExit('imported')", distribution="acme-box")
    code = (
        "from dovetail.device_api import registry\n"
        "print([(p.name, p.distribution, p.version, p.entry)"
        " for p in registry.list_plugins() if p.name == 'acme'])"
    )
    assert output(code, tmp_path) == (
        "[('acme', 'acme-box', '1.0', 'plugin_acme_box')]"
    )


def test_import_loads_no_plugin(tmp_path: Path) -> None:
    """`import dovetail` and the meta device load neither kind of plug-in."""
    write(tmp_path, "acme", "raise SystemExit('imported')")
    write(
        tmp_path, "fast", "raise SystemExit('imported')",
        distribution="fast-kernels", group="dovetail.kernels.v1",
    )  # fmt: skip
    code = "import dovetail; print((dovetail.zeros(3, device='meta') + 1).shape)"
    assert output(code, tmp_path) == "dovetail.Size([3])"


def test_loaded_on_first_use(tmp_path: Path, imported: Imported) -> None:
    """The module runs when its device is asked for, once."""
    write(tmp_path, "acme", "print('loading')\n" + ACME)
    code = "print('before')\n" + ASK + "registry.load('acme')"
    assert imported.output(code, tmp_path).split() == ["before", "loading", "acme"]


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_plugin(fault: str, tmp_path: Path, imported: Imported) -> None:
    """The framework goes on; the root cause is in the error and kept as its cause."""
    code, cause = BROKEN[fault]
    write(tmp_path, "acme", code)
    said = imported.output(WORKS + ASK, tmp_path)
    first, second = said.splitlines()
    assert first.startswith("dovetail.Size([2]) BackendError")
    assert second in first  # the error is the same when asked again
    assert "the backend of 'acme' is broken" in second
    assert cause in second
    assert "`dovetail devices`" in second
    assert not second.endswith("| cause: None")


def test_missing_backend(tmp_path: Path, imported: Imported) -> None:
    """A device type that nobody provides is named, with those there are and a hint."""
    said = imported.output(ASK, tmp_path)
    assert "type is 'acme', for which no backend is installed" in said
    assert re.search(r"needed one of .*\bmeta\b", said)
    assert "pip install the package that provides 'acme'" in said


def test_missing_backend_of_ours(tmp_path: Path, imported: Imported) -> None:
    """For a device type of the project's own, the hint says what to install."""
    said = imported.output(ASK.replace("acme", "rocm"), tmp_path)
    assert "pip install 'dovetail-rocm[rocm7]'" in said


def test_clash(tmp_path: Path, imported: Imported) -> None:
    """Two distributions for one device type are both named, and neither is loaded."""
    for name in ("acme-one", "acme-two"):
        write(tmp_path, "acme", "raise SystemExit('loaded')", distribution=name)
    said = imported.output(WORKS, tmp_path)
    assert "type 'acme' is claimed by acme-one and acme-two" in said
    assert "set DOVETAIL_BACKENDS=acme=<distribution>" in said


def test_clash_resolved(tmp_path: Path, imported: Imported) -> None:
    """`DOVETAIL_BACKENDS` chooses the distribution, whose name pip would accept."""
    write(tmp_path, "acme", "raise SystemExit('loaded')", distribution="acme-one")
    write(tmp_path, "acme", ACME, distribution="acme-two")
    assert (
        imported.output(ASK, tmp_path, DOVETAIL_BACKENDS="x=y, acme=Acme_Two") == "acme"
    )


def test_clash_not_resolved(tmp_path: Path, imported: Imported) -> None:
    """A choice that is not installed is named as well."""
    write(tmp_path, "acme", ACME, distribution="acme-one")
    said = imported.output(ASK, tmp_path, DOVETAIL_BACKENDS="acme=acme-two")
    assert "claimed by acme-one, and DOVETAIL_BACKENDS names acme-two" in said


@pytest.mark.parametrize("name", ["rocm", "xpu", "chaos"])
def test_reserved_name(name: str, tmp_path: Path, imported: Imported) -> None:
    """A foreign distribution cannot take a name of the project's own."""
    if f"dovetail-{name}" in {d.name for d in metadata.distributions()}:
        pytest.skip(f"dovetail-{name} is installed, and has the name")
    write(tmp_path, name, "raise SystemExit('loaded')", distribution="acme-rocm")
    said = imported.output(ASK.replace("acme", name), tmp_path)
    assert f"type '{name}' is claimed by acme-rocm, needed dovetail-{name}" in said


def test_reserved_name_of_ours(tmp_path: Path, imported: Imported) -> None:
    """The project's own distribution may use its name, beside a foreign claim."""
    write(tmp_path, "xpu", "raise SystemExit('loaded')", distribution="acme-xpu")
    write(tmp_path, "xpu", ACME.replace('"acme"', '"xpu"'), distribution="Dovetail.XPU")
    assert imported.output(ASK.replace("acme", "xpu"), tmp_path) == "xpu"


KERNELS = """
from dovetail import dtypes
from dovetail.device_api import hookimpl

@hookimpl
def dovetail_kernels(table, backend):
    table.add("exp", print, dtypes=[dtypes.float32], rank=1)
"""
BROKEN_KERNELS = {
    "import": ("import no_such_library", None, "no_such_library"),
    "hook": (KERNELS + "    raise OSError('no driver')", "acme", "no driver"),
    "arguments": (KERNELS.replace("backend", "device"), None, "device"),
    "exit": ("import sys\nsys.exit(3)", None, "SystemExit: 3"),
    "exit in the hook": (KERNELS + "    raise SystemExit(3)", "acme", "SystemExit: 3"),
    "unknown op": (
        KERNELS.replace('"exp"', '"exq"'),
        "acme",
        "'exq', which is not in the",
    ),
    "no callable": (KERNELS.replace("print", "3"), "acme", "needed a callable"),
    "no dtypes": (
        KERNELS.replace("dtypes.float32", "'float32'"),
        "acme",
        "dtypes of the kernel of exp is ['float32'], needed dtypes such as",
    ),
    "one dtype": (
        KERNELS.replace("[dtypes.float32]", "3"),
        "acme",
        "kernel of exp is 3, needed",
    ),
    "tie": (KERNELS + KERNELS.splitlines()[-1], "acme", "rank is 1 in both"),
    "no hash": (KERNELS + "import sys\nsys.modules[__name__] = {}", None, "unhashable"),
}
SHOW = """
table = registry.load("acme").table
print([(k.owner, k.rank) for k in table.select("exp", registry.load("acme").dtypes and
      __import__("dovetail").float32)])
for failure in registry.plugin_failures():
    print(failure.name, failure.backend, repr(failure.cause))
"""


def write_kernels(folder: Path, name: str, code: str) -> None:
    write(
        folder, name, code, distribution=f"{name}-kernels", group="dovetail.kernels.v1"
    )


def test_kernel_plugin(tmp_path: Path, imported: Imported) -> None:
    """A plug-in with kernels alone adds them to the backends in use, under its name."""
    write(tmp_path, "acme", ACME)
    write_kernels(tmp_path, "fast", KERNELS)
    assert imported.output(ASK + SHOW, tmp_path).splitlines() == [
        "acme",
        "[('fast-kernels:fast', 1)]",
    ]


@pytest.mark.parametrize("fault", BROKEN_KERNELS)
def test_broken_kernel_plugin(fault: str, tmp_path: Path, imported: Imported) -> None:
    """It leaves backends and other plug-ins as they are; its error is kept."""
    code, backend, cause = BROKEN_KERNELS[fault]
    write(tmp_path, "acme", ACME)
    write_kernels(tmp_path, "bad", code)
    write_kernels(tmp_path, "fast", KERNELS.replace("1)", "2)"))
    loaded, kernels, failure = imported.output(ASK + SHOW, tmp_path).splitlines()
    assert (loaded, kernels) == ("acme", "[('fast-kernels:fast', 2)]")
    assert failure.startswith(f"bad-kernels:bad {backend} ")
    assert cause in failure


def test_kernels_of_a_backend_plugin(tmp_path: Path, imported: Imported) -> None:
    """A backend's plug-in may add kernels to others, in whichever order they load."""
    code = KERNELS.replace("table.add", "if backend == 'other': table.add")
    write(tmp_path, "acme", ACME + code)
    write(tmp_path, "other", ACME.replace('"acme"', '"other"'))
    for order in ("acme", "other"), ("other", "acme"):
        ask = "from dovetail.device_api import registry\n"
        ask += f"for n in {order}: registry.load(n)"
        count = "\nprint(len(registry.load('other').table.names()),"
        count += " len(registry.load('acme').table.names()))"
        assert imported.output(ask + count, tmp_path) == "1 0"


def test_one_module_in_both_groups(tmp_path: Path, imported: Imported) -> None:
    """A module that is backend and kernel plug-in at once serves each table once."""
    write(tmp_path, "acme", ACME + KERNELS)
    info = tmp_path / "dovetail_acme-1.0.dist-info" / "entry_points.txt"
    info.write_text(
        info.read_text() + "[dovetail.kernels.v1]\nfast = plugin_dovetail_acme\n"
    )
    assert imported.output(ASK + SHOW, tmp_path).splitlines() == [
        "acme",
        "[('acme', 1)]",
    ]


def test_devices_shows_kernel_plugins(tmp_path: Path) -> None:
    """`dovetail devices` has a row for each, with the reason where it failed."""
    write(tmp_path, "acme", ACME)
    write_kernels(tmp_path, "fast", KERNELS)
    write_kernels(tmp_path, "bad", "import no_such_library")
    code = """
from dovetail.cli.survey import survey
for row in survey(timeout=100):
    if row.device.startswith("kernels"):
        print(row.device, row.distribution, row.state, row.reason, sep="|")
"""
    bad, fast = output(code, tmp_path).splitlines()
    assert fast == "kernels fast|fast-kernels|ready|None"
    assert bad.startswith("kernels bad|bad-kernels|unavailable|ModuleNotFoundError: ")
    assert "no_such_library" in bad


def test_a_slow_plugin_is_the_one_blamed(tmp_path: Path) -> None:
    """`dovetail devices` says who is still loading; others are ready."""
    write(tmp_path, "acme", ACME)
    write_kernels(tmp_path, "slow", "import time\ntime.sleep(60)")
    write_kernels(tmp_path, "fast", KERNELS)
    code = """
from dovetail.cli.survey import survey
print(sorted((r.device, r.state) for r in survey(timeout=6)
             if r.device.startswith(("acme", "kernels"))))
"""
    assert eval(output(code, tmp_path)) == [
        ("acme:0", "ready"), ("kernels fast", "ready"), ("kernels slow", "timed out"),
    ]  # fmt: skip


def test_a_plugin_can_be_left_out(tmp_path: Path, imported: Imported) -> None:
    """`DOVETAIL_WITHOUT` names plug-ins with kernels that are not loaded."""
    write(tmp_path, "acme", ACME)
    write_kernels(tmp_path, "bad", "raise RuntimeError")
    write_kernels(tmp_path, "fast", KERNELS)
    said = imported.output(ASK + SHOW, tmp_path, DOVETAIL_WITHOUT="x, bad-kernels:bad")
    assert said.splitlines() == ["acme", "[('fast-kernels:fast', 1)]"]


def test_a_slow_plugin_is_named(tmp_path: Path) -> None:
    """A program that waits for a plug-in is told for which."""
    write_kernels(tmp_path, "slow", "import time\ntime.sleep(1)")
    write(tmp_path, "acme", ACME)
    code = """
import warnings
from dovetail.device_api import isolation
isolation.LONG = 0.2
warnings.showwarning = lambda message, *_: print(message)
"""
    said = output(code + ASK, tmp_path)
    assert said.startswith("the plug-in slow-kernels:slow has been loading for 0 s; ")


CTRL_C = """
import os, signal, threading
from dovetail.device_api import registry
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    registry.load("acme")
except KeyboardInterrupt:
    print("interrupted", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def test_ctrl_c_is_the_users(tmp_path: Path) -> None:
    """The user's Ctrl-C while a plug-in loads ends the program, not the plug-in."""
    write(tmp_path, "acme", "import time\ntime.sleep(30)")
    assert output(CTRL_C, tmp_path) == "interrupted True"


def test_metadata_that_cannot_be_read(tmp_path: Path) -> None:
    """Bytes that are no text spoil one package alone, and `devices` names it."""
    write(tmp_path, "acme", ACME)
    write(tmp_path, "bad", ACME, distribution="dovetail-bad")
    entry_points = tmp_path / "dovetail_bad-1.0.dist-info" / "entry_points.txt"
    entry_points.write_bytes(b"[dovetail.backends.v1]\nb\xff\xfe = x\n")
    code = """
from dovetail.cli.survey import survey
print([(r.state, r.reason) for r in survey(timeout=100) if r.device == "dovetail-bad"])
"""
    loaded, shown = output(ASK + code, tmp_path).splitlines()
    assert loaded == "acme"
    assert "'unavailable', \"its metadata: 'utf-8' codec can't decode byte" in shown


FAILS = KERNELS.replace(
    'table.add("exp", print', 'table.add("exp", lambda a: 1 / 0'
).replace("rank=1", "rank=1, checks=True, broadcasts=True")


def test_a_failing_kernel_names_its_plugin(tmp_path: Path, imported: Imported) -> None:
    """The error of a foreign kernel says whose it is."""
    write_kernels(tmp_path, "bad", FAILS)
    code = """
import dovetail
try:
    dovetail.ones(2).exp()
except dovetail.errors.KernelError as error:
    print(error)
"""
    assert imported.output(code, tmp_path).startswith(
        "exp: the kernel of bad-kernels:bad is failing with ZeroDivisionError"
    )


def test_devices_shows_a_reserved_name(tmp_path: Path) -> None:
    """A foreign claim to a name of ours is a row of its own, and is not loaded."""
    write(tmp_path, "xpu", "raise SystemExit('loaded')", distribution="acme-xpu")
    code = """
from dovetail.cli.survey import survey
print([(r.state, r.reason) for r in survey(timeout=100) if r.device == "xpu"])
"""
    said = output(code, tmp_path)
    assert "'unavailable', \"device: type 'xpu' is claimed by acme-xpu" in said


FORK = (
    ACME.replace("type =", "fork_safe = SAFE\n    type =")
    + """
from dovetail import dtypes
Acme.kernels = lambda self, table: table.add(
    "exp", lambda a: a, dtypes=[dtypes.float32], broadcasts=True, checks=True)
"""
)
FORKS = """
import os, sys, warnings, dovetail
warnings.simplefilter("ignore")
x = dovetail.zeros(2, device="acme")
dovetail.exp(x)
sys.stdout.flush()
if os.fork() == 0:
    for use in (lambda: dovetail.exp(x), lambda: x.fill_(1),
                lambda: dovetail.zeros(2, device="acme")):
        try:
            use()
            print("fine")
        except Exception as error:
            print(type(error).__name__, error)
    sys.stdout.flush()
    os._exit(0)
os.wait()
dovetail.exp(x)
print("parent goes on")
"""


@pytest.mark.parametrize("safe", [True, False])
def test_after_a_fork(safe: bool, tmp_path: Path, imported: Imported) -> None:
    """In a forked child, a backend that is not fork-safe raises at every use."""
    write(tmp_path, "acme", FORK.replace("SAFE", str(safe)))
    *child, parent = imported.output(FORKS, tmp_path).splitlines()
    assert parent == "parent goes on"
    assert len(child) == 3
    for line in child:
        if safe:
            assert line == "fine"
        else:
            assert "used in a process that was forked after its start" in line
            assert 'multiprocessing.get_context("spawn")' in line
