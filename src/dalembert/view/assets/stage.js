// ---- Stage: the scene, its moving parts, floor, labels and lights ----

const SWEEP_SAMPLES = 160;
const TRACE_SAMPLES = 3000;

/** Points, in the frame of each body (and "ground"), that the camera must show. */
function landmarks(model) {
  const points = new Map([["ground", []], ...model.bodies.map((body) => [body.name, []])]);
  const addShapes = (name, shapes) => {
    const box = new Box3();
    for (const shape of shapes) box.union(shapeBox(shape));
    if (!box.isEmpty()) points.get(name).push(...box.corners());
  };
  for (const body of model.bodies) {
    addShapes(body.name, body.shapes);
    if (body.shapes.length === 0) points.get(body.name).push(new Vector3());
  }
  addShapes("ground", model.ground.filter((shape) => shape.kind !== "plane"));
  for (const joint of model.joints) points.get(joint.body).push(vector(joint.position));
  for (const end of [...model.springs.flatMap((spring) => spring.ends), ...model.belts.flatMap((belt) => belt.wheels), ...model.trace]) {
    points.get(end.body).push(vector(end.point));
  }
  return points;
}

const TRAVEL = 4; // a mechanism that goes this many times its own size is followed at once

/** Where the landmarks are in the world at sample `index`. */
function worldPoints(model, marks, index) {
  const list = [];
  for (const [name, points] of marks) {
    const { position, quaternion } = model.pose(name, { index, fraction: 0 });
    const [turn, shift] = [rotation(quaternion), vector(position)];
    for (const point of points) list.push(point.clone().applyQuaternion(turn).add(shift));
  }
  return list;
}

/** Every place that the mechanism passes: world points at evenly chosen samples. */
function sweep(model, marks) {
  const { count } = model.timeline;
  const picks = Math.min(count, SWEEP_SAMPLES);
  const list = [];
  for (let k = 0; k < picks; k++) {
    const index = picks === 1 ? 0 : Math.round((k * (count - 1)) / (picks - 1));
    for (const point of worldPoints(model, marks, index)) list.push(point);
  }
  return list.length ? list : [new Vector3()];
}

/** Where the bodies are at a time of the timeline, on average: what a camera that goes along looks at. */
function middle(model, at) {
  const sum = new Vector3();
  for (const { name } of model.bodies) sum.add(vector(model.pose(name, at).position));
  return sum.multiplyScalar(1 / Math.max(1, model.bodies.length));
}

/** The sweep as a camera sees it that goes along with the bodies; what stands on the ground is left behind. */
function sweepAlong(model, marks) {
  const { count } = model.timeline;
  const carried = new Map([...marks].filter(([name]) => name !== "ground"));
  const picks = Math.min(count, SWEEP_SAMPLES);
  const list = [];
  for (let k = 0; k < picks; k++) {
    const index = picks === 1 ? 0 : Math.round((k * (count - 1)) / (picks - 1));
    const center = middle(model, { index, fraction: 0 });
    for (const point of worldPoints(model, carried, index)) list.push(point.sub(center));
  }
  return list.length ? list : [new Vector3()];
}

function diagonal(points) {
  return Box3.around(points).diagonal();
}

/** 1, 2 or 5 times a power of ten, at most `limit`. */
function niceBelow(limit) {
  const power = 10 ** Math.floor(Math.log10(limit));
  return [5, 2, 1].map((k) => k * power).find((value) => value <= limit * (1 + 1e-9));
}

/** Floor below the motion: fading grid lines, and a plane that only catches shadows. */
class Floor {
  constructor(points, size, axes) {
    const heights = points.map((point) => point.dot(axes.up));
    const lowest = heights.reduce((low, height) => Math.min(low, height), Infinity);
    const standing = lowest > -1e-6 * size && lowest < 0.5 * size;
    const height = standing ? 0 : lowest - 0.03 * size;
    const center = Box3.around(points).center();
    const radius = 1.9 * size;
    this.cell = niceBelow(size / 12);
    const { right, front, up } = axes;
    const uniforms = { right, front, center: [center.dot(right), center.dot(front)], radius, cell: this.cell };
    const overlay = { transparent: true, writesDepth: false, doubleSided: true };
    this.material = surface("grid", [0, 0, 0], { ...overlay, order: -1, uniforms });
    const sheet = GEOMETRY.plane({ size: [2 * radius, 2 * radius] });
    this.grid = new Node(sheet, this.material);
    this.shade = new Node(sheet, surface("shade", [0, 0, 0], { ...overlay, opacity: 0.16 }));
    for (const mesh of [this.grid, this.shade]) {
      mesh.quaternion.copy(turnZ(up));
      mesh.position.copy(center).addScaledVector(up, height - center.dot(up));
    }
  }
}

