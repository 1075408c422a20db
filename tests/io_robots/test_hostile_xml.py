"""Untrusted XML: nothing is expanded or fetched, bounds hold, and errors say what and where."""

from __future__ import annotations

import random
import re
import warnings

import pytest
from io_robots.mjcf_models import MODELS, MUJOCO_CONSTRAINED
from io_robots.test_urdf import FOUR_BAR, robot
from support.effort import effort

import dalembert as da
from dalembert.errors import ViewError
from dalembert.io import loads_robot
from dalembert.io.xml_data import MAX_BYTES, MAX_DEPTH, parse_xml
from dalembert.view.meshes import read_mesh

LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE robot [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>
<robot name="&c;"><link name="a"/></robot>"""
EXTERNAL = '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="r">&x;</robot>'
EXTERNAL_DTD = '<!DOCTYPE robot SYSTEM "http://example.com/robot.dtd"><robot name="r"/>'
LINKS = '<link name="a"/><link name="b"/>'


def refused(text: str, **options) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.ReadWarning)
        with pytest.raises(da.ModelError) as error:
            loads_robot(text, "r.urdf", **options)
    return str(error.value)


@pytest.mark.parametrize("text", [LAUGHS, EXTERNAL, EXTERNAL_DTD], ids=["laughs", "external", "external dtd"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_document_types_and_entities_are_refused(text, encoding):
    with pytest.raises(da.ModelError, match="DOCTYPE"), effort() as spent:
        parse_xml(text.encode(encoding), "r.urdf")
    assert spent.calls < 10_000


def test_an_entity_that_is_not_declared():
    assert "cannot be read as XML: undefined entity" in refused('<robot name="&evil;"/>')


def test_a_document_type_in_a_comment_is_a_comment():
    assert parse_xml(b"<!-- <!DOCTYPE x> --><robot/>", "r.urdf").tag == "robot"


def test_large_files_are_not_read(tmp_path):
    file = tmp_path / "r.urdf"
    with file.open("wb") as out:
        out.truncate(50_000_000)
    with pytest.raises(da.ModelError, match=f"at most {MAX_BYTES // 1_000_000} MB"):
        da.read(file)


def test_deep_nesting():
    for tag in ("link", "body"):
        text = f"<robot>{f'<{tag}>' * 100_000}"
        assert f"nested deeper than {MAX_DEPTH} levels" in refused(text)
    bodies = "<body>" * (MAX_DEPTH - 5) + "</body>" * (MAX_DEPTH - 5)
    assert "nothing in the model can move" in refused(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")


def test_a_long_chain_of_links_is_no_recursion():
    n = 1500
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    links = "".join(f'<link name="l{i}">{inertial}</link>' for i in range(n))
    joints = "".join(
        f'<joint name="j{i}" type="fixed"><parent link="l{i}"/><child link="l{i + 1}"/></joint>' for i in range(n - 1)
    )
    model = loads_robot(f"<robot>{links}{joints}</robot>", base="free")
    assert float(model.bodies[0].mass) == n


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no element found"),
        ("not xml", "syntax error"),
        ("<robot>", "no element found"),
        ("<robot></link></robot>", "mismatched tag"),
        ('<robot name="a" name="b"/>', "duplicate attribute"),
        ("<sdf/>", "neither URDF"),
        ('<robot xmlns:xacro="x"><xacro:include/></robot>', "run xacro"),
        ("<robot/>", "no links"),
    ],
)
def test_what_is_no_robot(text, words):
    assert words in refused(text)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999", "1_0", "0x10", "one", "1;2"])
def test_numbers_that_are_none(value):
    joint = f'<joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 {value} 0"/></joint>'
    text = refused(f"<robot>\n{LINKS}\n{joint}</robot>")
    assert "origin: xyz: expected finite numbers" in text
    assert "r.urdf:3" in text


def test_structure_all_problems_at_once():
    text = refused(
        f"""<robot>{LINKS}<link name="a"/><link/>
        <joint name="j" type="revolute"><parent link="a"/><child link="b"/></joint>
        <joint name="j" type="revolute"><parent link="a"/><child link="b"/></joint>
        <joint name="k" type="wobbly"><parent link="a"/><child link="nowhere"/></joint>
        <joint name="l" type="revolute"><child link="b"/><axis xyz="0 0 0"/></joint>
        <loop_joint name="m" type="floating"><link1 link="a"/><link2 link="b"/></loop_joint>
        </robot>"""
    )
    for words in (
        "link 'a': the name is used twice",
        "link: name is missing",
        "joint 'j': the name is used twice",
        "child: unknown link 'nowhere'",
        "joint 'l': parent is missing",
        "link 'b' is already the child of joint 'j'",
        "type 'floating' cannot close a loop",
    ):
        assert words in text, words
    assert "r.urdf:4" in text


def test_cycles_and_several_roots():
    def joint(name: str, parent: str, child: str) -> str:
        return f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/></joint>'

    cycle = refused(f"<robot>{LINKS}<link name='c'/>{joint('j', 'b', 'c')}{joint('k', 'c', 'b')}</robot>")
    assert "the links form a cycle" in cycle
    whole = refused(f"<robot>{LINKS}{joint('j', 'a', 'b')}{joint('k', 'b', 'a')}</robot>")
    assert "the links form a cycle" in whole
    alone = refused(f"<robot>{LINKS}{joint('j', 'a', 'a')}</robot>")
    assert "cycle" in alone
    assert "the robot has 2 roots: a, b" in refused(f"<robot>{LINKS}</robot>")


def test_mimics_that_lead_nowhere():
    def joint(name: str, child: str, mimic: str) -> str:
        ends = f'<parent link="a"/><child link="{child}"/>'
        return f'<joint name="{name}" type="revolute">{ends}<mimic joint="{mimic}"/></joint>'

    text = refused(f"<robot>{LINKS}<link name='c'/>{joint('j', 'b', 'j')}{joint('k', 'c', 'none')}</robot>")
    assert "mimics itself" in text
    assert "unknown joint 'none'" in text


def test_unknown_options_are_named(tmp_path):
    assert "base must be 'fixed' or 'free'" in refused("<robot/>", base="flying")
    assert "fly" in refused("<robot/>", fly=True)
    file = tmp_path / "m.yaml"
    file.write_text("name: m\nbodies: [{name: a, mass: 1, inertia: [1, 1, 1]}]\n")
    with pytest.raises(da.ModelError, match="without option base"):
        da.read(file, base="free")


def test_long_texts_are_not_repeated():
    text = refused(f'<robot><link name="a"/><joint name="{"x" * 100_000}" type="{"y" * 100_000}"/></robot>')
    assert len(text) < 3000


VALUES = ("", "0", "-1", "1e99", "1e308", "1e-320", "nan", "1 2 3 4 5 6 7", "0 0 0 0", "a", "ground", "world", "free")


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_give_a_model_or_a_model_error(seed):
    """Attributes replaced, elements removed and doubled at random: no other exception, and no invalid model."""
    rng = random.Random(seed)
    texts = [*MODELS.values(), *MUJOCO_CONSTRAINED.values(), robot(*FOUR_BAR)]
    outcomes = {"model": 0, "error": 0}
    for _ in range(60):
        text = rng.choice(texts)
        for _ in range(rng.randint(1, 3)):
            at = rng.choice(list(re.finditer(r'="([^"]*)"', text)))
            if rng.random() < 0.7:
                text = text[: at.start(1)] + rng.choice(VALUES) + text[at.end(1) :]
                continue
            element = rng.choice(list(re.finditer(r"<\w[\w:]*[^>]*/>", text)))
            text = text[: element.start()] + element.group() * rng.choice((0, 2)) + text[element.end() :]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                loads_robot(text, merge_fixed=rng.random() < 0.5).validate()
            outcomes["model"] += 1
        except da.ModelError:
            outcomes["error"] += 1
    assert min(outcomes.values()) > 5


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.stl", b""),
        ("a.stl", b"solid nothing"),
        ("a.stl", b"\0" * 80 + b"\xff\xff\xff\xff" + b"\0" * 100),
        ("a.stl", b"vertex 1 2"),
        ("a.stl", b"vertex nan 1 2 vertex 1 2 3 vertex 1 2 4"),
        ("a.obj", b"v 1 2 3\nf 1 2 3"),
        ("a.obj", b"v 1 2\nf 1 1 1"),
        ("a.obj", b"f a b c"),
        ("a.obj", b"\xff\xfe\x00"),
        ("a.dae", b"<COLLADA/>"),
    ],
)
def test_damaged_meshes(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ViewError):
        read_mesh(tmp_path / name)


def test_ascii_stl_and_obj_polygons(tmp_path):
    facet = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1e0 0\nendloop"
    (tmp_path / "a.stl").write_text(f"solid\n{facet}")
    vertices, faces = read_mesh(tmp_path / "a.stl")
    assert (len(vertices), len(faces)) == (3, 1)
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf -4 -3 -2 -1\n")
    vertices, faces = read_mesh(tmp_path / "a.obj")
    assert faces.tolist() == [[0, 1, 2], [0, 2, 3]]
    with pytest.raises(ViewError):
        read_mesh(tmp_path / "missing.stl")
    with pytest.raises(ViewError):
        read_mesh(tmp_path)
