"""Errors carry the rule, the value, the place and the fix, and survive pickling."""

from __future__ import annotations

import pickle

import pytest

import cranium
from cranium import errors
from cranium.errors import (
    CraniumError,
    FileAccessError,
    FormulaSyntaxError,
    Place,
    UnknownNameError,
)


def all_errors(cls=CraniumError):
    return {cls}.union(*(all_errors(sub) for sub in cls.__subclasses__()))


@pytest.mark.parametrize("cls", sorted(all_errors(), key=lambda c: c.__name__))
def test_every_error_can_be_pickled_with_its_place(cls):
    error = cls("rule", place=Place(1, 2, "f.yaml"), fix="do this", excerpt="x\n^", path=("k",))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is cls
    assert str(again) == str(error) == "f.yaml:1:2: rule\n  x\n  ^\n  fix: do this"
    assert again.path == ("k",)


def test_errors_are_also_the_usual_python_ones():
    assert issubclass(errors.AutomatonError, ValueError)
    assert issubclass(errors.RunError, RuntimeError)
    assert issubclass(errors.TextError, ValueError)
    assert issubclass(FileAccessError, OSError)


def test_a_closer_place_is_kept():
    error = CraniumError("x", place=Place(1, 1)).at(Place(2, 2))
    assert error.place == Place(1, 1)
    assert CraniumError("x").at(Place(2, 2)).place == Place(2, 2)


def test_a_long_line_is_shown_around_the_caret():
    error = FormulaSyntaxError.pointing("wrong", "x" * 100_000 + "!" + "y" * 100_000, 100_000)
    line, caret = error.excerpt.splitlines()
    assert len(line) <= 100
    assert line[caret.index("^")] == "!"


def test_unknown_names_do_not_flood_the_message():
    error = UnknownNameError.of("state", "x" * 10_000, [f"u{i}" for i in range(1000)])
    assert len(str(error)) < 300


def test_a_user_never_has_to_import_a_private_module_to_catch_an_error():
    with pytest.raises(cranium.errors.NondeterminismError):
        cranium.loads(
            "propositions: [A]\ninitial: u\ntransitions: [{from: u, when: A}, {from: u, when: A}]"
        )
