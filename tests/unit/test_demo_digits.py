"""`dovetail demo digits`: its data, its training, its picture, its manners."""

from __future__ import annotations

import hashlib
import json
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.support import child

from dovetail.cli import main
from dovetail.demos.digits import command, data, train
from dovetail.demos.digits.result import Epoch, Settings
from dovetail.demos.digits.result import Result as Outcome

PACKAGE = resources.files("dovetail.demos.digits")
IMAGES_SHA256 = "8f26b2bd9d135c256808f68f14fdabddde6d9c7f869ae419704b051f0f14b3b3"
LABELS_SHA256 = "8ba4f891220f5e4c9c819638d1602d74b83618f167043c6da52a2a247841ddf0"
COUNTS = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
INTERRUPTED = """
import os, signal
from dovetail.demos.digits import data
from dovetail.demos.digits.progress import Silence

# As at a terminal; a shell that runs the tests in the background ignores Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

def batch(self, *, epoch, loss):
    for _ in range({presses} if epoch == 2 else 0):
        os.kill(os.getpid(), signal.SIGINT)

Silence.batch = batch
everything = data.load()
data.load = lambda: data.Digits(*(part[:900] for part in everything))
from dovetail.cli import main
main(["demo", "digits", "--epochs", "50", "--json", "--no-picture"])
"""


def run(*arguments: str) -> Result:
    """The demo with these arguments, in this process."""
    return CliRunner().invoke(main, ["demo", "digits", *arguments])


