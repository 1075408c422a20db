// ---- Camera: turns, shifts and zooms about a target with mouse, touch and pen ----

const FIELD_OF_VIEW = 32;
const FIT_MARGIN = 1.14;

/** Right-handed view axes: `up`, `right` (the first world axis across it) and `front` (toward us). */
function viewAxes(up) {
  const right = Math.abs(up.x) < 0.9 ? new Vector3(1, 0, 0) : new Vector3(0, 1, 0);
  right.addScaledVector(up, -right.dot(up)).normalize();
  return { up, right, front: new Vector3().crossVectors(right, up) };
}

/** Orbit camera. `azimuth` 0 looks from the front, positive from the right; `polar` 0 looks from above. */
class OrbitCamera {
  constructor(element, up, onChange) {
    this.axes = viewAxes(up);
    this.onChange = onChange;
    this.element = element;
    this.camera = new Camera(up);
    this.aspect = 1;
    this.covered = 0;
    this.state = { azimuth: 0, polar: 1, distance: 1, target: new Vector3() };
    this.points = [];
    this.size = 1;
    this.pointers = new Map();
    this.touched = false;
    this.flight = null;
    this.listen();
  }

  /** The cloud of points (swept by the whole motion) that views must show, and its diagonal. */
  setContent(points, size) {
    this.points = points;
    this.size = size;
  }

  /** Everything that is looked at is elsewhere now. */
  shift(by) {
    const flown = this.flight ? [this.flight.from.target, this.flight.goal.target] : [];
    for (const point of [...this.points, this.state.target, ...flown]) point.add(by);
  }

  /** Azimuth and polar angle of a direction from the target to the camera. */
  angles(direction) {
    const { up, right, front } = this.axes;
    const polar = Math.acos(Math.min(1, Math.max(-1, direction.dot(up))));
    const level = Math.hypot(direction.dot(right), direction.dot(front));
    const azimuth = level > 1e-6 ? Math.atan2(direction.dot(right), direction.dot(front)) : 0;
    return { azimuth, polar };
  }

  direction({ azimuth, polar }) {
    const { up, right, front } = this.axes;
    return new Vector3()
      .addScaledVector(up, Math.cos(polar))
      .addScaledVector(front, Math.sin(polar) * Math.cos(azimuth))
      .addScaledVector(right, Math.sin(polar) * Math.sin(azimuth));
  }

  /**
   * Nearest camera on the ray of these angles that sees every point, below what covers the top of the picture.
   * With view axes x, y, z and tangents s, r to both sides, x - c <= (D - z) s and c - x <= (D - z) r for all points
   * give D = (A + B) / (s + r), where A = max(x + z s) and B = max(-x + z r); c is in the middle of what is left.
   */
  framing(azimuth, polar) {
    const safePolar = Math.min(Math.PI - 1e-3, Math.max(1e-3, polar));
    const z = this.direction({ azimuth, polar: safePolar });
    const x = new Vector3().crossVectors(this.axes.up, z).normalize();
    const y = new Vector3().crossVectors(z, x);
    const tangent = Math.tan((FIELD_OF_VIEW * Math.PI) / 360) / FIT_MARGIN;
    const spans = [
      [x, tangent * this.aspect, tangent * this.aspect],
      [y, tangent * (1 - 2 * this.covered), tangent],
    ].map(([axis, s, r]) => {
      let [a, b] = [-Infinity, -Infinity];
      for (const point of this.points) {
        const [u, depth] = [point.dot(axis), point.dot(z)];
        a = Math.max(a, u + depth * s);
        b = Math.max(b, depth * r - u);
      }
      return { center: (distance) => (a - b + distance * (r - s)) / 2, reach: (a + b) / (s + r) };
    });
    let [near, far] = [-Infinity, Infinity];
    for (const point of this.points) {
      near = Math.max(near, point.dot(z));
      far = Math.min(far, point.dot(z));
    }
    const depth = (near + far) / 2;
    const reach = Math.max(spans[0].reach, spans[1].reach, near + 0.3 * this.size);
    const target = new Vector3()
      .addScaledVector(x, spans[0].center(reach))
      .addScaledVector(y, spans[1].center(reach))
      .addScaledVector(z, depth);
    return { azimuth, polar: safePolar, distance: reach - depth, target };
  }

  /** Show everything from a direction, or from where the camera is now. */
  fit(angles = this.state, smooth = true) {
    this.touched = false;
    const goal = this.framing(angles.azimuth, angles.polar);
    if (!smooth || window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.flight = null;
      this.state = goal;
    } else {
      const from = { ...this.state, target: this.state.target.clone() };
      const turn = goal.azimuth - from.azimuth;
      from.azimuth += 2 * Math.PI * Math.round(turn / (2 * Math.PI));
      this.flight = { from, goal, begin: performance.now() };
    }
    this.onChange();
  }

