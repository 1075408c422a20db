"""All tests of the compiler use a cache directory of their own."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache_directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DALEMBERT_CACHE_DIR", str(directory))
        yield directory
