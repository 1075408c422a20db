// ---- Springs, rods and cylinders: between two points; only in pages that have some ----

/** A coil spring: straight ends and a helix between, bent anew for every pair of end points. */
class Coil {
  constructor(radius, wire, turns) {
    Object.assign(this, { radius, turns, steps: 16 * turns });
    const material = solidSurface("#7b858f", 1, { metalness: 0.5, roughness: 0.35 });
    this.tube = new Tube(this.steps + 5, wire, material);
    this.tube.mesh.castShadow = true;
    this.points = Array.from({ length: this.steps + 5 }, () => new Vector3());
    this.node = this.tube.mesh;
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

/** A straight rod, or a piece of cable, between two points that move. */
class Rod {
  constructor(radius) {
    this.tube = new Tube(2, radius, solidSurface("#7b858f", 1, { metalness: 0.3, roughness: 0.5 }));
    this.tube.mesh.castShadow = true;
    this.node = this.tube.mesh;
  }

  stretch(from, to) {
    this.tube.setPoints([from, to]);
  }
}

/** A hydraulic cylinder, a gas spring, a damper: a tube of one length, and a rod that comes out of it. */
class Telescope {
  constructor(radius, length) {
    const part = (color, size) => {
      const node = new Node(GEOMETRY.cylinder(size, 24), solidSurface(color, 1, { metalness: 0.5, roughness: 0.35 }));
      node.castShadow = true;
      return node;
    };
    this.tube = part("#5c6670", { radius, length });
    this.tube.position.z = length / 2;
    this.rod = part("#c3cad1", { radius: 0.5 * radius, length: 1 });
    this.node = new Node().add(this.tube, this.rod);
  }

  stretch(from, to) {
    const along = to.clone().sub(from);
    const length = Math.max(along.length(), 1e-9);
    this.node.position.copy(from);
    this.node.quaternion.copy(turnZ(along));
    this.rod.scale.set(1, 1, length);
    this.rod.position.z = length / 2;
  }
}
