// ---- Shapes: nodes for solids, joint markers, frames, tubes and arrows ----

const AXIS_COLORS = ["#d1495b", "#3a9d5d", "#2f7ed8"];
const NEEDS_EDGES = new Set(["box", "cylinder", "cone", "mesh"]);

const vector = (numbers) => new Vector3().fromArray(numbers);
const rotation = ([w, x, y, z]) => new Quaternion(x, y, z, w);
const solidSurface = (color, opacity = 1, more = {}) => surface("solid", paint(color), { opacity, ...more });

function place(object, { position, quaternion }) {
  object.position.fromArray(position);
  object.quaternion.copy(rotation(quaternion));
}

/** Half extents by kind, for shapes centered on their origin. */
const HALF_EXTENTS = {
  box: ({ size }) => size.map((length) => length / 2),
  plane: ({ size }) => [size[0] / 2, size[1] / 2, 0],
  sphere: ({ radius }) => [radius, radius, radius],
  cylinder: ({ radius, length }) => [radius, radius, length / 2],
  cone: ({ radius, length }) => [radius, radius, length / 2],
  capsule: ({ radius, length }) => [radius, radius, length / 2 + radius],
  torus: ({ radius, tube }) => [radius + tube, radius + tube, tube],
};

/** Bounding box of a shape in its body's frame (of its turned box, so slightly generous). */
function shapeBox(shape) {
  const box = new Box3();
  if (shape.kind === "line" || shape.kind === "mesh") {
    const numbers = decode(shape.points || shape.vertices, Float32Array);
    for (let at = 0; at < numbers.length; at += 3) box.include(new Vector3().fromArray(numbers, at));
    if (shape.radius) box.expandByScalar(shape.radius);
  } else if (shape.kind === "frame") {
    box.include(new Vector3()).include(new Vector3(shape.length, shape.length, shape.length));
  } else {
    const half = vector(HALF_EXTENTS[shape.kind](shape));
    box.include(half.clone().negate()).include(half);
  }
  const pose = new Node();
  place(pose, shape);
  pose.settle();
  return Box3.around(box.corners().map((corner) => corner.applyMatrix(pose.world)));
}

/** One shape as a node, placed in its body's frame. `unit` is the size of small details. */
function buildShape(shape, bodyColor, unit) {
  const color = shape.color || bodyColor;
  let object;
  if (shape.kind === "line") {
    object = buildLine(decode(shape.points, Float32Array), shape.radius || 0.4 * unit, color, shape.opacity);
  } else if (shape.kind === "frame") {
    object = buildFrame(shape.length);
  } else {
    const doubleSided = shape.kind === "plane" || shape.kind === "mesh";
    const geometry = GEOMETRY[shape.kind](shape);
    // A plane lies behind the grid lines when both are on the floor.
    const material = solidSurface(color, shape.opacity, { doubleSided, behind: shape.kind === "plane" });
    object = new Node(geometry, material);
    if (NEEDS_EDGES.has(shape.kind)) object.add(buildEdges(geometry, color, shape.opacity));
    object.castShadow = shape.opacity > 0.5;
  }
  place(object, shape);
  return object;
}

function buildEdges(geometry, color, opacity) {
  const dark = paint(color).map((value) => 0.35 * value);
  return new Node(edgesOf(geometry), surface("flat", dark, { opacity: 0.45 * opacity }));
}

/** A polyline as round bars with a ball at every point. */
function buildLine(points, radius, color, opacity) {
  const count = points.length / 3;
  const ball = GEOMETRY.sphere({ radius }, 16, 12);
  const bar = GEOMETRY.cylinder({ radius, length: 1 }, 16);
  const at = (k) => new Vector3().fromArray(points, 3 * k);
  ball.instances = new Float32Array(16 * count);
  bar.instances = new Float32Array(16 * (count - 1));
  const whole = new Vector3(1, 1, 1);
  for (let k = 0; k < count; k++) {
    ball.instances.set(new Matrix().compose(at(k), new Quaternion(), whole).m, 16 * k);
  }
  for (let k = 0; k + 1 < count; k++) {
    const [from, to] = [at(k), at(k + 1)];
    const stretch = new Vector3(1, 1, Math.max(from.distanceTo(to), 1e-9));
    const middle = new Vector3().lerpVectors(from, to, 0.5);
    bar.instances.set(new Matrix().compose(middle, turnZ(to.clone().sub(from)), stretch).m, 16 * k);
  }
  const group = new Node();
  for (const geometry of [ball, bar]) {
    const part = new Node(geometry, solidSurface(color, opacity));
    part.castShadow = true;
    group.add(part);
  }
  return group;
}

/** Rotation that takes local z to `direction`. */
function turnZ(direction) {
  const unit = direction.lengthSq() > 0 ? direction.clone().normalize() : new Vector3(0, 0, 1);
  return new Quaternion().setFromUnitVectors(new Vector3(0, 0, 1), unit);
}

