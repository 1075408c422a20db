"""One options object for simulate, simulate_many, compare and the command line."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import get_type_hints

import numpy as np
import pytest

import dalembert as da
from dalembert.analyses.simulation.options import MethodOptions, Options, RunOptions
from dalembert.cli.run_options import _FIELDS, _PAIRS

CALLS = ((da.simulate, RunOptions), (da.simulate_many, RunOptions), (da.compare, MethodOptions))


def test_keyword_arguments_are_the_fields():
    """The types for keyword arguments and the object say the same."""
    assert get_type_hints(RunOptions) == get_type_hints(Options)
    assert get_type_hints(MethodOptions).items() < get_type_hints(Options).items()


@pytest.mark.parametrize(("call", "kind"), CALLS)
def test_signatures_list_the_options(call, kind):
    shown = inspect.signature(call).parameters
    for entry in fields(Options):
        if entry.name in kind.__annotations__:
            assert shown[entry.name].default == entry.default
            assert shown[entry.name].kind is inspect.Parameter.KEYWORD_ONLY
    assert "given" not in shown


@pytest.mark.parametrize(("call", "kind"), CALLS)
def test_an_unknown_argument_is_refused_by_name(call, kind):
    with pytest.raises(TypeError, match="'rtoll'; did you mean 'rtol'"):
        call(da.library.pendulum(), 1.0, rtoll=1e-6)
    with pytest.raises(da.DalembertError, match=r"options must be da\.Options"):
        call(da.library.pendulum(), 1.0, options={"rtol": 1e-6})


def test_the_object_and_the_arguments_are_the_same_run():
    model = da.library.pendulum()
    options = da.Options(integrator="rk4", step=1e-2, output_step=0.1, start=1.0)
    one = da.simulate(model, 0.5, options=options)
    other = da.simulate(model, 0.5, integrator="rk4", step=1e-2, output_step=0.1, start=1.0)
    np.testing.assert_array_equal(one.q, other.q)
    assert one.time.values[0] == 1.0
    changed = da.simulate(model, 0.5, options=options, step=5e-2)  # an argument goes first
    assert changed.certificate.counts["steps"] < one.certificate.counts["steps"]
    batch = da.simulate_many(model, 0.5, options=options, initial={"pivot": [0.1, 0.2]})
    assert batch.time.values[0] == 1.0 and len(batch.time) == len(one.time)


def test_a_comparison_starts_when_asked_and_says_how_it_was_made():
    options = da.Options(rtol=1e-8, start=2.0, formulation="kane")  # pairs have their own formulation
    found = da.compare(da.library.pendulum(), 0.2, formulations="recursive", coordinates="relative", options=options)
    assert [(entry.formulation, entry.status) for entry in found] == [("recursive", "trusted")]
    assert found.method == str(options) == "auto integrator, rtol 1e-08, auto stabilization"


def test_many_samples_take_no_single_state():
    model = da.library.pendulum()
    with pytest.raises(da.DalembertError, match="simulate_many takes arrays by joint"):
        da.simulate_many(model, 0.5, initial=da.assemble(model))


def test_the_command_line_has_the_same_options():
    assert set(_FIELDS) | set(_PAIRS) == {entry.name for entry in fields(Options)} - {"start"}
    assert all(default == getattr(Options(), name) for name, (_, default) in _FIELDS.items())


@pytest.mark.parametrize(("call", "kind"), CALLS)
def test_help_explains_every_option_once(call, kind):
    text = inspect.getdoc(call)
    assert "…:" not in text
    for name in kind.__annotations__:
        explained = re.findall(rf"^    (?:\w+, )*{name}(?:, \w+)*: ", text, flags=re.MULTILINE)
        assert len(explained) == 1, name
