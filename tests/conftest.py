"""Tests marked ``checked`` run twice: as they are, and with native code that checks every index and fresh memory.

In folders that look at many mechanisms, each a few times, kernels are compiled quickly, for the same bits
(tests/codegen compares them); those of tests marked slow, and of all other folders, are optimized as users have them.

Files with long tests come first, so that no worker is left with one of them when the others have nothing to do.

What is there when all tests are collected stays until the end: garbage collection need not look at it again, and it
looks at the rest seldom, as most of what tests make is gone soon without it.
"""

import gc

import pytest

from dalembert.native import checking

MANY_MECHANISMS = {"agreement", "analyses", "io_robots", "library", "model", "modular", "planar", "signals", "solids"}
LONG = (
    "test_twins", "test_docs_examples", "test_examples", "test_rolled", "test_checkpoint", "test_view_browser",
    "test_derivation_textbook", "test_derivation_object", "test_verification_benchmarks", "test_loops",
    "test_library", "test_recipe", "test_natural",
)  # fmt: skip


# Objects made, less those gone, before garbage is looked for, then how often older ones are looked at.
gc.set_threshold(50_000, 20, 20)


def pytest_collection_modifyitems(items):
    place = {name: i for i, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path.stem, len(LONG)))


def pytest_collection_finish():
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Around a test and all fixtures that are made for it; a fixture would come after those of its module."""
    quick = item.path.parent.name in MANY_MECHANISMS and item.get_closest_marker("slow") is None
    with pytest.MonkeyPatch.context() as patch:
        if quick:
            patch.setenv("DALEMBERT_OPTIMIZE", "0")
        return (yield)


def pytest_generate_tests(metafunc):
    if metafunc.definition.get_closest_marker("checked") is not None:
        if "native_mode" not in metafunc.fixturenames:
            metafunc.fixturenames.append("native_mode")
        metafunc.parametrize("native_mode", ["fast", "checked"], indirect=True)


@pytest.fixture
def native_mode(request):
    """How native code that a test makes is compiled: ``fast`` or ``checked``."""
    with checking(request.param == "checked"):
        yield request.param