/** Names that float over bodies and joints, kept from covering each other. */
class Labels {
  constructor(container) {
    this.container = container;
    this.items = [];
  }

  clear() {
    this.items = [];
    this.container.replaceChildren();
  }

  add(object, anchor, text, color) {
    const element = document.createElement("span");
    element.className = color ? "label" : "label label-joint";
    if (color) element.style.setProperty("--dot", color);
    element.textContent = text;
    this.container.append(element);
    this.items.push({ object, anchor, element, width: 0, height: 0 });
  }

  update(camera, width, height) {
    if (this.container.hidden) return;
    const taken = [];
    for (const item of this.items) {
      if (item.width === 0) [item.width, item.height] = [item.element.offsetWidth, item.element.offsetHeight];
      const point = camera.project(item.anchor.clone().applyMatrix(item.object.world));
      const x = ((point.x + 1) / 2) * width - item.width / 2;
      let y = ((1 - point.y) / 2) * height - item.height / 2;
      const covers = (box) =>
        x < box.x + box.width && box.x < x + item.width && y < box.y + box.height && box.y < y + item.height;
      for (let tries = 0; tries < 8; tries++) {
        const other = taken.find(covers);
        if (!other) break;
        y = other.y + other.height + 2;
      }
      taken.push({ x, y, width: item.width, height: item.height });
      item.element.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
      item.element.style.visibility = Math.abs(point.z) > 1 ? "hidden" : "visible";
    }
  }
}

/** The 3D view. Draws only when something changed. */
class Stage {
  constructor(element, model, onChange) {
    Object.assign(this, { element, model, onChange });
    this.canvas = element.querySelector("canvas.view");
    this.renderer = new Renderer(this.canvas);
    this.scene = new Node();
    this.orbit = new OrbitCamera(this.canvas, vector(model.up), onChange);
    this.labels = new Labels(element.querySelector(".labels"));
    this.shown = new Map();
    this.ghost = null;
    this.ride = null;
    this.time = model.timeline.start;
    this.measure();
    this.build();
    this.light();
    this.resize();
    this.orbit.openingView(model.plane);
  }

  /** Sizes: of the whole sweep, of the mechanism itself, and of small details. */
  measure() {
    this.marks = landmarks(this.model);
    this.swept = sweep(this.model, this.marks);
    const whole = diagonal(this.swept);
    this.size = whole > 0 ? whole : 1;
    const still = diagonal(worldPoints(this.model, this.marks, 0));
    this.along = sweepAlong(this.model, this.marks);
    const own = diagonal(this.along) || this.size;
    this.travels = this.size > TRAVEL * own;
    this.unit = 0.013 * Math.min(this.size, still > 0 ? still : this.size, this.travels ? own : this.size);
    this.showContent();
  }

  /** What views must show: all of the motion, or what goes along with the camera. */
  showContent() {
    const { ride, along, swept, size } = this;
    if (ride) this.orbit.setContent(along.map((point) => point.clone().add(ride)), diagonal(along) || 1);
    else this.orbit.setContent(swept, size);
  }

  /** The camera goes along with the bodies, or stands and sees the whole motion. */
  setRide(on) {
    const from = this.ride || middle(this.model, this.model.timeline.locate(this.time));
    this.ride = on ? from : null;
    this.showContent();
    this.orbit.fit(this.orbit.state, false);
  }

  /** What the camera looks at goes on with the bodies. */
  rideOn(at) {
    const next = middle(this.model, at);
    this.orbit.shift(next.clone().sub(this.ride));
    this.ride = next;
  }

