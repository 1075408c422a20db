"""Files are written whole or not at all."""

from __future__ import annotations

import os

import pytest

from dalembert.atomic import atomic_file, write_atomic
from dalembert.errors import DalembertError, ViewError


def test_text_and_bytes_replace_an_older_file(tmp_path):
    path = tmp_path / "a.txt"
    assert write_atomic(path, "Σ") == path and path.read_text(encoding="utf-8") == "Σ"
    write_atomic(path, b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff" and os.listdir(tmp_path) == ["a.txt"]


def test_a_link_keeps_pointing_to_what_is_written(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_atomic(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink() and (tmp_path / "real.txt").read_text() == "new"


def _half(path, failure):
    with atomic_file(path) as part:
        part.write_text("half")
        raise failure


def test_a_block_that_fails_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyError):
        _half(path, KeyError("no more"))
    with pytest.raises(DalembertError, match=r"cannot write .*a\.txt: No space left"):
        _half(path, OSError(28, "No space left on device"))
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.txt"]
    with atomic_file(path, sync=True) as part:
        part.write_text("new")
    assert path.read_text() == "new" and os.listdir(tmp_path) == ["a.txt"]


def test_what_cannot_be_a_file_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ViewError, match="there is no folder"):
        write_atomic(tmp_path / "none" / "a.txt", "x", ViewError)
    with pytest.raises(ViewError, match="not a plain file"):
        write_atomic(tmp_path, "x", ViewError)
    assert os.listdir(tmp_path) == []
