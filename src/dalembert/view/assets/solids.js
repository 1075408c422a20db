// ---- Solids: triangles with normals. A geometry has positions, normals (three numbers a corner) and an index ----

const CREASE = Math.PI / 6;

class Geometry {
  constructor(positions, normals, index) {
    this.positions = Float32Array.from(positions);
    this.normals = Float32Array.from(normals);
    this.index = Uint32Array.from(index);
    this.mode = "triangles";
    this.version = 0;
    this.drawn = this.index.length;
  }

  point(corner) {
    return new Vector3().fromArray(this.positions, 3 * corner);
  }
}

/** A grid of corners, `at(i, j)` giving [position, normal] of each, joined by triangles that face along the normals. */
function sheet(columns, rows, at) {
  const [positions, normals, index] = [[], [], []];
  for (let j = 0; j <= rows; j++) {
    for (let i = 0; i <= columns; i++) {
      const [position, normal] = at(i, j);
      positions.push(...position);
      normals.push(...normal);
    }
  }
  for (let j = 0; j < rows; j++) {
    for (let i = 0; i < columns; i++) {
      const a = j * (columns + 1) + i;
      const b = a + columns + 1;
      index.push(a, a + 1, b, a + 1, b + 1, b);
    }
  }
  return new Geometry(positions, normals, index);
}

function joined(parts) {
  const [positions, normals, index] = [[], [], []];
  for (const part of parts) {
    const first = positions.length / 3;
    for (const value of part.positions) positions.push(value);
    for (const value of part.normals) normals.push(value);
    for (const corner of part.index) index.push(first + corner);
  }
  return new Geometry(positions, normals, index);
}

/** A solid of revolution about z from a profile of [radius, height, normal radius, normal height], lowest first. */
function turned(profile, sides) {
  return sheet(sides, profile.length - 1, (i, j) => {
    const angle = (2 * Math.PI * i) / sides;
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    const [radius, height, across, along] = profile[j];
    return [
      [radius * c, radius * s, height],
      [across * c, across * s, along],
    ];
  });
}

/** Half a circle of a profile about (0, height), from one angle above the equator to another. */
function arc(radius, height, from, to, steps) {
  return Array.from({ length: steps + 1 }, (_, k) => {
    const angle = from + ((to - from) * k) / steps;
    return [radius * Math.cos(angle), height + radius * Math.sin(angle), Math.cos(angle), Math.sin(angle)];
  });
}

/** A flat ring or disc across z: normal up (+1) or down (-1). */
function cap(radius, height, way, sides) {
  const ring = [radius, height, 0, way];
  const middle = [0, height, 0, way];
  return turned(way > 0 ? [ring, middle] : [middle, ring], sides);
}

/** Geometries by kind, centered on their origin; solids of revolution stand along z. */
const GEOMETRY = {
  box: ({ size }) =>
    joined(
      [0, 1, 2].flatMap((k) =>
        [-1, 1].map((way) =>
          sheet(1, 1, (i, j) => {
            const [position, normal] = [[0, 0, 0], [0, 0, 0]];
            const [first, second] = way > 0 ? [(k + 1) % 3, (k + 2) % 3] : [(k + 2) % 3, (k + 1) % 3];
            normal[k] = way;
            position[k] = (way * size[k]) / 2;
            position[first] = (i - 0.5) * size[first];
            position[second] = (j - 0.5) * size[second];
            return [position, normal];
          }),
        ),
      ),
    ),
  sphere: ({ radius }, sides = 40, rows = 28) => turned(arc(radius, 0, -Math.PI / 2, Math.PI / 2, rows), sides),
  cylinder: ({ radius, length }, sides = 48) => {
    const half = length / 2;
    const wall = turned([[radius, -half, 1, 0], [radius, half, 1, 0]], sides);
    return joined([cap(radius, -half, -1, sides), wall, cap(radius, half, 1, sides)]);
  },
  cone: ({ radius, length }) => {
    const slope = Math.hypot(radius, length);
    const [across, along] = [length / slope, radius / slope];
    const wall = turned([[radius, -length / 2, across, along], [0, length / 2, across, along]], 48);
    return joined([cap(radius, -length / 2, -1, 48), wall]);
  },
  capsule: ({ radius, length }) => {
    const [low, high] = [arc(radius, -length / 2, -Math.PI / 2, 0, 14), arc(radius, length / 2, 0, Math.PI / 2, 14)];
    return turned([...low, ...high], 40);
  },
  torus: ({ radius, tube }) =>
    turned(arc(tube, 0, -Math.PI, Math.PI, 24).map(([r, h, across, along]) => [radius + r, h, across, along]), 72),
  octahedron: ({ radius }) => {
    const parts = [];
    for (let k = 0; k < 8; k++) {
      const signs = [0, 1, 2].map((bit) => (k & (1 << bit) ? -1 : 1));
      const tips = signs.map((sign, i) => [0, 1, 2].map((j) => (i === j ? sign * radius : 0)));
      if (signs[0] * signs[1] * signs[2] < 0) tips.reverse();
      const normal = signs.map((sign) => sign / Math.sqrt(3));
      parts.push(new Geometry(tips.flat(), [normal, normal, normal].flat(), [0, 1, 2]));
    }
    return joined(parts);
  },
  plane: ({ size }) => sheet(1, 1, (i, j) => [[(i - 0.5) * size[0], (j - 0.5) * size[1], 0], [0, 0, 1]]),
  mesh: ({ vertices, faces }) => creased(decode(vertices, Float32Array), decode(faces, Uint32Array)),
};

