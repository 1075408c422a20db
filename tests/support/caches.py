"""A cache directory of their own for the tests of one folder; those after them use the one before."""

from __future__ import annotations

import pytest

__all__ = ["cache_directory", "own_directory"]


@pytest.fixture(scope="session")
def own_directory(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module", autouse=True)
def cache_directory(own_directory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DALEMBERT_CACHE_DIR", str(own_directory))
        yield own_directory