/** Red, green and blue arrows along x, y and z. */
function buildFrame(length) {
  const group = new Node();
  AXIS_COLORS.forEach((color, k) => {
    const material = solidSurface(color);
    const shaft = new Node(GEOMETRY.cylinder({ radius: 0.022 * length, length: 0.8 * length }), material);
    const tip = new Node(GEOMETRY.cone({ radius: 0.065 * length, length: 0.2 * length }), material);
    shaft.position.z = 0.4 * length;
    tip.position.z = 0.9 * length;
    const arrow = new Node().add(shaft, tip);
    arrow.quaternion.copy(turnZ(new Vector3().setComponent(k, 1)));
    group.add(arrow);
  });
  return group;
}

/** A joint's mark: its solids, with lengths in units of `radius`, and its axis as local z. */
function buildJoint(joint, radius) {
  const material = solidSurface("#808891", 1, { metalness: 0.35, roughness: 0.4 });
  // A pale second pass where something stands in front, so that a joint inside a link can still be seen.
  const ghost = solidSurface("#c3cad1", 0.4, { hiddenOnly: true });
  const group = new Node();
  for (const solid of joint.solids) {
    const geometry = GEOMETRY[solid.kind](solid);
    const parts = [new Node(geometry, material), new Node(geometry, ghost)];
    parts[0].castShadow = true;
    for (const part of parts) place(part, solid);
    group.add(...parts);
  }
  group.scale.set(radius, radius, radius);
  group.position.fromArray(joint.position);
  group.quaternion.copy(turnZ(vector(joint.axis)));
  return group;
}

/** A round tube along a chain of points that may be moved later. */
class Tube {
  constructor(count, radius, material, sides = 7) {
    Object.assign(this, { count, radius, sides });
    const index = [];
    for (let k = 0; k + 1 < count; k++) {
      for (let s = 0; s < sides; s++) {
        const [a, b] = [k * sides + s, k * sides + ((s + 1) % sides)];
        index.push(a, b, a + sides, b, b + sides, a + sides);
      }
    }
    const room = new Float32Array(3 * count * sides);
    this.mesh = new Node(new Geometry(room, room, index), material);
  }

  /** Move the center line; the cross-section is carried along without twist. */
  setPoints(points) {
    const { geometry } = this.mesh;
    const [at, normal] = [new Vector3(), new Vector3()];
    const tangent = new Vector3(0, 0, 1);
    const side = new Vector3(1, 0, 0);
    const other = new Vector3();
    const step = new Vector3();
    for (let k = 0; k < this.count; k++) {
      step.subVectors(points[Math.min(k + 1, this.count - 1)], points[Math.max(k - 1, 0)]);
      if (step.lengthSq() > 0) tangent.copy(step).normalize();
      side.addScaledVector(tangent, -side.dot(tangent));
      if (side.lengthSq() < 1e-8) side.set(tangent.y, tangent.z, tangent.x).cross(tangent);
      side.normalize();
      other.crossVectors(tangent, side);
      for (let s = 0; s < this.sides; s++) {
        const angle = (2 * Math.PI * s) / this.sides;
        const [c, d] = [Math.cos(angle), Math.sin(angle)];
        const i = k * this.sides + s;
        normal.copy(side).multiplyScalar(c).addScaledVector(other, d).toArray(geometry.normals, 3 * i);
        at.copy(points[k]).addScaledVector(normal, this.radius).toArray(geometry.positions, 3 * i);
      }
    }
    geometry.version += 1;
  }

  /** Draw only the first `segments` pieces. */
  show(segments) {
    this.mesh.geometry.drawn = 6 * this.sides * segments;
  }
}

/** A force: a shaft that ends in a head, in the direction in which it acts. */
class Arrow {
  constructor(unit) {
    this.head = 2.8 * unit;
    const color = "#d9480f";
    // What is inside a body shines through it.
    const materials = [solidSurface(color), surface("flat", paint(color), { opacity: 0.7, hiddenOnly: true, order: 1 })];
    const part = (geometry) => new Node().add(...materials.map((material) => new Node(geometry, material)));
    this.shaft = part(GEOMETRY.cylinder({ radius: 0.35 * unit, length: 1 }, 12));
    this.tip = part(GEOMETRY.cone({ radius: unit, length: this.head }));
    this.node = new Node().add(this.shaft, this.tip);
  }

  /** From a point of the world along a vector; what is shorter than a head is a small head. */
  point(from, along) {
    const length = along.length();
    this.shaft.visible = this.tip.visible = length > 0;
    if (length === 0) return;
    const share = Math.min(1, length / (1.5 * this.head));
    const rest = Math.max(length - share * this.head, 1e-9);
    this.node.position.copy(from);
    this.node.quaternion.copy(turnZ(along));
    this.shaft.scale.set(share, share, rest);
    this.shaft.position.set(0, 0, rest / 2);
    this.tip.scale.set(share, share, share);
    this.tip.position.set(0, 0, length - (share * this.head) / 2);
  }
}
