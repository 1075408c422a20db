// ---- Shapes: three.js meshes for solids, joint markers, frames, tubes and coils ----

const THREE = window.MeshCat.THREE;

const AXIS_COLORS = ["#d1495b", "#3a9d5d", "#2f7ed8"];
const CREASE = Math.PI / 6;
const NEEDS_EDGES = new Set(["box", "cylinder", "cone", "mesh"]);

const vector = (numbers) => new THREE.Vector3().fromArray(numbers);
const rotation = ([w, x, y, z]) => new THREE.Quaternion(x, y, z, w);
const paint = (hex) => new THREE.Color(hex).convertSRGBToLinear();

function place(object, { position, quaternion }) {
  object.position.fromArray(position);
  object.quaternion.copy(rotation(quaternion));
}

function solidMaterial(color, opacity = 1, extra = {}) {
  return new THREE.MeshStandardMaterial({
    color: paint(color),
    roughness: 0.52,
    metalness: 0.06,
    transparent: opacity < 1,
    opacity,
    depthWrite: opacity >= 1,
    ...extra,
  });
}

/** Geometries by kind; solids of revolution are turned from three's y-axis to our z-axis. */
const GEOMETRY = {
  box: ({ size }) => new THREE.BoxGeometry(...size),
  sphere: ({ radius }) => new THREE.SphereGeometry(radius, 40, 28),
  cylinder: ({ radius, length }) => alongZ(new THREE.CylinderGeometry(radius, radius, length, 48)),
  cone: ({ radius, length }) => alongZ(new THREE.ConeGeometry(radius, length, 48)),
  torus: ({ radius, tube }) => new THREE.TorusGeometry(radius, tube, 24, 72),
  octahedron: ({ radius }) => new THREE.OctahedronGeometry(radius),
  plane: ({ size }) => new THREE.PlaneGeometry(...size),
  capsule: ({ radius, length }) => {
    const profile = [];
    for (let k = 0; k <= 32; k++) {
      const angle = (Math.PI * k) / 32 - Math.PI / 2;
      const end = (k < 16 ? -length : length) / 2;
      if (k === 16) profile.push(new THREE.Vector2(radius, -length / 2));
      profile.push(new THREE.Vector2(radius * Math.cos(angle), end + radius * Math.sin(angle)));
    }
    return alongZ(new THREE.LatheGeometry(profile, 40));
  },
  mesh: ({ vertices, faces }) => {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(decode(vertices, Float32Array), 3));
    geometry.setIndex(new THREE.BufferAttribute(decode(faces, Uint32Array), 1));
    return withCreases(geometry.toNonIndexed());
  },
};

function alongZ(geometry) {
  return geometry.rotateX(Math.PI / 2);
}

/** Normals that are smooth over gentle bends and sharp over edges. */
function withCreases(geometry) {
  const points = geometry.attributes.position;
  const faceNormals = [];
  const facesAt = new Map();
  const key = (i) => `${points.getX(i)},${points.getY(i)},${points.getZ(i)}`;
  const [a, b, c] = [new THREE.Vector3(), new THREE.Vector3(), new THREE.Vector3()];
  for (let i = 0; i < points.count; i += 3) {
    [a, b, c].forEach((corner, k) => corner.fromBufferAttribute(points, i + k));
    faceNormals.push(b.clone().sub(a).cross(c.clone().sub(a)).normalize());
    for (let k = 0; k < 3; k++) {
      const at = key(i + k);
      if (!facesAt.has(at)) facesAt.set(at, []);
      facesAt.get(at).push(i / 3);
    }
  }
  const normals = new Float32Array(3 * points.count);
  const cosine = Math.cos(CREASE);
  for (let i = 0; i < points.count; i++) {
    const own = faceNormals[Math.floor(i / 3)];
    const sum = new THREE.Vector3();
    for (const face of facesAt.get(key(i))) {
      if (faceNormals[face].dot(own) >= cosine) sum.add(faceNormals[face]);
    }
    sum.normalize().toArray(normals, 3 * i);
  }
  geometry.setAttribute("normal", new THREE.BufferAttribute(normals, 3));
  return geometry;
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
  const box = new THREE.Box3();
  if (shape.kind === "line" || shape.kind === "mesh") {
    box.setFromArray(decode(shape.points || shape.vertices, Float32Array));
    if (shape.radius) box.expandByScalar(shape.radius);
  } else if (shape.kind === "frame") {
    box.set(new THREE.Vector3(), new THREE.Vector3(shape.length, shape.length, shape.length));
  } else {
    const half = vector(HALF_EXTENTS[shape.kind](shape));
    box.set(half.clone().negate(), half);
  }
  const pose = new THREE.Object3D();
  place(pose, shape);
  pose.updateMatrix();
  return box.applyMatrix4(pose.matrix);
}

