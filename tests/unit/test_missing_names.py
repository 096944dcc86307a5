"""Names that modules do not have, and what the error says of them."""

import pickle
import sys

import pytest

import dovetail as dt
import dovetail.nn.functional as F
import dovetail.optim.lr_scheduler
from dovetail.errors import MissingName


@pytest.mark.parametrize(
    ("module", "name", "nearest"),
    [
        (dt, "sofmax", "softmax"),
        (dt, "mse_loss", "nn.functional.mse_loss"),
        (dt.fft, "ftt", "fft"),
        (dt.linalg, "choleski", "cholesky"),
        (F, "crossentropy", "cross_entropy"),
        (dt.nn, "LinearLayer", "Linear"),
        (dt.optim, "Adamm", "Adam"),
        (dt.optim.lr_scheduler, "StepRL", "StepLR"),
        (dt.utils.data, "Dataloader", "DataLoader"),
        (dt.nn.init, "xavier_unifrom_", "xavier_uniform_"),
    ],
)
def test_names_the_nearest(module: object, name: str, nearest: str) -> None:
    """What is spelled alike, or stands in another room, is in the error's text."""
    with pytest.raises(AttributeError, match=f"nearest is '{nearest}'"):
        getattr(module, name)


def test_nothing_is_near() -> None:
    """A name like no other is told to be missing, and no more."""
    with pytest.raises(MissingName) as caught:
        dt.qqqq  # noqa: B018
    assert str(caught.value) == (
        "module 'dovetail' has no attribute 'qqqq'; "
        "if torch has it, it is not there yet"
    )
    assert caught.value.name == "qqqq"


def test_asking_is_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """`hasattr` looks for no nearest name, which takes a millisecond."""
    searches: list[object] = []
    monkeypatch.setattr("difflib.get_close_matches", lambda *a: searches.append(a))
    assert not hasattr(dt, "sofmax")
    assert searches == []


def test_error_can_be_pickled() -> None:
    """What a worker raised arrives as an AttributeError of the same text."""
    error = MissingName("dovetail", "sofmax", lambda: "softmax")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, AttributeError)
    assert str(again) == str(error)


def test_from_import_is_an_import_error() -> None:
    """`from … import` of a name that is not there is Python's own error."""
    with pytest.raises(ImportError, match="sofmax"):
        exec("from dovetail.nn.functional import sofmax", {})
    assert "dovetail.nn.functional.sofmax" not in sys.modules


def test_rooms_that_are_no_modules_tell_what_is_missing() -> None:
    """Where nothing can be looked through, the text says that the name is missing."""
    with pytest.raises(MissingName) as caught:
        dt.cuda.amp.qqqq  # noqa: B018
    assert "no attribute 'qqqq'" in str(caught.value)
