// ---- Space: vectors, rotations, matrices, boxes, and the tree of things that stand in each other's frames ----

class Vector3 {
  constructor(x = 0, y = 0, z = 0) {
    Object.assign(this, { x, y, z });
  }

  set(x, y, z) {
    [this.x, this.y, this.z] = [x, y, z];
    return this;
  }

  setComponent(k, value) {
    this["xyz"[k]] = value;
    return this;
  }

  copy({ x, y, z }) {
    return this.set(x, y, z);
  }

  clone() {
    return new Vector3(this.x, this.y, this.z);
  }

  fromArray(numbers, at = 0) {
    return this.set(numbers[at], numbers[at + 1], numbers[at + 2]);
  }

  toArray(numbers = [], at = 0) {
    [numbers[at], numbers[at + 1], numbers[at + 2]] = [this.x, this.y, this.z];
    return numbers;
  }

  add(other) {
    return this.addScaledVector(other, 1);
  }

  sub(other) {
    return this.addScaledVector(other, -1);
  }

  subVectors(a, b) {
    return this.set(a.x - b.x, a.y - b.y, a.z - b.z);
  }

  addScaledVector({ x, y, z }, factor) {
    return this.set(this.x + factor * x, this.y + factor * y, this.z + factor * z);
  }

  multiplyScalar(factor) {
    return this.set(factor * this.x, factor * this.y, factor * this.z);
  }

  negate() {
    return this.multiplyScalar(-1);
  }

  dot({ x, y, z }) {
    return this.x * x + this.y * y + this.z * z;
  }

  crossVectors(a, b) {
    return this.set(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
  }

  cross(other) {
    return this.crossVectors(this, other);
  }

  lengthSq() {
    return this.dot(this);
  }

  length() {
    return Math.sqrt(this.lengthSq());
  }

  distanceTo({ x, y, z }) {
    return Math.hypot(this.x - x, this.y - y, this.z - z);
  }

  normalize() {
    return this.multiplyScalar(1 / (this.length() || 1));
  }

  lerpVectors(a, b, share) {
    return this.copy(a).multiplyScalar(1 - share).addScaledVector(b, share);
  }

  /** v + 2 w (r × v) + 2 r × (r × v) for a unit quaternion (w, r). */
  applyQuaternion({ x, y, z, w }) {
    const r = { x, y, z };
    const once = new Vector3().crossVectors(r, this);
    return this.addScaledVector(once, 2 * w).addScaledVector(new Vector3().crossVectors(r, once), 2);
  }

  /** A point through a matrix (four columns of four), divided by its fourth coordinate. */
  applyMatrix({ m }) {
    const { x, y, z } = this;
    const row = (k) => m[k] * x + m[k + 4] * y + m[k + 8] * z + m[k + 12];
    const w = row(3);
    return this.set(row(0) / w, row(1) / w, row(2) / w);
  }
}

class Quaternion {
  constructor(x = 0, y = 0, z = 0, w = 1) {
    Object.assign(this, { x, y, z, w });
  }

  copy({ x, y, z, w }) {
    return Object.assign(this, { x, y, z, w });
  }

  clone() {
    return new Quaternion(this.x, this.y, this.z, this.w);
  }

  /** The way back of a unit quaternion. */
  invert() {
    return Object.assign(this, { x: -this.x, y: -this.y, z: -this.z });
  }

  /** The shortest rotation that takes one unit vector to another. */
  setFromUnitVectors(from, to) {
    const w = 1 + from.dot(to);
    let axis = new Vector3().crossVectors(from, to);
    if (w < 1e-9) {
      axis = Math.abs(from.x) > Math.abs(from.z) ? new Vector3(-from.y, from.x, 0) : new Vector3(0, -from.z, from.y);
    }
    const size = Math.hypot(axis.x, axis.y, axis.z, w < 1e-9 ? 0 : w);
    return Object.assign(this, {
      x: axis.x / size, y: axis.y / size, z: axis.z / size, w: w < 1e-9 ? 0 : w / size,
    });
  }

  /** The rotation whose matrix has these orthonormal columns. */
  setFromAxes(a, b, c) {
    // The four products 4 q_i q_j of each row come from the matrix; the row with the largest diagonal is taken.
    const rows = [
      [1 + a.x + b.y + c.z, b.z - c.y, c.x - a.z, a.y - b.x],
      [b.z - c.y, 1 + a.x - b.y - c.z, a.y + b.x, c.x + a.z],
      [c.x - a.z, a.y + b.x, 1 - a.x + b.y - c.z, b.z + c.y],
      [a.y - b.x, c.x + a.z, b.z + c.y, 1 - a.x - b.y + c.z],
    ];
    const best = rows.reduce((found, row, k) => (row[k] > rows[found][found] ? k : found), 0);
    const size = Math.hypot(...rows[best]);
    const [w, x, y, z] = rows[best].map((value) => value / size);
    return Object.assign(this, { x, y, z, w });
  }
}

/** A 4 × 4 matrix, column by column, as graphics cards read it. */
class Matrix {
  constructor() {
    this.m = new Float64Array(16);
    this.m[0] = this.m[5] = this.m[10] = this.m[15] = 1;
  }