  build() {
    const { model, scene, unit } = this;
    this.layers = { joints: [], frames: [], trace: [], arrows: [] };
    this.floor ??= new Floor(this.swept, this.size, this.orbit.axes);
    scene.add(this.floor.grid, this.floor.shade);
    if (this.ghost) scene.add(this.ghost.node);
    this.objects = new Map([["ground", new Node()]]);
    for (const shape of model.ground) this.objects.get("ground").add(buildShape(shape, "#8a939c", unit));
    for (const body of model.bodies) this.addBody(body);
    const world = buildFrame(14 * unit);
    this.objects.get("ground").add(world);
    this.layers.frames.push(world);
    for (const object of this.objects.values()) scene.add(object);
    for (const joint of model.joints) {
      const marker = buildJoint(joint, unit);
      const carrier = this.objects.get(joint.body);
      carrier.add(marker);
      this.layers.joints.push(marker);
      this.labels.add(carrier, marker.position, joint.name, null);
    }
    this.springs = model.springs.map((spring) => this.addSpring(spring));
    this.belts = model.belts.map((belt) => this.addBelt(belt));
    this.arrows = this.addArrows(model.arrows);
    this.traces = model.trace.map((trace) => this.addTrace(trace));
  }

  /** Forces: one that only a tenth of them exceeds is a quarter of the mechanism; peaks are longer. */
  addArrows(arrows) {
    const sizes = [];
    for (const { force } of arrows) {
      for (let k = 0; k < force.length; k += 3) sizes.push(Math.hypot(force[k], force[k + 1], force[k + 2]));
    }
    const usual = sizes.filter((size) => size > 0).sort((a, b) => a - b);
    const large = usual.length ? usual[Math.floor(0.9 * (usual.length - 1))] : 0;
    return arrows.map(({ name, body, point, force }) => {
      const arrow = new Arrow(this.unit);
      this.scene.add(arrow.node);
      this.layers.arrows.push(arrow.node);
      return { arrow, name, body, point, force, scale: large > 0 ? (20 * this.unit) / large : 0 };
    });
  }

  addBody(body) {
    const color = this.model.colors.get(body.name);
    const group = new Node();
    const box = new Box3();
    for (const shape of body.shapes) {
      group.add(buildShape(shape, color, this.unit));
      box.union(shapeBox(shape));
    }
    if (body.shapes.length === 0) {
      group.add(new Node(GEOMETRY.sphere({ radius: 1.6 * this.unit }), solidSurface(color)));
    }
    const frame = buildFrame(10 * this.unit);
    group.add(frame);
    this.layers.frames.push(frame);
    this.objects.set(body.name, group);
    const anchor = box.isEmpty() ? new Vector3() : box.center();
    this.labels.add(group, anchor, body.name, color);
  }

  addSpring(spring) {
    const drawn = this.springShape(spring);
    this.scene.add(drawn.node);
    return { drawn, ends: spring.ends };
  }

  springShape({ look, ends: [first, second] }) {
    if (look === "rod") return new Rod(0.35 * this.unit);
    const { count } = this.model.timeline;
    const lengths = Array.from({ length: 20 }, (_, k) => {
      const index = Math.round((k * (count - 1)) / 19);
      return this.worldPoint(first, index).distanceTo(this.worldPoint(second, index));
    });
    const mean = lengths.reduce((sum, length) => sum + length / 20, 0);
    const radius = Math.min(0.1 * (mean || this.size), 3 * this.unit);
    if (look === "cylinder") {
      return new Telescope(0.6 * radius, 0.8 * Math.max(Math.min(...lengths), 0.2 * mean, 1e-9));
    }
    return new Coil(radius, 0.16 * radius, Math.max(5, Math.min(16, Math.round((0.76 * mean) / (1.5 * radius)))));
  }

  addBelt({ wheels, body, axis, closed }) {
    const belt = new Belt(0.3 * this.unit, wheels, closed);
    this.scene.add(belt.tube.mesh);
    return { belt, wheels, body, axis };
  }

  addTrace(trace) {
    const { count } = this.model.timeline;
    const picks = Math.min(count, TRACE_SAMPLES);
    const points = [];
    for (let k = 0; k < picks; k++) {
      points.push(this.worldPoint(trace, picks === 1 ? 0 : Math.round((k * (count - 1)) / (picks - 1))));
    }
    const color = paint(this.model.colors.get(trace.body) || "#7f7f7f");
    const tubes = [0.22, 1].map((opacity, k) => {
      const material = surface("flat", color, { opacity });
      const tube = new Tube(picks, (k ? 0.2 : 0.16) * this.unit, material, 5);
      tube.setPoints(points);
      this.scene.add(tube.mesh);
      this.layers.trace.push(tube.mesh);
      return tube;
    });
    return { passed: tubes[1], picks };
  }