  /** Seen from `direction`, does the world axis that runs most across the screen run to the left? */
  runsLeft(direction) {
    const across = new Vector3().crossVectors(this.axes.up, direction).toArray();
    const strongest = across.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
    return strongest < -1e-6;
  }

  /** Straight view along world axis k, from the side on which the other axes run right and up. */
  axisView(k) {
    const direction = new Vector3().setComponent(k, 1);
    if (this.runsLeft(direction)) direction.negate();
    this.fit(this.angles(direction));
  }

  isometricView(smooth = true) {
    this.fit({ azimuth: 0.66, polar: 1.1 }, smooth);
  }

  /** Opening view: nearly straight at the plane of motion, or isometric. */
  openingView(normal) {
    if (!normal) return this.isometricView(false);
    const direction = vector(normal);
    const height = direction.dot(this.axes.up);
    const fromAbove = Math.abs(height) > 0.7;
    if (fromAbove ? height < 0 : this.runsLeft(direction)) direction.negate();
    const { azimuth, polar } = this.angles(direction);
    if (fromAbove) return this.fit({ azimuth: azimuth + 0.12, polar: polar + 0.42 }, false);
    return this.fit({ azimuth: azimuth + 0.22, polar: polar - 0.2 }, false);
  }

  /** Advance a running flight and place the camera. Returns true while it moves by itself. */
  update(now) {
    if (this.flight) {
      const share = Math.min(1, (now - this.flight.begin) / 420);
      const ease = 1 - (1 - share) ** 3;
      const { from, goal } = this.flight;
      for (const key of ["azimuth", "polar", "distance"]) {
        this.state[key] = from[key] + (goal[key] - from[key]) * ease;
      }
      this.state.target.lerpVectors(from.target, goal.target, ease);
      if (share === 1) this.flight = null;
    }
    const { distance, target } = this.state;
    this.camera.position.copy(target).addScaledVector(this.direction(this.state), distance);
    const near = Math.max(distance - 6 * this.size, distance * 0.01);
    this.camera.projection.perspective(FIELD_OF_VIEW, this.aspect, near, distance + 12 * this.size);
    this.camera.lookAt(target);
    return this.flight !== null;
  }

  /** The size of the picture, and the height of what covers its top. */
  resize(width, height, covered) {
    this.aspect = width / height;
    this.covered = Math.min(0.35, Math.max(0, covered / height));
    if (!this.touched && this.points.length) this.fit(this.flight ? this.flight.goal : this.state, false);
  }

  rotate(dx, dy) {
    const scale = Math.PI / this.element.clientHeight;
    this.state.azimuth -= dx * scale;
    this.state.polar = Math.min(Math.PI - 1e-3, Math.max(1e-3, this.state.polar - dy * scale));
  }

  pan(dx, dy) {
    const scale = (2 * this.state.distance * Math.tan((FIELD_OF_VIEW * Math.PI) / 360)) / this.element.clientHeight;
    const right = this.camera.world.column(0);
    const up = this.camera.world.column(1);
    this.state.target.addScaledVector(right, -dx * scale).addScaledVector(up, dy * scale);
  }

  zoom(factor) {
    const distance = this.state.distance * factor;
    this.state.distance = Math.min(40 * this.size, Math.max(0.02 * this.size, distance));
  }

  /** The user took over: stop flights and automatic fitting. */
  take() {
    this.touched = true;
    this.flight = null;
    this.onChange();
  }

  listen() {
    const { element } = this;
    element.addEventListener("contextmenu", (event) => event.preventDefault());
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    });
    for (const name of ["pointerup", "pointercancel"]) {
      element.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
    }
    element.addEventListener("pointermove", (event) => {
      if (this.pointers.has(event.pointerId)) this.drag(event);
    });
    element.addEventListener("dblclick", () => this.fit());
    element.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const lines = event.deltaMode === 1 ? 33 : 1;
        this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * lines * 0.0015))));
        this.take();
      },
      { passive: false },
    );
  }

  /** One pointer turns (with Shift, Ctrl or another button: shifts); two pointers shift and pinch. */
  drag(event) {
    const before = this.pointers.get(event.pointerId);
    const after = { x: event.clientX, y: event.clientY };
    const [dx, dy] = [after.x - before.x, after.y - before.y];
    if (this.pointers.size === 1) {
      const shifting = event.shiftKey || event.ctrlKey || event.metaKey || (event.buttons & 6) !== 0;
      if (shifting) this.pan(dx, dy);
      else this.rotate(dx, dy);
    } else if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const spread = (p) => Math.max(20, Math.hypot(p.x - other.x, p.y - other.y));
      this.zoom(spread(before) / spread(after));
      this.pan(dx / 2, dy / 2);
    }
    this.pointers.set(event.pointerId, after);
    this.take();
  }
}
