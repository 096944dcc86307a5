"""`inference_mode` as a context manager and as a decorator."""

import dovetail as dt


def test_nothing_is_recorded_within() -> None:
    """As under no_grad; switched off, everything is, and outside all is as it was."""
    x = dt.ones(2, requires_grad=True)
    with dt.inference_mode():
        assert not (x * 2).requires_grad
        with dt.inference_mode(False):
            assert (x * 2).requires_grad
        assert not dt.is_grad_enabled()
    assert dt.is_grad_enabled()


def test_decorators() -> None:
    """A function is decorated with parentheses and without."""

    @dt.inference_mode
    def plain() -> bool:
        return dt.is_grad_enabled()

    @dt.inference_mode()
    def called() -> bool:
        return dt.is_grad_enabled()

    assert not plain()
    assert not called()
    assert dt.is_grad_enabled()


def test_result_type() -> None:
    """The dtype of an operation, of tensors and numbers, that is not computed."""
    small = dt.ones(2, dtype=dt.int8)
    assert dt.result_type(small, 2) is dt.int8
    assert dt.result_type(small, 2.0) is dt.float32
    assert dt.result_type(small, dt.tensor(1.0, dtype=dt.float64)) is dt.float64
    assert dt.result_type(dt.ones(1, dtype=dt.float16), small) is dt.float16


def test_printing() -> None:
    """How tensors are shown is chosen for the package."""
    try:
        dt.set_printoptions(precision=2)
        assert repr(dt.tensor(1 / 3)) == "tensor(0.33)"
    finally:
        dt.set_printoptions(profile="default")
    assert repr(dt.tensor(1 / 3)) == "tensor(0.3333)"
