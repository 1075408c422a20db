"""The worked example of the reference page: short, and with something of every section."""

__all__ = ["EXAMPLE"]

EXAMPLE = """\
name: four-bar
description: a driven four-bar linkage with a spring and a trailing wheel
gravity: [0, -9.81, 0]
parameters:
  crank_length: 0.4
  density: 2.0                 # kg/m
  stiffness: 50
bodies:
  - name: crank
    mass: density*crank_length
    com: [0, crank_length/2, 0]
    inertia: [density*crank_length**3/12, 0, density*crank_length**3/12]
    color: "#d95f02"
  - name: coupler
    mass: 2*density
    com: [0.5, crank_length, 0]
    inertia: [0, 0.08*density, 0.08*density]
  - name: rocker
    mass: density
    com: [1, crank_length/2, 0]
    inertia: [0.02, 0, 0.02]
    shapes:
      - kind: cylinder
        radius: 0.02
        length: crank_length
        axis: y
        pose: [1, crank_length/2, 0]
points:
  - {name: tip, body: coupler, at: [1, crank_length, 0]}
joints:
  - {name: A, kind: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: z}
  - {name: B, kind: revolute, bodies: [crank, coupler], point: [0, crank_length, 0], axis: z}
  - {name: C, kind: revolute, bodies: [coupler, rocker], point: [1, crank_length, 0], axis: z}
  - name: D
    kind: revolute
    bodies: [ground, rocker]
    point: [1, 0, 0]
    axis: z
    cut: true                  # close the loop here
constraints:
  - {name: motor, kind: drive, joint: A, motion: 2*pi*t}
forces:
  - name: return spring
    kind: spring
    bodies: [crank, rocker]
    at: [[0, crank_length, 0], [1, 0, 0]]
    stiffness: stiffness
    damping: 1
  - name: bearing
    kind: joint-force
    joint: D
    value: -0.1*u(D) - 0.5*q(D)**3 + 0.1*current - brake(abs(u(D)))*sign(u(D))
states:
  - {name: current, rate: (voltage - 2*current - 0.1*u(D))/0.05, unit: A}
inputs:
  - {name: voltage, default: 0, unit: V}           # a run says what it is
tables:
  - {name: brake, x: [0, 1, 5, 20], y: [0, 0.1, 0.15, 0.16]}
outputs:
  - {name: reach, formula: "distance(tip, crank) + vx(tip)*Rxx(crank)"}
  - {name: height, formula: y(coupler) - crank_length/2, unit: m}
events:
  - {name: coasting, when: t - 5, direction: rising, switch: {motor: false}}
  - {name: dead center, when: u(D)}                # only records its times
fmus:
  - {name: drive, file: drive.fmu, step: 0.01, inputs: {speed: u(D)}, outputs: {voltage: v}}   # only if a run trusts it
ground_shapes:
  - {kind: box, size: [1.2, 0.05, 0.1], pose: [0.5, 0, -0.1]}
initial:
  A: 0.3
initial_rates:
  A: 6.283185307179586
velocities:
  omega: u(A) + u(D)
submodels:
  - name: wheel
    base: coupler
    pose: [1.2, 0.4, 0]
    parameters: {radius: crank_length/4}
    model:
      name: wheel
      parameters: {radius: 0.1}
      bodies:
        - {name: rim, mass: 0.5, inertia: [radius**2/8, radius**2/8, radius**2/4]}
      joints:
        - {name: axle, kind: revolute, bodies: [ground, rim], point: [0, 0, 0], axis: z}
"""