/** Triangles whose normals are smooth over gentle bends and sharp over edges. */
function creased(vertices, faces) {
  const corner = (i) => new Vector3().fromArray(vertices, 3 * faces[i]);
  const key = (point) => `${point.x},${point.y},${point.z}`;
  const faceNormals = [];
  const facesAt = new Map();
  for (let i = 0; i + 2 < faces.length; i += 3) {
    const [a, b, c] = [corner(i), corner(i + 1), corner(i + 2)];
    for (const point of [a, b, c]) {
      if (!facesAt.has(key(point))) facesAt.set(key(point), []);
      facesAt.get(key(point)).push(faceNormals.length);
    }
    faceNormals.push(b.sub(a).cross(c.sub(a)).normalize());
  }
  const [positions, normals] = [new Float32Array(3 * faces.length), new Float32Array(3 * faces.length)];
  for (let i = 0; i < faces.length; i++) {
    const [point, own, sum] = [corner(i), faceNormals[Math.floor(i / 3)], new Vector3()];
    for (const face of facesAt.get(key(point))) {
      if (faceNormals[face].dot(own) >= Math.cos(CREASE)) sum.add(faceNormals[face]);
    }
    point.toArray(positions, 3 * i);
    sum.normalize().toArray(normals, 3 * i);
  }
  return new Geometry(positions, normals, faces.map((_, i) => i));
}

/** The edges at which two faces meet under more than the crease angle, or at which one ends, as lines. */
function edgesOf(geometry) {
  const { index, positions: numbers } = geometry;
  const grain = 1e-5 * numbers.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const key = (point) => [point.x, point.y, point.z].map((value) => Math.round(value / grain)).join();
  const sides = new Map();
  for (let i = 0; i + 2 < index.length; i += 3) {
    const points = [0, 1, 2].map((k) => geometry.point(index[i + k]));
    const normal = points[1].clone().sub(points[0]).cross(points[2].clone().sub(points[0]));
    if (normal.length() < grain * grain) continue;
    normal.normalize();
    for (let k = 0; k < 3; k++) {
      const ends = [points[k], points[(k + 1) % 3]];
      const name = ends.map(key).sort().join(" ");
      if (!sides.has(name)) sides.set(name, { ends, normals: [] });
      sides.get(name).normals.push(normal);
    }
  }
  const positions = [];
  for (const { ends, normals } of sides.values()) {
    const sharp = normals.length === 1 || normals.some((normal) => normal.dot(normals[0]) < Math.cos(CREASE));
    if (sharp) for (const end of ends) positions.push(end.x, end.y, end.z);
  }
  const lines = new Geometry(positions, positions, Array.from({ length: positions.length / 3 }, (_, k) => k));
  lines.mode = "lines";
  return lines;
}
