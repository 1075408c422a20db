// ---- Belts and cables: only in pages that have some ----

/** A belt or a cable: straight from wheel to wheel, arcs around them (see belts.py). */
class Belt {
  constructor(radius, wheels, closed) {
    Object.assign(this, { wheels, closed, arc: 24 });
    const count = wheels.reduce((sum, wheel) => sum + (wheel.radius === 0 ? 1 : this.arc), closed ? 1 : 0);
    this.tube = new Tube(count, radius, solidSurface("#3d444b", 1, { metalness: 0.1, roughness: 0.8 }));
    this.tube.mesh.castShadow = true;
  }

  /** Around wheels with these centers; n is the axis of all. */
  wrap(centers, n) {
    const { wheels, closed, arc } = this;
    const count = wheels.length;
    const ways = [];
    for (let i = 0; i < (closed ? count : count - 1); i++) {
      const j = (i + 1) % count;
      const d = centers[j].clone().sub(centers[i]);
      const delta = wheels[j].radius - wheels[i].radius;
      const square = d.lengthSq() || 1;
      const length = Math.sqrt(Math.max(square - delta * delta, 0));
      const across = new Vector3().crossVectors(n, d);
      ways.push(d.multiplyScalar(length / square).addScaledVector(across, -delta / square));
    }
    const points = [];
    const whole = 2 * Math.PI;
    wheels.forEach(({ radius }, i) => {
      const before = closed || i > 0 ? ways[(i - 1 + ways.length) % ways.length] : ways[i];
      const after = i < ways.length ? ways[i] : before;
      const sine = new Vector3().crossVectors(before, after).dot(n);
      const angle = Math.atan2(sine, before.dot(after));
      const turn = radius > 0 ? (angle + whole) % whole : -((whole - angle) % whole);
      const out = new Vector3().crossVectors(before, n).multiplyScalar(radius);
      const side = new Vector3().crossVectors(n, out);
      const steps = radius === 0 ? 1 : arc;
      for (let k = 0; k < steps; k++) {
        const share = steps > 1 ? (k / (steps - 1)) * turn : 0;
        points.push(centers[i].clone().addScaledVector(out, Math.cos(share)).addScaledVector(side, Math.sin(share)));
      }
    });
    if (closed) points.push(points[0]);
    this.tube.setPoints(points);
  }
}