  /** World position of a point fixed to a body, at a sample. */
  worldPoint({ body, point }, index) {
    const { position, quaternion } = this.model.pose(body, { index, fraction: 0 });
    return vector(point).applyQuaternion(rotation(quaternion)).add(vector(position));
  }

  light() {
    const { up, right, front } = this.orbit.axes;
    const center = Box3.around(this.swept).center();
    const from = center.clone().addScaledVector(up, 1.5 * this.size).addScaledVector(front, 0.9 * this.size);
    from.addScaledVector(right, -0.5 * this.size);
    this.renderer.setLamp(from, center, 0.75 * this.size, 0.004 * this.size);
  }

  /** Colors that follow the light or dark theme. */
  setTheme(read) {
    this.floor.material.color = paint(read("--grid-line"));
    this.triadInk = read("--muted");
    this.onChange();
  }

  setVisible(layer, on) {
    this.shown.set(layer, on);
    if (layer === "ride") {
      if (on !== Boolean(this.ride)) this.setRide(on);
    } else if (layer === "grid") this.floor.grid.visible = on;
    else if (layer === "labels") this.labels.container.hidden = !on;
    else if (layer === "shadows") {
      this.renderer.lamp.shadows = on;
      this.floor.shade.visible = on;
    } else for (const object of this.layers[layer]) object.visible = on;
    this.onChange();
  }

  /** The model moves otherwise now: paths and springs are drawn anew, and the bodies if `drawn` differently. */
  renew(drawn) {
    if (drawn || this.traces.length || this.springs.length || this.belts.length || this.arrows.length) this.rebuild();
    this.onChange();
  }

  rebuild() {
    for (const child of this.scene.children) {
      if (child !== this.floor.grid && child !== this.floor.shade) this.renderer.forget(child);
    }
    this.scene.children.length = 0;
    this.labels.clear();
    this.build();
    for (const [layer, on] of this.shown) this.setVisible(layer, on);
  }

  /** Everything anew for another motion: sizes, floor, light, and the view unless somebody has turned it. */
  settle() {
    const before = this.floor;
    for (const child of [before.grid, before.shade]) this.renderer.forget(child);
    this.scene.children = this.scene.children.filter((child) => child !== before.grid && child !== before.shade);
    this.measure();
    this.floor = new Floor(this.swept, this.size, this.orbit.axes);
    this.floor.material.color = before.material.color;
    this.light();
    this.rebuild();
    if (!this.orbit.touched) this.orbit.openingView(this.model.plane);
    this.onChange();
  }

  /** What views must show, after the motion or the sizes have changed. */
  survey() {
    this.swept = sweep(this.model, landmarks(this.model));
    if (!this.ride) this.orbit.setContent(this.swept, diagonal(this.swept) || 1);
    if (!this.orbit.touched) this.orbit.fit(this.orbit.state);
  }

  /** A pale copy of what was before, or none. */
  setGhost(ghost) {
    this.ghost = ghost;
    this.rebuild();
    this.onChange();
  }

  /** The ray from the eye through a place of the screen, x and y from -1 to 1. */
  ray(x, y) {
    const { camera, aspect } = this.orbit;
    const high = Math.tan((FIELD_OF_VIEW * Math.PI) / 360);
    const way = camera.world.column(2).clone().multiplyScalar(-1);
    way.addScaledVector(camera.world.column(0), x * high * aspect).addScaledVector(camera.world.column(1), y * high);
    return { from: camera.position.clone(), way };
  }

  /** The body under a place of the screen: its name, the point in its frame, and how far away; null if there is none. */
  pick(x, y) {
    const { from, way } = this.ray(x, y);
    let found = null;
    for (const { name } of this.model.bodies) {
      const object = this.objects.get(name);
      const back = object.quaternion.clone().invert();
      const begin = from.clone().sub(object.position).applyQuaternion(back);
      const along = way.clone().applyQuaternion(back);
      const box = Box3.around(this.marks.get(name)).expandByScalar(2 * this.unit);
      let [near, far] = [0, Infinity];
      for (const axis of ["x", "y", "z"]) {
        const ends = [box.min, box.max].map((end) => (end[axis] - begin[axis]) / (along[axis] || 1e-300));
        near = Math.max(near, Math.min(...ends));
        far = Math.min(far, Math.max(...ends));
      }
      if (near > far || (found && found.distance <= near)) continue;
      const point = begin.addScaledVector(along, (near + far) / 2);
      found = { name, local: [point.x, point.y, point.z], distance: near, depth: (near + far) / 2 };
    }
    return found;
  }

