"""`dovetail op`: what an op's declaration says, for whoever writes a kernel of it."""

from __future__ import annotations

import json

from click.testing import CliRunner, Result

from dovetail.cli.app import main
from dovetail.cli.declaration import facts
from dovetail.engine.op import vocabulary


def op(*arguments: str) -> Result:
    """The command, run in this process."""
    return CliRunner().invoke(main, ["op", *arguments])


def test_a_kernels_call_is_shown() -> None:
    """Arrays in order, attributes by name and as kernels get them; the results."""
    found = facts(vocabulary["topk"])
    assert found["kernel"] == (
        "topk(input: array, *, k: int, dim: int, largest: bool, sorted: bool)"
    )
    assert found["results"]["values"] == "same"
    assert found["results"]["indices"].startswith("int64 for bool")
    iota = facts(vocabulary["iota"])
    assert iota["kernel"] == "iota(*, n: int, dtype: DType, index: int)"


def test_what_it_is_made_of_and_needed_by() -> None:
    """A composed op names its primitives, a primitive its dtypes and its users."""
    softmax, amax = facts(vocabulary["softmax"]), facts(vocabulary["amax"])
    assert softmax["primitive"] == []
    assert {"amax", "exp", "sum", "div"} <= set(softmax["made_of"])
    assert "softmax" in amax["needed_by"]
    assert "float32" in amax["primitive"]


def test_no_example_is_part_of_its_meaning() -> None:
    """What an op does is told in words; examples are for those who call it."""
    told = [facts(op)["doc"] for op in vocabulary.values()]
    assert not [text for text in told if ">>>" in text or "Examples:" in text]


def test_where_it_is_declared() -> None:
    """The file, with the line where the body is written there."""
    place, _, line = facts(vocabulary["softmax"])["file"].rpartition(":")
    with open(place, encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert any("def softmax(" in text for text in lines[int(line) - 1 : int(line) + 5])


def test_the_words_of_the_command() -> None:
    """Rows for a person, the same as JSON; who looks at values is told."""
    shown = op("embedding")
    assert shown.exit_code == 0, shown.output
    for words in ("kernel", "made of", "take_along", "checks_indices=True", "file"):
        assert words in shown.output
    found = json.loads(op("embedding", "--json").output)["ops"]
    assert found == [facts(vocabulary["embedding"])]


def test_every_op_can_be_shown() -> None:
    """A pattern shows all that fit it; no declaration is too odd."""
    found = json.loads(op("*", "--json").output)["ops"]
    assert [each["name"] for each in found] == sorted(vocabulary)


def test_a_name_of_nothing() -> None:
    """It is refused in one line with the names that are near."""
    result = op("softmx")
    assert result.exit_code == 1
    assert "there is softmax" in result.stderr