@pytest.fixture(scope="module")
def one_epoch(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """A run of one epoch with `--json`, and its picture."""
    pytest.importorskip("matplotlib")
    picture = tmp_path_factory.mktemp("demo") / "one.png"
    return run("--epochs", "1", "--json", "--output", str(picture)), picture


@pytest.fixture
def outcome() -> Outcome:
    """A made-up result on four images: two right, two wrong."""
    labels = np.array([0, 1, 2, 3])
    probabilities = np.full((4, 10), 0.01, np.float32)
    for row, (digit, sure) in enumerate([(0, 0.6), (1, 0.9), (5, 0.7), (8, 0.8)]):
        probabilities[row, digit] = sure
    probabilities[2, 2] = 0.2
    epoch = Epoch(end=0.5, train_loss=2.0, test_loss=1.5, test_accuracy=0.5)
    return Outcome(
        settings=Settings(epochs=3),
        device="cpu:0",
        parameters=7,
        train_images=11,
        history=(epoch,),
        batch_losses=(2.5, 1.5),
        test=data.Digits(np.zeros((4, 1, 8, 8), np.float32), labels),
        probabilities=probabilities,
        seconds=1.25,
        interrupted=True,
    )


def test_archive_is_intact() -> None:
    """The values are those of the source, bit for bit."""
    with PACKAGE.joinpath("digits.npz").open("rb") as file, np.load(file) as arrays:
        images, labels = arrays["images"], arrays["labels"]
    assert images.shape == (1797, 8, 8)
    assert hashlib.sha256(images.tobytes()).hexdigest() == IMAGES_SHA256
    assert hashlib.sha256(labels.tobytes()).hexdigest() == LABELS_SHA256


def test_load() -> None:
    """Images come as float32 from 0 to 1, labels as int64, all ten digits."""
    images, labels = data.load()
    assert (images.shape, images.dtype) == ((1797, 1, 8, 8), np.float32)
    assert (images.min(), images.max()) == (0, 1)
    assert labels.dtype == np.int64
    assert np.bincount(labels).tolist() == COUNTS


def test_attribution() -> None:
    """The data's authors, source and licence are in the package."""
    text = PACKAGE.joinpath("ATTRIBUTION.md").read_text(encoding="utf-8")
    for name in ("Alpaydin", "Kaynak", "UCI", "10.24432/C50P49", "CC BY 4.0"):
        assert name in text
    assert "scikit-learn" in text


def test_split_is_a_partition() -> None:
    """Every image is either for training or for the test."""
    digits = data.load()
    parts = data.split(digits, seed=0)
    together = np.concatenate([part.images for part in parts]).reshape(1797, 64)
    everything = digits.images.reshape(1797, 64)
    assert [len(part.labels) for part in parts] == [1438, 359]
    np.testing.assert_array_equal(
        together[np.lexsort(together.T)], everything[np.lexsort(everything.T)]
    )


def test_split_keeps_proportions() -> None:
    """A fifth of each digit is for the test."""
    _, test = data.split(data.load(), seed=3)
    assert np.bincount(test.labels).tolist() == [round(n / 5) for n in COUNTS]


def test_split_follows_the_seed() -> None:
    """The same seed gives the same split, another seed another one."""
    digits = data.load()
    first, again, other = (data.split(digits, seed=seed)[1] for seed in (1, 1, 2))
    assert np.array_equal(first.images, again.images)
    assert not np.array_equal(first.images, other.images)


def test_rate_rises_then_falls() -> None:
    """The learning rate starts at 0, peaks after the warm-up and ends at 0."""
    rates = [train.rate(step / 100) for step in range(101)]
    assert rates[0] == 0
    assert np.argmax(rates) == 100 * train.WARM_UP
    assert rates[-1] == pytest.approx(0, abs=1e-12)


def test_json_schema(one_epoch: tuple[Result, Path]) -> None:
    """`--json` prints one JSON object and nothing else."""
    result, picture = one_epoch
    assert (result.exit_code, result.stderr) == (0, "")
    summary: dict[str, Any] = json.loads(result.stdout)
    kinds = {name: type(value) for name, value in summary.items()}
    assert kinds == {
        "demo": str, "device": str, "seed": int, "epochs": int, "epochs_done": float,
        "batch_size": int, "lr": float, "interrupted": bool, "parameters": int,
        "train_images": int, "test_images": int, "test_accuracy": float,
        "test_loss": float, "mistakes": int, "seconds": float, "history": list,
        "confusion": list, "picture": str,
    }  # fmt: skip
    assert summary["picture"] == str(picture)
    assert (summary["epochs_done"], summary["interrupted"]) == (1.0, False)
    assert np.sum(summary["confusion"]) == summary["test_images"] == 359


def test_one_epoch_learns(one_epoch: tuple[Result, Path]) -> None:
    """One pass over the images is enough to read most digits."""
    assert json.loads(one_epoch[0].stdout)["test_accuracy"] > 0.6


def test_picture_is_written(one_epoch: tuple[Result, Path]) -> None:
    """The picture is a PNG, and no draft is left beside it."""
    picture = one_epoch[1]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert list(picture.parent.iterdir()) == [picture]


def test_runs_are_reproducible(one_epoch: tuple[Result, Path]) -> None:
    """The same seed gives the same losses and the same readings."""
    first = json.loads(one_epoch[0].stdout)
    again = json.loads(run("--epochs", "1", "--json", "--no-picture").stdout)
    assert again["history"] == first["history"]
    assert again["confusion"] == first["confusion"]


def test_summary_for_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `--json`: accuracy, device and picture; progress goes to stderr."""
    monkeypatch.setenv("COLUMNS", "300")  # however long the path of the picture is
    pytest.importorskip("matplotlib")
    result = run("--epochs", "1", "--output", str(tmp_path / "p.svg"))
    assert result.exit_code == 0
    for word in ("test accuracy", "of 359 images", "1 epoch", "cpu", "p.svg"):
        assert word in result.stdout.replace("\n", "")
    assert "1,438 images to learn from" in result.stderr
    assert (tmp_path / "p.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_worst_readings(outcome: Outcome) -> None:
    """Mistakes come first, by loss; then what is right, the least sure first."""
    assert outcome.worst(4).tolist() == [3, 2, 0, 1]
    assert outcome.worst(1).tolist() == [3]


def test_confusion(outcome: Outcome) -> None:
    """Rows are what it is, columns what it was read as."""
    pairs = np.argwhere(outcome.confusion()).tolist()
    assert pairs == [[0, 0], [1, 1], [2, 5], [3, 8]]
    assert (outcome.accuracy, outcome.mistakes) == (0.5, 2)


def test_picture_of_little(outcome: Outcome, tmp_path: Path) -> None:
    """Half an epoch and four images can be drawn too."""
    picture = pytest.importorskip("dovetail.demos.digits.picture")
    picture.save(picture.draw(outcome), tmp_path / "little.png")
    assert (tmp_path / "little.png").stat().st_size > 10_000


def test_failed_drawing_keeps_the_old_picture(tmp_path: Path) -> None:
    """The old file stays as it was until the new one is complete."""
    picture = pytest.importorskip("dovetail.demos.digits.picture")
    target = tmp_path / "digits.png"
    target.write_bytes(b"old")

    class Broken:
        def savefig(self, path: Path, **options: str) -> None:
            path.write_bytes(b"half")
            raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        picture.save(Broken(), target)
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_missing_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without matplotlib the command says what to install before it trains."""
    monkeypatch.delitem(sys.modules, "dovetail.demos.digits.picture", raising=False)
    monkeypatch.delattr("dovetail.demos.digits.picture", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    monkeypatch.setattr(command, "Training", None)
    result = run()
    assert result.exit_code == 1
    assert 'pip install "dovetail[demo]"' in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--output", "digits.txt"], 2, "digits.txt has to end in .png"),
        (["--output", "nowhere/digits.png"], 1, "there is no folder"),
        (["--epochs", "0"], 2, "0 is not in the range"),
        (["--lr", "-1"], 2, "-1.0 is not in the range"),
        (["--device", "nonsense", "--no-picture"], 1, "'nonsense'"),
        (["--lr", "1e30", "--no-picture"], 1, "lr is 1e+30, needed a rate that"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_bad_options(
    arguments: list[str], status: int, message: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A wrong option is named, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == status
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_keeps_what_was_reached() -> None:
    """Ctrl-C ends training after the batch; the result says so; status 130."""
    done = _interrupt(presses=1)
    assert (done.returncode, done.stderr) == (130, "")
    summary = json.loads(done.stdout)
    assert summary["interrupted"] is True
    assert 1 < summary["epochs_done"] < 1.1
    assert len(summary["history"]) == 2
    assert np.sum(summary["confusion"]) == summary["test_images"] > 100


def test_second_ctrl_c_ends_at_once() -> None:
    """Who presses twice wants no result: a short line, status 130."""
    done = _interrupt(presses=2)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "interrupted\n"


def _interrupt(presses: int) -> child.Done:
    code = INTERRUPTED.format(presses=presses)
    return child.python("-c", code, status=None, limit=300)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_98_percent_within_a_minute(seed: int) -> None:
    """The promise of the demo, whatever the seed."""
    summary = json.loads(run("--seed", str(seed), "--json", "--no-picture").stdout)
    assert summary["test_accuracy"] >= 0.98
    assert summary["seconds"] < 60