  /** Where a point that is held goes with the pointer: in a plane across the view. */
  follow(held, x, y) {
    const { from, way } = this.ray(x, y);
    const point = from.addScaledVector(way, held.depth);
    return [point.x, point.y, point.z];
  }

  resize() {
    const [width, height] = [this.element.clientWidth || 1, this.element.clientHeight || 1];
    this.renderer.setSize(width, height, Math.min(window.devicePixelRatio || 1, 2));
    const bar = find(".toolbar").getBoundingClientRect();
    this.orbit.resize(width, height, bar.bottom - this.element.getBoundingClientRect().top);
    this.onChange();
  }

  /** Move everything to scene time t. */
  pose(t) {
    this.time = t;
    const at = this.model.timeline.locate(t);
    if (this.ghost) this.ghost.pose(t);
    for (const [name, object] of this.objects) place(object, this.model.pose(name, at));
    if (this.ride) this.rideOn(at);
    for (const { drawn, ends } of this.springs) {
      drawn.stretch(...ends.map(({ body, point }) => {
        const object = this.objects.get(body);
        return vector(point).applyQuaternion(object.quaternion).add(object.position);
      }));
    }
    for (const { belt, wheels, body, axis } of this.belts) {
      const centers = wheels.map((wheel) => {
        const object = this.objects.get(wheel.body);
        return vector(wheel.point).applyQuaternion(object.quaternion).add(object.position);
      });
      belt.wrap(centers, vector(axis).applyQuaternion(this.objects.get(body).quaternion).normalize());
    }
    for (const { arrow, body, point, force, scale } of this.arrows) {
      const object = this.objects.get(body);
      const next = Math.min(at.index + 1, this.model.timeline.count - 1);
      const vectors = [at.index, next].map((k) => new Vector3().fromArray(force, 3 * k));
      const along = new Vector3().lerpVectors(...vectors, at.fraction).multiplyScalar(scale);
      arrow.point(vector(point).applyQuaternion(object.quaternion).add(object.position), along);
    }
    const last = Math.max(1, this.model.timeline.count - 1);
    for (const { passed, picks } of this.traces) {
      passed.show(Math.round(((at.index + at.fraction) / last) * (picks - 1)));
    }
  }

  /** Draw one frame. Returns true while the camera is still flying. */
  draw(now) {
    const flying = this.orbit.update(now);
    const { camera } = this.orbit;
    this.renderer.render(this.scene, camera);
    this.labels.update(camera, this.element.clientWidth, this.element.clientHeight);
    this.drawTriad();
    return flying;
  }

  /** Small axes in the corner that turn with the camera. */
  drawTriad() {
    const canvas = this.element.querySelector("canvas.triad");
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    const side = 76;
    if (canvas.width !== side * scale) canvas.width = canvas.height = side * scale;
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, side, side);
    const turn = this.orbit.camera.quaternion.clone().invert();
    const arms = ["x", "y", "z"].map((name, k) => {
      const tip = new Vector3().setComponent(k, 1).applyQuaternion(turn);
      return { name, tip, color: AXIS_COLORS[k] };
    });
    arms.sort((a, b) => a.tip.z - b.tip.z);
    pen.lineWidth = 2;
    pen.lineCap = "round";
    pen.font = "600 11px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const { name, tip, color } of arms) {
      pen.strokeStyle = pen.fillStyle = color;
      pen.globalAlpha = tip.z < -0.2 ? 0.55 : 1;
      pen.beginPath();
      pen.moveTo(side / 2, side / 2);
      pen.lineTo(side / 2 + 23 * tip.x, side / 2 - 23 * tip.y);
      pen.stroke();
      pen.fillText(name, side / 2 + 31 * tip.x, side / 2 - 31 * tip.y);
    }
    pen.globalAlpha = 1;
  }
}
