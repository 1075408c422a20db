"""The idea of each formalism in one sentence, and its general equation."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["IDEAS", "Idea"]


@dataclass(frozen=True)
class Idea:
    """What a formalism does.

    Attributes:
        sentence: with formulas between dollar signs.
        equation: in pieces of LaTeX.
    """

    sentence: str
    equation: tuple[str, ...]


_LAGRANGE = (
    r"\frac{\mathrm{d}}{\mathrm{d}t} \frac{\partial L}{\partial \dot{q}_{i}}",
    r"- \frac{\partial L}{\partial q_{i}}",
    r"= Q_{i} + \sum_{j} a_{ji} \lambda_{j}",
)

IDEAS: dict[str, Idea] = {
    "lagrange": Idea(
        r"Energies alone give the equations: the Lagrangian $L = T - V$ is differentiated by coordinates and rates; "
        r"each constraint $a \dot{q} + b = 0$ brings a multiplier $\lambda$.",
        _LAGRANGE,
    ),
    "hamilton": Idea(
        r"Momenta $p = \partial L / \partial \dot{q}$ take the place of the rates, and one function, the Hamiltonian "
        r"$H = p \cdot \dot{q} - L$, gives twice as many equations of first order.",
        (
            r"\dot{q}_{i} = \frac{\partial H}{\partial p_{i}}, \quad",
            r"\dot{p}_{i} = - \frac{\partial H}{\partial q_{i}}",
            r"+ Q_{i} + \sum_{j} a_{ji} \lambda_{j}",
        ),
    ),
    "routh": Idea(
        r"Coordinates that do not appear in the Lagrangian leave it: their momenta $G$ are constants, and the Routhian "
        r"$R = L - G \cdot \dot{q}_{I}$ takes its place for the others.",
        (
            r"\frac{\mathrm{d}}{\mathrm{d}t} \frac{\partial R}{\partial \dot{q}_{i}}",
            r"- \frac{\partial R}{\partial q_{i}}",
            r"= Q_{i} + \sum_{j} a_{ji} \lambda_{j}",
        ),
    ),
    "maggi": Idea(
        r"Lagrange's expressions are combined along the directions $W = \partial \dot{q} / \partial u$ that the "
        r"constraints leave free, so that no multiplier remains.",
        (
            r"\sum_{i} W_{ij}",
            r"(\frac{\mathrm{d}}{\mathrm{d}t} \frac{\partial T}{\partial \dot{q}_{i}}",
            r"- \frac{\partial T}{\partial q_{i}} - Q_{i}) = 0",
        ),
    ),
    "kane": Idea(
        r"Forces and inertia forces of every body are multiplied by how its point moves with one quasi-velocity; "
        r"neither energies nor multipliers appear.",
        (
            r"\sum \frac{\partial v}{\partial u_{r}} \cdot (F - m a)",
            r"+ \frac{\partial \omega}{\partial u_{r}} \cdot (M - I \alpha - \omega \times I \omega) = 0",
        ),
    ),
    "gibbs-appell": Idea(
        r"The energy of accelerations $S$ is to accelerations what $T$ is to velocities; its derivatives are the "
        r"forces $U$ along the quasi-velocities.",
        (
            r"\frac{\partial S}{\partial \dot{u}_{i}} = U_{i}, \quad",
            r"S = \sum \frac{1}{2} m a \cdot a",
            r"+ \frac{1}{2} \alpha \cdot I \alpha + \alpha \cdot (\omega \times I \omega)",
        ),
    ),
    "boltzmann-hamel": Idea(
        r"Lagrange's equations in quasi-velocities $u$, which need not be rates of coordinates; the structure "
        r"coefficients $\gamma$ measure how far they are from being rates.",
        (
            r"\frac{\mathrm{d}}{\mathrm{d}t} \frac{\partial T}{\partial u_{i}}",
            r"- \sum_{r} W_{ri} \frac{\partial T}{\partial q_{r}}",
            r"+ \sum_{kj} \gamma^{k}_{ij} u_{j} \frac{\partial T}{\partial u_{k}} = U_{i}",
        ),
    ),
    "volterra": Idea(
        r"As many equations as freedoms from velocities alone: kinetic energy in quasi-velocities, and momenta $P$, "
        r"$H$ of the bodies times the rates of their partial velocities.",
        (
            r"\frac{\mathrm{d}}{\mathrm{d}t} \frac{\partial T}{\partial u_{j}}",
            r"- \sum (P \cdot \frac{\mathrm{d}}{\mathrm{d}t} \frac{\partial v}{\partial u_{j}}",
            r"+ H \cdot \frac{\mathrm{d}}{\mathrm{d}t} \frac{\partial \omega}{\partial u_{j}}) = U_{j}",
        ),
    ),
    "volterra-reduced": Idea(
        r"Volterra's equations with the momenta $G$ of ignorable coordinates as constraints of their own: the fewest "
        r"equations there can be.",
        (
            r"\frac{\mathrm{d}}{\mathrm{d}t} \frac{\partial T}{\partial u_{j}}",
            r"- \sum (P \cdot \frac{\mathrm{d}}{\mathrm{d}t} \frac{\partial v}{\partial u_{j}}",
            r"+ H \cdot \frac{\mathrm{d}}{\mathrm{d}t} \frac{\partial \omega}{\partial u_{j}}) = U_{j}",
        ),
    ),
    "woronetz": Idea(
        r"The constraints are solved for dependent rates, $\dot{q}_{D} = B \dot{q}_{I} + c$, which are put into the "
        r"kinetic energy; momenta of the dependent rates times the curvature of the constraints make up for it.",
        (
            r"\frac{\mathrm{d}}{\mathrm{d}t} \frac{\partial T^{*}}{\partial \dot{q}_{i}}",
            r"- \frac{\partial T^{*}}{\partial q_{i}} - \sum_{d} B_{di} \frac{\partial T^{*}}{\partial q_{d}}",
            r"- \sum_{d} p_{d} \beta^{d}_{i} = Q_{i} + \sum_{d} B_{di} Q_{d}",
        ),
    ),
}