  compose(position, { x, y, z, w }, scale) {
    const { m } = this;
    const columns = [
      [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)],
      [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)],
      [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)],
    ];
    columns.forEach((column, k) => {
      const factor = scale["xyz"[k]];
      for (let i = 0; i < 3; i++) m[4 * k + i] = factor * column[i];
    });
    position.toArray(m, 12);
    return this;
  }

  multiplyMatrices(a, b) {
    const out = new Float64Array(16);
    for (let j = 0; j < 4; j++) {
      for (let i = 0; i < 4; i++) {
        for (let k = 0; k < 4; k++) out[4 * j + i] += a.m[4 * k + i] * b.m[4 * j + k];
      }
    }
    this.m = out;
    return this;
  }

  /** The way back of a rotation and a shift without scale. */
  invertPose({ m }) {
    const out = this.m;
    for (let i = 0; i < 3; i++) {
      for (let j = 0; j < 3; j++) out[4 * j + i] = m[4 * i + j];
      out[12 + i] = -(m[4 * i] * m[12] + m[4 * i + 1] * m[13] + m[4 * i + 2] * m[14]);
    }
    return this;
  }

  perspective(degrees, aspect, near, far) {
    const focal = 1 / Math.tan((degrees * Math.PI) / 360);
    this.m.fill(0);
    Object.assign(this.m, { 0: focal / aspect, 5: focal, 10: (far + near) / (near - far), 11: -1 });
    this.m[14] = (2 * far * near) / (near - far);
    return this;
  }

  orthographic(reach, near, far) {
    this.m.fill(0);
    Object.assign(this.m, { 0: 1 / reach, 5: 1 / reach, 10: 2 / (near - far), 15: 1 });
    this.m[14] = (far + near) / (near - far);
    return this;
  }

  column(k) {
    return new Vector3().fromArray(this.m, 4 * k);
  }
}

class Box3 {
  constructor(min = new Vector3(Infinity, Infinity, Infinity), max = new Vector3(-Infinity, -Infinity, -Infinity)) {
    Object.assign(this, { min, max });
  }

  include(point) {
    for (const axis of ["x", "y", "z"]) {
      this.min[axis] = Math.min(this.min[axis], point[axis]);
      this.max[axis] = Math.max(this.max[axis], point[axis]);
    }
    return this;
  }

  static around(points) {
    return points.reduce((box, point) => box.include(point), new Box3());
  }

  isEmpty() {
    return this.max.x < this.min.x;
  }

  union(other) {
    return other.isEmpty() ? this : this.include(other.min).include(other.max);
  }

  expandByScalar(width) {
    const shift = new Vector3(width, width, width);
    this.min.sub(shift);
    this.max.add(shift);
    return this;
  }

  center() {
    return new Vector3().lerpVectors(this.min, this.max, 0.5);
  }

  diagonal() {
    return this.max.distanceTo(this.min);
  }

  corners() {
    const list = [];
    for (const x of [this.min.x, this.max.x]) {
      for (const y of [this.min.y, this.max.y]) {
        for (const z of [this.min.z, this.max.z]) list.push(new Vector3(x, y, z));
      }
    }
    return list;
  }
}

/** Something that stands in the frame of its parent; with a geometry and a material it can be seen. */
class Node {
  constructor(geometry = null, material = null) {
    Object.assign(this, { geometry, material });
    this.position = new Vector3();
    this.quaternion = new Quaternion();
    this.scale = new Vector3(1, 1, 1);
    this.children = [];
    this.visible = true;
    this.castShadow = false;
    this.world = new Matrix();
    this.local = new Matrix();
  }

  add(...children) {
    this.children.push(...children);
    return this;
  }

  /** Place it and all below it in the world. */
  settle(parent = null) {
    this.local.compose(this.position, this.quaternion, this.scale);
    if (parent) this.world.multiplyMatrices(parent.world, this.local);
    else this.world.m.set(this.local.m);
    for (const child of this.children) child.settle(this);
  }

  /** Every visible thing of this branch. */
  *seen() {
    if (!this.visible) return;
    if (this.geometry) yield this;
    for (const child of this.children) yield* child.seen();
  }
}

/** A camera looks along its own -z. */
class Camera extends Node {
  constructor(up) {
    super();
    this.up = up;
    this.projection = new Matrix();
    this.view = new Matrix();
    this.through = new Matrix();
  }

  lookAt(target) {
    const z = new Vector3().subVectors(this.position, target).normalize();
    const x = new Vector3().crossVectors(this.up, z);
    if (x.lengthSq() < 1e-12) x.set(z.y, z.z, z.x).cross(z);
    x.normalize();
    this.quaternion.setFromAxes(x, new Vector3().crossVectors(z, x), z);
    this.settle();
    this.view.invertPose(this.world);
    this.through.multiplyMatrices(this.projection, this.view);
  }

  /** Where a world point is on the screen: x and y from -1 to 1, and z too while it is in front. */
  project(point) {
    return point.applyMatrix(this.through);
  }
}
