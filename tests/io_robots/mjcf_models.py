"""Small MJCF models, one for each thing that the reader knows."""

from __future__ import annotations

__all__ = ["MODELS", "MUJOCO_CONSTRAINED"]


def mujoco(body: str, head: str = "", tail: str = "") -> str:
    return f'<mujoco model="test">{head}<worldbody>{body}</worldbody>{tail}</mujoco>'


MODELS = {
    "hinge and slide": mujoco(
        """
        <body name="a" pos="0 0 1" euler="10 20 30">
          <inertial pos=".1 .2 .3" mass="2" diaginertia=".3 .2 .4" quat=".9 .1 .2 .3"/>
          <joint name="turn" type="hinge" axis="1 2 3" pos=".1 0 .2"/>
          <body name="b" pos=".5 0 0" quat=".7 0 .7 0">
            <inertial pos="0 0 .1" mass="1" fullinertia=".3 .4 .5 .01 .02 .03"/>
            <joint name="push" type="slide" axis="0 1 1"/>
          </body>
        </body>"""
    ),
    "several joints in one body": mujoco(
        """
        <body name="torso" pos="0 0 1.3">
          <joint name="rootx" type="slide" axis="1 0 0"/>
          <joint name="rootz" type="slide" axis="0 0 1" ref="1.3"/>
          <joint name="rooty" type="hinge" axis="0 1 0" pos=".1 0 .2"/>
          <geom type="capsule" fromto="0 0 -.2 0 .1 .3" size=".07"/>
          <body pos="0 0 -.3">
            <joint type="hinge" axis="1 0 0"/>
            <joint type="hinge" axis="0 1 0" pos="0 .1 0"/>
            <joint type="hinge" axis="0 0 1"/>
            <geom type="box" size=".1 .05 .2" pos="0 0 -.2"/>
          </body>
        </body>"""
    ),
    "free and ball": mujoco(
        """
        <body name="base" pos="1 2 3" axisangle="1 1 0 40">
          <freejoint/>
          <geom type="ellipsoid" size=".1 .2 .3" density="700"/>
          <body name="arm" pos=".3 0 0">
            <joint name="shoulder" type="ball" pos="-.1 0 0"/>
            <geom type="cylinder" size=".05 .2" zaxis="1 1 1"/>
            <body name="hand" pos="0 0 .4" xyaxes="0 1 0 -1 0 .2">
              <joint name="wrist" axis="0 0 -2"/>
              <geom type="sphere" size=".1" mass=".4"/>
            </body>
          </body>
        </body>"""
    ),
    "armature, springs and dampers": mujoco(
        """
        <body name="base">
          <joint name="float" type="free" armature=".4" damping=".3"/>
          <geom size=".2"/>
          <body name="a" pos=".3 0 0">
            <joint name="h" axis="0 1 0" armature=".5" damping=".7" stiffness="20" springref="25" ref="10"/>
            <geom type="box" size=".2 .1 .1" pos=".2 0 0"/>
            <body name="b" pos=".4 0 0">
              <joint name="s" type="slide" axis="1 0 0" armature="1.5" damping="2" stiffness="30" springref=".1"/>
              <joint name="ball" type="ball" armature=".2" damping=".4"/>
              <geom type="capsule" size=".05 .1" pos="0 0 .1"/>
            </body>
          </body>
        </body>"""
    ),
    "defaults and classes": mujoco(
        """
        <body name="a" childclass="light">
          <joint name="one"/>
          <geom/>
          <body name="b" pos=".2 0 0">
            <joint name="two" class="stiff"/>
            <geom class="heavy" size=".1 .1 .3"/>
            <body name="c" pos=".2 0 0" childclass="heavy"><joint name="three"/><geom pos="0 0 .1"/></body>
          </body>
        </body>""",
        """
        <default>
          <joint axis="0 1 0" damping=".2"/>
          <geom type="box" size=".1 .1 .1"/>
          <default class="light"><geom density="100"/>
            <default class="stiff"><joint stiffness="5" damping=".5"/></default>
          </default>
          <default class="heavy"><geom density="5000"/><joint axis="1 0 0"/></default>
        </default>""",
    ),
    "radians, fixed euler angles, frames": mujoco(
        """
        <frame pos="0 0 2" euler=".1 .2 .3">
          <body name="a" euler=".3 .2 .1">
            <joint name="j" axis="1 0 0" ref=".4"/>
            <geom type="box" size=".1 .2 .3"/>
            <frame pos=".1 0 0" axisangle="0 0 1 .5">
              <geom type="sphere" size=".1" pos=".3 0 0"/>
              <body name="b" pos="0 0 .5">
                <frame euler="0 .7 0"><joint name="k" pos=".1 .2 0"/></frame><geom size=".1"/></body>
            </frame>
          </body>
        </frame>""",
        '<compiler angle="radian" eulerseq="ZYX"/>',
    ),
    "bodies without joints": mujoco(
        """
        <body name="fixed to ground" pos="0 0 1" euler="0 30 0">
          <geom size=".1"/>
          <body name="mover" pos=".2 0 0"><joint name="j" axis="0 1 0"/><geom size=".1"/>
            <body name="rigid" pos="0 0 .3" euler="20 0 0"><geom type="box" size=".1 .2 .1" pos=".1 0 0"/>
              <body name="tip" pos=".2 0 0"><joint name="k" axis="1 0 0"/><geom size=".05"/></body>
            </body>
          </body>
        </body>"""
    ),
    "masses set by the compiler": mujoco(
        """
        <body name="a"><joint name="j" axis="0 1 0"/><inertial pos=".1 0 0" mass=".01" diaginertia=".1 .1 .3"/>
          <body name="b" pos=".3 0 0"><joint name="k" axis="0 1 0"/><geom type="box" size=".1 .1 .2"/></body>
        </body>""",
        '<compiler boundmass=".2" boundinertia=".02" balanceinertia="true"/>',
    ),
    "inertia from geoms alone": mujoco(
        """
        <body name="a"><joint name="j" axis="0 1 0"/><inertial pos="0 0 0" mass="9" diaginertia="1 1 1"/>
          <geom type="box" size=".1 .1 .2" pos=".2 0 0"/>
          <geom size=".1" mass="0"/><geom size=".3" group="4"/></body>""",
        '<compiler inertiafromgeom="true" inertiagrouprange="0 3"/>',
    ),
    "mesh without faces": mujoco(
        """
        <body name="a" pos="0 0 1"><joint name="j" axis="0 1 0"/>
          <geom type="mesh" mesh="tetra" pos=".1 0 0" euler="20 0 0"/></body>""",
        '<asset><mesh name="tetra" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale=".5 .4 .3"/></asset>',
    ),
    "gravity": mujoco(
        """
        <body name="a"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/>
          <body name="b" gravcomp=".7"><joint name="k" axis="1 0 0"/><geom size=".1" pos="0 .3 .1"/></body></body>""",
        '<option gravity="1 2 -3"/>',
    ),
    "actuators": mujoco(
        """
        <body name="a"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/>
          <body name="b" pos=".3 0 0"><joint name="k" type="slide" axis="1 0 0"/>
            <geom size=".1" pos="0 .3 .1"/></body></body>""",
        '<default><position kp="7"/></default>',
        """
        <actuator>
          <motor joint="j" gear="10"/>
          <position joint="j" gear="2" kv=".5"/>
          <velocity joint="k" kv="3" gear="1.5"/>
          <general joint="k" gainprm="4" biastype="affine" biasprm="1 2 3"/>
        </actuator>""",
    ),
}