function corners(box) {
  const list = [];
  for (const x of [box.min.x, box.max.x]) {
    for (const y of [box.min.y, box.max.y]) {
      for (const z of [box.min.z, box.max.z]) list.push(new THREE.Vector3(x, y, z));
    }
  }
  return list;
}

/** One shape as a three.js object, placed in its body's frame. `unit` is the size of small details. */
function buildShape(shape, bodyColor, unit) {
  const color = shape.color || bodyColor;
  let object;
  if (shape.kind === "line") {
    object = buildLine(decode(shape.points, Float32Array), shape.radius || 0.4 * unit, color, shape.opacity);
  } else if (shape.kind === "frame") {
    object = buildFrame(shape.length);
  } else {
    const flat = shape.kind === "plane" || shape.kind === "mesh";
    const geometry = GEOMETRY[shape.kind](shape);
    const material = solidMaterial(color, shape.opacity, flat ? { side: THREE.DoubleSide } : {});
    // Behind the grid lines when both lie on the floor.
    const behind = { polygonOffset: true, polygonOffsetFactor: 2, polygonOffsetUnits: 2 };
    if (shape.kind === "plane") Object.assign(material, behind);
    object = new THREE.Mesh(geometry, material);
    if (NEEDS_EDGES.has(shape.kind)) object.add(buildEdges(geometry, color, shape.opacity));
    object.castShadow = shape.opacity > 0.5;
    object.receiveShadow = true;
  }
  place(object, shape);
  return object;
}

function buildEdges(geometry, color, opacity) {
  const material = new THREE.LineBasicMaterial({
    color: paint(color).multiplyScalar(0.35),
    transparent: true,
    opacity: 0.45 * opacity,
  });
  return new THREE.LineSegments(new THREE.EdgesGeometry(geometry, 30), material);
}

/** A polyline as round bars with a ball at every point. */
function buildLine(points, radius, color, opacity) {
  const count = points.length / 3;
  const material = solidMaterial(color, opacity);
  const balls = new THREE.InstancedMesh(new THREE.SphereGeometry(radius, 16, 12), material, count);
  const bar = alongZ(new THREE.CylinderGeometry(radius, radius, 1, 16));
  const bars = new THREE.InstancedMesh(bar, material, count - 1);
  const at = (k) => new THREE.Vector3(points[3 * k], points[3 * k + 1], points[3 * k + 2]);
  const matrix = new THREE.Matrix4();
  for (let k = 0; k < count; k++) balls.setMatrixAt(k, matrix.makeTranslation(...at(k).toArray()));
  for (let k = 0; k + 1 < count; k++) {
    const [from, to] = [at(k), at(k + 1)];
    const length = Math.max(from.distanceTo(to), 1e-9);
    matrix.compose(
      from.clone().add(to).multiplyScalar(0.5),
      turnZ(to.clone().sub(from)),
      new THREE.Vector3(1, 1, length),
    );
    bars.setMatrixAt(k, matrix);
  }
  const group = new THREE.Group();
  for (const part of [balls, bars]) {
    part.castShadow = true;
    part.frustumCulled = false;
    group.add(part);
  }
  return group;
}

/** Rotation that takes local z to `direction`. */
function turnZ(direction) {
  const unit = direction.lengthSq() > 0 ? direction.clone().normalize() : new THREE.Vector3(0, 0, 1);
  return new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 0, 1), unit);
}

/** Red, green and blue arrows along x, y and z. */
function buildFrame(length) {
  const group = new THREE.Group();
  AXIS_COLORS.forEach((color, k) => {
    const material = solidMaterial(color);
    const shaft = new THREE.Mesh(GEOMETRY.cylinder({ radius: 0.022 * length, length: 0.8 * length }), material);
    const tip = new THREE.Mesh(GEOMETRY.cone({ radius: 0.065 * length, length: 0.2 * length }), material);
    shaft.position.z = 0.4 * length;
    tip.position.z = 0.9 * length;
    const arrow = new THREE.Group().add(shaft, tip);
    arrow.quaternion.copy(turnZ(new THREE.Vector3().setComponent(k, 1)));
    group.add(arrow);
  });
  return group;
}

