"""All tests of the compiler use a cache directory of their own; those after them use the one before."""

import pytest


@pytest.fixture(scope="session")
def directory_of_the_compiler(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture(scope="module", autouse=True)
def cache_directory(directory_of_the_compiler):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DALEMBERT_CACHE_DIR", str(directory_of_the_compiler))
        yield directory_of_the_compiler