# Nearly rigid constraints, so that MuJoCo's soft ones can be compared.
_RIGID = 'solref="0.0001 1" solimp="0.9999 0.9999 0.001"'

MUJOCO_CONSTRAINED = {
    "connect": mujoco(
        """
        <body name="crank"><joint name="A" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 .3" size=".02"/>
          <body name="coupler" pos="0 0 .3"><joint name="B" axis="0 1 0"/>
            <geom type="capsule" fromto="0 0 0 .8 0 .3" size=".02"/></body></body>
        <body name="rocker" pos="1 0 0"><joint name="D" axis="0 1 0"/>
          <geom type="capsule" fromto="0 0 0 -.2 0 .6" size=".02"/></body>""",
        tail=f'<equality><connect body1="coupler" body2="rocker" anchor=".8 0 .3" {_RIGID}/></equality>',
    ),
    "weld": mujoco(
        """
        <body name="a" pos="0 0 1"><freejoint name="fa"/><geom type="box" size=".1 .2 .1"/>
          <body name="c" pos=".2 0 0"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body></body>
        <body name="b" pos=".6 0 1" euler="0 0 30">
          <joint name="fb" axis="0 1 0" pos=".2 0 0"/><geom type="box" size=".1 .1 .3"/></body>
        """,
        tail=f'<equality><weld body1="a" body2="b" {_RIGID}/></equality>',
    ),
    "joint": mujoco(
        """
        <body name="a"><joint name="j" axis="0 1 0" ref="30"/><geom size=".1" pos=".2 0 0"/></body>
        <body name="b" pos="0 1 0"><joint name="k" type="slide" axis="0 0 1" ref=".2"/><geom size=".1"/></body>
        <body name="c" pos="0 2 0"><joint name="l" axis="0 1 0"/><geom size=".1" pos=".3 0 .1"/></body>""",
        tail=f"""<equality>
          <joint joint1="j" joint2="k" polycoef="0 3 0 0 0" {_RIGID}/>
          <joint joint1="l" joint2="k" polycoef="0 .5 2 1 0" {_RIGID}/>
        </equality>""",
    ),
    "sites": mujoco(
        """
        <body name="a"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/><site name="p" pos=".4 0 0"/></body>
        <body name="b" pos=".4 0 -.5"><freejoint name="k"/>
          <geom size=".1" pos="0 .2 .3"/><site name="q" pos="0 0 .5"/></body>
        <body name="c" pos=".4 .3 0"><freejoint name="f"/>
          <geom size=".1" pos="0 0 .3"/><site name="r" pos="0 -.3 0"/></body>""",
        tail=f"""<equality>
          <connect site1="p" site2="q" {_RIGID}/><weld site1="q" site2="r" {_RIGID}/></equality>""",
    ),
}