/** A joint's mark: its solids, with lengths in units of `radius`, and its axis as local z. */
function buildJoint(joint, radius) {
  const material = solidMaterial("#808891", 1, { metalness: 0.35, roughness: 0.4 });
  // A pale second pass where something stands in front, so that a joint inside a link can still be seen.
  const ghost = solidMaterial("#c3cad1", 0.4, { depthFunc: THREE.GreaterDepth });
  const group = new THREE.Group();
  for (const solid of joint.solids) {
    const geometry = GEOMETRY[solid.kind](solid);
    const mesh = new THREE.Mesh(geometry, material);
    const pale = new THREE.Mesh(geometry, ghost);
    mesh.castShadow = true;
    for (const part of [mesh, pale]) place(part, solid);
    group.add(mesh, pale);
  }
  group.scale.setScalar(radius);
  group.position.fromArray(joint.position);
  group.quaternion.copy(turnZ(vector(joint.axis)));
  return group;
}

/** A round tube along a chain of points that may be moved later. */
class Tube {
  constructor(count, radius, material, sides = 7) {
    Object.assign(this, { count, radius, sides });
    const geometry = new THREE.BufferGeometry();
    const attribute = () => new THREE.BufferAttribute(new Float32Array(3 * count * sides), 3);
    geometry.setAttribute("position", attribute());
    geometry.setAttribute("normal", attribute());
    const index = [];
    for (let k = 0; k + 1 < count; k++) {
      for (let s = 0; s < sides; s++) {
        const [a, b] = [k * sides + s, k * sides + ((s + 1) % sides)];
        index.push(a, b, a + sides, b, b + sides, a + sides);
      }
    }
    geometry.setIndex(index);
    this.mesh = new THREE.Mesh(geometry, material);
    this.mesh.frustumCulled = false;
  }

  /** Move the center line; the cross-section is carried along without twist. */
  setPoints(points) {
    const { position, normal } = this.mesh.geometry.attributes;
    const tangent = new THREE.Vector3(0, 0, 1);
    const side = new THREE.Vector3(1, 0, 0);
    const other = new THREE.Vector3();
    const step = new THREE.Vector3();
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
        const [x, y, z] = [c * side.x + d * other.x, c * side.y + d * other.y, c * side.z + d * other.z];
        normal.setXYZ(i, x, y, z);
        const p = points[k];
        position.setXYZ(i, p.x + this.radius * x, p.y + this.radius * y, p.z + this.radius * z);
      }
    }
    position.needsUpdate = true;
    normal.needsUpdate = true;
  }

  /** Draw only the first `segments` pieces. */
  show(segments) {
    this.mesh.geometry.setDrawRange(0, 6 * this.sides * segments);
  }
}

/** A coil spring: straight ends and a helix between, bent anew for every pair of end points. */
class Coil {
  constructor(radius, wire, turns) {
    Object.assign(this, { radius, turns, steps: 16 * turns });
    const material = solidMaterial("#7b858f", 1, { metalness: 0.5, roughness: 0.35 });
    this.tube = new Tube(this.steps + 5, wire, material);
    this.tube.mesh.castShadow = true;
    this.points = Array.from({ length: this.steps + 5 }, () => new THREE.Vector3());
  }

  stretch(from, to) {
    const along = to.clone().sub(from);
    const turn = turnZ(along);
    const length = along.length();
    const lead = 0.12;
    const put = (k, x, y, z) => this.points[k].set(x, y, z * length).applyQuaternion(turn).add(from);
    put(0, 0, 0, 0);
    put(1, 0, 0, lead * 0.8);
    for (let k = 0; k <= this.steps; k++) {
      const share = k / this.steps;
      const angle = 2 * Math.PI * this.turns * share;
      const radius = this.radius * Math.min(1, 2 * this.turns * share, 2 * this.turns * (1 - share));
      put(k + 2, radius * Math.cos(angle), radius * Math.sin(angle), lead + (1 - 2 * lead) * share);
    }
    put(this.steps + 3, 0, 0, 1 - lead * 0.8);
    put(this.steps + 4, 0, 0, 1);
    this.tube.setPoints(this.points);
  }
}
