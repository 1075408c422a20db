"""Tests marked ``checked`` run twice: as they are, and with native code that checks every index and fresh memory.

In folders that look at many mechanisms, each a few times, kernels are not compiled but run as tables, for the same bits
(tests/codegen compares them). Compiled as users have them are those of all other folders, of tests marked ``compiled``,
which evaluate more often, of tests marked slow, and of one in eight of the thousands in tests/agreement marked slow.

Files with long tests come first, so that no worker is left with one of them when the others have nothing to do.

What is there when all tests are collected stays until the end: garbage collection need not look at it again, and it
looks at the rest seldom, as most of what tests make is gone soon without it.
"""

import gc
import zlib

import pytest

from dalembert.native import checking

MANY_MECHANISMS = {
    "agreement", "analyses", "conventions", "io", "io_robots", "library", "model", "modular", "planar", "properties",
    "signals", "solids", "view",
}  # fmt: skip
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


def _is_compiled(item) -> bool:
    """Whether a test has kernels as users have them."""
    folder = item.path.parent.name
    if folder not in MANY_MECHANISMS or item.get_closest_marker("compiled") is not None:
        return True
    if item.get_closest_marker("slow") is None:
        return False
    # By name, so that the same tests are compiled everywhere.
    return folder != "agreement" or zlib.crc32(item.nodeid.encode()) % 8 == 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Around a test and all fixtures that are made for it; a fixture would come after those of its module."""
    with pytest.MonkeyPatch.context() as patch:
        if not _is_compiled(item):
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
