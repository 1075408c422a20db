"""The HTML text: names stay text, numbers survive, and the file is written whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pytest
from renamed_scene import renamed

from dalembert.view import Scene, SceneBody, SceneError, Shape, ViewError, html, write_html
from dalembert.view.page import asset
from dalembert.view.payload import encode_array

SINGLE = np.finfo(np.float32).eps


def decode_array(text, dtype, shape=(-1,)):
    """What ``encode_array`` wrote."""
    return np.frombuffer(base64.b64decode(text), dtype=np.dtype(dtype)).reshape(shape)


class Page(HTMLParser):
    """Elements and script texts as a browser's parser would split them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.scripts, self.title, self.policy = [], [], "", ""
        self._inside = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"]

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside == "script":
            attrs, text = self.scripts[-1]
            self.scripts[-1] = (attrs, text + data)
        elif self._inside == "title":
            self.title += data

    def data(self):
        return json.loads(next(text for attrs, text in self.scripts if attrs.get("id") == "scene-data"))


HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "<!-- <script> ]]>",
    "{{data}} {{title}} \\u003c",
    '"><img src=x onerror="window.hacked = 1">',
    "&lt;b&gt; &amp; \u2028\u2029 \x00 \ud800 Ω",
    "__proto__",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_text(name, two_body_scene):
    plain = Page(html(two_body_scene))
    scene = renamed(two_body_scene, name)
    page = Page(html(scene))
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in plain.tags]
    assert page.data()["bodies"][0]["name"] == name
    assert page.data()["facts"] == [[name, name]]
    assert page.data()["plots"][0]["series"][0]["name"] == name
    if "\x00" not in name:
        assert page.title == name


def test_poses_survive_in_single_precision_and_plots_exactly(two_body_scene):
    data = Page(html(two_body_scene)).data()
    np.testing.assert_array_equal(decode_array(data["time"], "<f8"), two_body_scene.time)
    for got, body in zip(data["bodies"], two_body_scene.bodies, strict=True):
        position = decode_array(got["position"], "<f4", (-1, 3))
        quaternion = decode_array(got["quaternion"], "<f4", (-1, 4))
        np.testing.assert_allclose(position, body.position, rtol=SINGLE, atol=SINGLE)
        np.testing.assert_allclose(quaternion, body.quaternion, rtol=SINGLE, atol=SINGLE)
    energy = decode_array(data["plots"][1]["series"][0]["values"], "<f8")
    np.testing.assert_array_equal(energy, two_body_scene.plots[1].series["total"])


def test_quaternions_are_normalized():
    body = SceneBody("b", [], np.zeros((1, 3)), np.array([[2.0, 0, 0, 0]]))
    data = Page(html(Scene("s", np.array([0.0]), [body]))).data()
    np.testing.assert_array_equal(decode_array(data["bodies"][0]["quaternion"], "<f4"), [1, 0, 0, 0])


def test_a_mesh_survives():
    vertices, faces = np.random.default_rng(1).normal(size=(4, 3)), [(0, 1, 2), (0, 2, 3)]
    scene = Scene("s", np.array([0.0]), ground_shapes=[Shape("mesh", vertices=vertices, faces=faces)])
    shape = Page(html(scene)).data()["ground"][0]
    np.testing.assert_array_equal(decode_array(shape["vertices"], "<f4", (-1, 3)), vertices.astype(np.float32))
    np.testing.assert_array_equal(decode_array(shape["faces"], "<u4", (-1, 3)), faces)


def test_arrays_of_any_layout_are_encoded_by_rows():
    array = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(decode_array(encode_array(array.T[::-1], "<f8"), "<f8", (4, 3)), array.T[::-1])


def test_the_policy_admits_exactly_our_scripts_and_style(two_body_scene):
    page = Page(html(two_body_scene))
    run = [text for attrs, text in page.scripts if "type" not in attrs]
    style = html(two_body_scene).partition("<style>")[2].partition("</style>")[0]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in [*run, style]]
    assert re.findall(r"'sha256-([^']+)'", page.policy) == hashes
    assert "default-src 'none'" in page.policy
    assert "http" not in page.policy
    assert "unsafe" not in page.policy


def test_the_page_refers_to_nothing_outside(two_body_scene):
    for tag, attrs in Page(html(two_body_scene)).tags:
        assert not {"src", "href", "srcset", "action", "data"} & set(attrs), tag


def test_the_page_is_small_and_all_ours(two_body_scene):
    page = html(two_body_scene)
    assert len(page) - len(json.dumps(Page(page).data())) < 120_000


def test_writing_returns_the_path_and_replaces_an_old_file(tmp_path, two_body_scene):
    path = tmp_path / "page.html"
    path.write_text("old")
    assert write_html(two_body_scene, str(path)) == path
    assert path.read_text(encoding="utf-8") == html(two_body_scene)
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_broken_scene_leaves_the_old_file(tmp_path, two_body_scene):
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(SceneError):
        write_html(replace(two_body_scene, up="w"), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_failing_disk_leaves_nothing_behind(tmp_path, two_body_scene, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ViewError, match="No space left"):
        write_html(two_body_scene, tmp_path / "page.html")
    assert os.listdir(tmp_path) == []


def test_an_unwritable_path_is_reported_clearly(tmp_path, two_body_scene):
    with pytest.raises(ViewError, match="there is no folder"):
        write_html(two_body_scene, tmp_path / "missing" / "page.html")
    assert os.listdir(tmp_path) == []
    with pytest.raises(ViewError, match="not a plain file"):
        write_html(two_body_scene, tmp_path)


@pytest.mark.parametrize("room", ["dalembert.view", "dalembert.export"])
def test_scripts_lose_blanks_and_remarks_only(room):
    """All signs stay, in their order, but the semicolon of a block's last statement; texts and templates keep their
    blanks, also those inside of others."""

    def signs(text: str) -> str:
        return re.sub(r";(?=\})", "", re.sub(r"\s", "", text))

    for file in (resources.files(room) / "assets").iterdir():
        if file.name.endswith(".js"):
            lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
            kept = [line.split(" // ")[0] for line in lines if not re.match(r"//|/\*.*\*/$", line)]
            assert signs(asset(room, file.name)) == signs("".join(kept)), file.name
    text = asset("dalembert.export", "live.js")
    assert '`, ${this.live.companion.by}` : ""' in text and "const six=(value)=>" in text
