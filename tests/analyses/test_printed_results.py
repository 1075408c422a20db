"""What a person sees who prints a result: names and numbers, never the inside of a class."""

import dalembert as da


def test_an_inspection_prints_tree_loops_and_counts():
    lines = str(da.inspect(da.library.four_bar())).splitlines()
    assert lines == [
        "four-bar: 3 bodies, 4 joints, 1 loop",
        "ground",
        "├── crank  by revolute joint A",
        "│   └── coupler  by revolute joint B",
        "└── rocker  by revolute joint D",
        "loop closed by revolute joint C, from ground: B – A – D",
        "degrees of freedom    1  (rank of the constraints in this position)",
        "by Grübler's count    -2",
        "constraint equations  5, of which 0 nonholonomic",
        "redundant             3: C[2], C[3], C[4]",
        "mass                  4.4 kg",
        "size                  1 × 0.8 × 0 m",
        "chains                crank – coupler; rocker",
    ]


def test_a_long_chain_is_drawn_in_part():
    model = da.Model("chain")
    before = model.ground
    for i in range(210):
        body = model.body(f"b{i}", mass=1, com=(i, 0, 0), inertia=(1, 1, 1))
        model.revolute(f"j{i}", before, body, point=(i, 0, 0), axis="y")
        before = body
    tree = [line for line in str(da.inspect(model)).splitlines() if "└" in line or "…" in line]
    assert len(tree) == 201 and tree[-1] == "… and 10 bodies more"


def test_a_state_prints_coordinates_by_name_with_their_rates():
    model = da.Model("two", gravity=(0, 0, -9.81))
    rod = model.rod("rod", (0, 0, 0), (1, 0, 0), mass=1)
    model.revolute("hinge", model.ground, rod, point=(0, 0, 0), axis="y")
    model.body("ball", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.spherical("socket", rod, "ball", point=(1, 0, 0))
    assert repr(da.assemble(model, {"hinge": 0.25}, {"hinge": 2})) == (
        "<State of 'two' at t = 0 s: hinge 0.25, socket[0] 1, socket[1] 0, socket[2] 0, socket[3] 0>"
    )
    assert repr(da.assemble(da.library.pendulum(), {"pivot": 0.25}, {"pivot": 2})) == (
        "<State of 'pendulum' at t = 0 s: pivot 0.25 (rate 2)>"
    )


def test_a_linear_model_is_short_in_a_list():
    found = da.linearize(da.library.pendulum(), at=da.equilibrium(da.library.pendulum())[0])
    assert repr(found) == "<LinearModel of 'pendulum': 2 states, 0 inputs, 1 outputs; equilibrium>"


def test_motions_of_a_run_say_what_they_hold():
    run = da.simulate(da.library.pendulum(), 0.1, output_step=0.01)
    assert repr(run.body("bob")) == ("<Motion of a body at 11 times: position, quaternion, velocity, angular_velocity>")
    assert repr(run.joint("pivot")) == "<Motion of a joint at 11 times: coordinates q, velocities u>"
