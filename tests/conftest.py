"""Tests marked ``checked`` run twice: as they are, and with native code that checks every index and fresh memory.

In folders that look at many mechanisms, each a few times, kernels are compiled quickly, for the same bits
(tests/codegen compares them); those of tests marked slow, and of all other folders, are optimized as users have them.
"""

import pytest

from dalembert.native import checking

MANY_MECHANISMS = {"agreement", "analyses", "io_robots", "library"}


@pytest.fixture(autouse=True)
def kernels_are_compiled_quickly(request, monkeypatch):
    if request.path.parent.name in MANY_MECHANISMS and request.node.get_closest_marker("slow") is None:
        monkeypatch.setenv("DALEMBERT_OPTIMIZE", "0")


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
