// ---- Live: sliders, the verdict, ghosts, and what can be taken away ----

const GHOST_COLOR = "#8fa0b3";
const SURVEY_DELAY = 350; // ms after the last change, before views are fitted to the motion anew
const JUDGE_DELAY = 150; // ms without a change while something is dragged, before the error of the run is estimated

/** A number as Python writes it with {:.6g}. */
const six = (value) => String(Number(value.toPrecision(6)));
const fill = (text, values) => text.replace(/\{(\w+)(?:!r)?\}/g, (_, name) => values[name]);
const short = (value) => value.toExponential(1);

/** The numbers of what is drawn, one after the other, as functions that set them. */
function drawnSetters(payload) {
  const setters = [];
  const list = (object, name) => object[name].forEach((_, k) => setters.push((value) => { object[name][k] = value; }));
  const shapes = [...payload.bodies.flatMap((body) => body.shapes), ...payload.ground];
  for (const shape of shapes) {
    list(shape, "position");
    list(shape, "quaternion");
    if (shape.size) list(shape, "size");
    for (const name of ["radius", "length", "tube"]) {
      if (name in shape) setters.push((value) => { shape[name] = value; });
    }
    if (shape.points) {
      shape.points = decode(shape.points, Float32Array);
      list(shape, "points");
    }
  }
  for (const joint of payload.joints) {
    list(joint, "position");
    list(joint, "axis");
  }
  for (const end of payload.springs.flatMap((spring) => spring.ends)) list(end, "point");
  for (const belt of payload.belts) {
    for (const wheel of belt.wheels) {
      list(wheel, "point");
      setters.push((value) => { wheel.radius = value; });
    }
    list(belt, "axis");
  }
  return setters;
}

/** One body over time, from the arrays of a run. */
class LiveTrack extends Track {
  constructor(found, body, layout) {
    super({ position: null, quaternion: null });
    const rows = found.written;
    this.positions = new Float32Array(3 * rows);
    this.quaternions = new Float32Array(4 * rows);
    for (let i = 0; i < rows; i++) {
      for (let k = 0; k < 3; k++) {
        this.positions[3 * i + k] = found.observed[i * layout.width + layout.pose + 12 * body + 9 + k];
      }
      for (let k = 0; k < 4; k++) this.quaternions[4 * i + k] = found.orientation[4 * (i * layout.bodies + body) + k];
    }
  }
}

/** What the page shows; a run gives it another motion. */
class LiveModel {
  constructor(payload) {
    Object.assign(this, payload);
    this.colors = new Map(payload.bodies.map((body) => [body.name, body.color]));
    this.setters = drawnSetters(payload);
    this.sizes = null;
    // A glimpse of the motion, until the first run is there.
    this.timeline = new Timeline(decode(payload.time, Float64Array));
    this.tracks = new Map(payload.bodies.map((body) => [body.name, new Track(body)]));
    for (const plot of this.plots) for (const series of plot.series) series.values = decode(series.values, Float32Array);
    this.facts = [["status", "computing …"], ...payload.live.facts];
    this.headline = "Certificate and effort";
  }

  pose(name, place) {
    const track = this.tracks.get(name);
    return track ? track.at(place) : { position: [0, 0, 0], quaternion: [1, 0, 0, 0] };
  }

  /** Take the motion of a run; true if what is drawn has other sizes now. */
  take(found) {
    const { layout } = this.live;
    this.timeline = new Timeline(found.time);
    this.tracks = new Map(this.bodies.map((body, k) => [body.name, new LiveTrack(found, layout.body[k], layout)]));
    for (const plot of this.plots) for (const series of plot.series) series.values = this.column(found, series.source);
    const changed = !this.sizes || found.drawn.some((value, k) => value !== this.sizes[k]);
    if (changed) {
      this.sizes = found.drawn;
      layout.drawn.forEach((place, k) => this.setters[place](found.drawn[k]));
    }
    return changed;
  }

  column(found, source) {
    const { width, kinetic, potential, states } = this.live.layout;
    const every = (values, width, k) => Float64Array.from({ length: found.written }, (_, i) => values[i * width + k]);
    const take = (k) => every(found.observed, width, k);
    if (source === "work") return found.work;
    if (`${source}`.startsWith("state ")) return every(found.states, states, Number(source.slice(6)));
    if (source === "total") {
      const [T, V] = [take(kinetic), take(potential)];
      return T.map((value, i) => value + V[i]);
    }
    return take(source);
  }
}

/** The run before, pale. */
class Ghost {
  constructor(model, unit) {
    Object.assign(this, { tracks: model.tracks, timeline: model.timeline, node: new Node(), nodes: new Map() });
    const pale = solidSurface(GHOST_COLOR, 0.22);
    const fade = (node) => {
      node.castShadow = false;
      if (node.material) node.material = pale;
      if (node.geometry && node.geometry.mode === "lines") node.visible = false;
      node.children.forEach(fade);
    };
    for (const body of model.bodies) {
      const group = new Node();
      for (const shape of body.shapes) group.add(buildShape(shape, GHOST_COLOR, unit));
      if (body.shapes.length === 0) group.add(new Node(GEOMETRY.sphere({ radius: 1.6 * unit }), pale));
      fade(group);
      this.nodes.set(body.name, group);
      this.node.add(group);
    }
  }

  pose(t) {
    const at = this.timeline.locate(t);
    for (const [name, node] of this.nodes) place(node, this.tracks.get(name).at(at));
  }
}

const largestSpeed = (found, live) => {
  const { nq, unit } = live.companion;
  let largest = 0;
  for (let i = 0; i < found.written; i++) {
    for (let k = nq; k < unit.length; k++) largest = Math.max(largest, Math.abs(found.states[i * live.layout.states + k]));
  }
  return largest;
};

/** The error of a run, relative to the size of its motion, by a companion that sees nearly all of it. */
function errorOf(found, other, live) {
  const { unit, units, nq, share, floor, scale } = live.companion;
  const width = live.layout.states;
  if (other.status !== found.status || other.written !== found.written || other.count !== found.count) return Infinity;
  const sizes = unit.map(() => 0);
  for (let i = 0; i < found.written; i++) {
    for (let k = 0; k < sizes.length; k++) sizes[k] = Math.max(sizes[k], Math.abs(found.states[i * width + k]));
  }
  const counted = sizes.map((size, k) => size / units[k]);
  const most = [Math.max(0, ...counted.slice(0, nq)), Math.max(0, ...counted.slice(nq))];
  let worst = 0;
  for (let k = 0; k < sizes.length; k++) {
    const size = (unit[k] ? 1 : Math.max(sizes[k], share * most[k < nq ? 0 : 1] * units[k])) + floor * units[k];
    for (let i = 0; i < found.written; i++) {
      const off = Math.abs(found.states[i * width + k] - other.states[i * width + k]) / size;
      if (!(off <= worst)) worst = off;
    }
  }
  return Number.isNaN(worst) ? Infinity : scale * worst;
}

/** What a run says of itself, in words: as the certificate in Python does. */
class Verdict {
  /** `other`: the companion of the run, null while it is not known. */
  constructor(found, live, other) {
    Object.assign(this, { found, live });
    this.checks = live.checks.map((check) => {
      const value = found.measured[check.index];
      const limit = check.speedy ? check.limit * Math.max(1, largestSpeed(found, live)) : check.limit;
      return { ...check, value, limit, passed: limit === null || value <= limit };
    });
    this.checked = other !== null;
    if (other) {
      const value = errorOf(found, other, live);
      const limit = live.companion.accuracy;
      this.checks.unshift({ name: "error", value, limit, passed: value <= limit });
    }
    this.began = found.status !== live.statuses.noStart;
    this.message = this.ending();
    this.finished = found.status === live.statuses.finished || this.endedByEvent;
    if (!found.states.every(Number.isFinite)) this.finished = false;
    this.failed = this.checks.filter((check) => !check.passed);
    this.sound = this.began && this.finished && this.failed.length === 0;
    this.trusted = this.sound && this.checked;
    this.remarks = this.began ? this.remarksOf() : [];
  }

  get endedByEvent() {
    return this.found.status === this.live.statuses.acted && this.found.reaction === this.live.reactions.ended;
  }

  ending() {
    const { found, live } = this;
    const end = six(found.end);
    if (!this.began) {
      const owner = live.rowOwners[found.off_row] || "what was asked for";
      return fill(live.starts[String(found.reaction)] || live.starts.other, { owner, off: six(found.off_by) });
    }
    if (found.status === live.statuses.acted) {
      const last = found.events.length ? live.eventNames[found.events[found.events.length - 1][0]] : "";
      const words = fill(live.reactionWords[String(found.reaction)], { name: `'${last}'`, count: found.count });
      return this.endedByEvent ? `ended by event '${last}' at t = ${end} s` : `stopped at t = ${end} s: ${words}`;
    }
    const failure = live.failures[String(found.failure)] || "the native code gave up without a reason";
    const { steps, rejected } = found;
    return fill(live.endings[String(found.status)] || "stopped at t = {end} s", { end, failure, steps, rejected });
  }

  remarksOf() {
    const { found, live } = this;
    const words = [...live.notes];
    if (Number.isFinite(found.changed)) words.push(fill(live.stiff, { t: six(found.changed) }));
    if (found.narrow > 0) {
      const many = found.narrow > 1 ? `${found.narrow} steps were` : "a step was";
      words.push(fill(live.overlooked, { many }));
    }
    if (!live.rows || !Number.isFinite(found.lowest_rank)) return words;
    const { lowest_rank: low, highest_rank: high, smallest_pivot: pivot } = found;
    const say = (name, values = {}) => words.push(fill(live.remarks[name], values));
    if (high < live.rows) say("redundant", { missing: live.rows - high, rows: live.rows });
    if (low < high - live.switched) say("lost", { high, low });
    if (found.largest_conflict > live.limits.conflict) say("conflict", { conflict: short(found.largest_conflict) });
    if (this.failed.some(({ name }) => name === "velocity correction")) say("jumped");
    if (pivot < live.limits.nearly) say("near", { pivot: short(pivot) });
    else if (this.failed.some(({ name }) => name === "conditioning")) say("passed");
    return words;
  }

  /** One line that is always seen. */
  get line() {
    if (this.trusted) {
      const { value } = this.checks[0];
      return `trusted: ${this.message}, error ${short(value)} of the motion (≤ ${short(this.live.companion.accuracy)})`;
    }
    if (this.sound) return `not checked yet: ${this.message}`;
    const why = this.failed.map(({ name, value, limit }) => `${name} ${short(value)} > ${short(limit)}`);
    return `not trusted: ${[this.message, ...(this.began ? why : [])].join("; ")}`;
  }

  get facts() {
    const rows = [["status", this.line], ...this.live.facts];
    for (const { name, value, limit, passed } of this.began ? this.checks : []) {
      const verdict = limit === null ? "" : `  ${passed ? "ok" : "FAILED"} (≤ ${limit.toExponential(0)})`;
      rows.push([name, `${value.toExponential(2)}${verdict}${name === "error" ? `, ${this.live.companion.by}` : ""}`]);
    }
    const { steps, rejected, evaluations, milliseconds, events, count } = this.found;
    rows.push(["effort", `${steps} steps, ${rejected} rejected, ${evaluations} evaluations; ${milliseconds.toFixed(1)} ms`]);
    if (count > 0) {
      const first = events.slice(0, 4).map(([which, t]) => `${this.live.eventNames[which]} at ${six(t)} s`);
      rows.push(["events", `${count}: ${first.join(", ")}${count > 4 ? ", …" : ""}`]);
    }
    if (this.remarks.length) rows.push(["remarks", this.remarks.join("; ")]);
    return rows;
  }
}

/** A slider with a field for its number. */
class Slider {
  constructor(entry, onChange) {
    Object.assign(this, entry, { start: entry.value });
    const create = (tag, className) => Object.assign(document.createElement(tag), { className });
    this.element = create("label", "slider");
    const name = create("span", "slider-name");
    name.textContent = this.name;
    name.title = this.about;
    this.range = create("input", "slider-range");
    Object.assign(this.range, { type: "range", min: this.low, max: this.high, step: "any" });
    this.field = create("input", "slider-field");
    Object.assign(this.field, { type: "number", step: "any", min: this.low, max: this.high });
    this.field.setAttribute("aria-label", `${this.name}, as a number`);
    const unit = create("span", "slider-unit");
    unit.textContent = this.unit;
    this.element.append(name, this.range, this.field, unit);
    this.element.classList.toggle("plain", !this.unit); // more room for its name
    this.range.addEventListener("pointerdown", () => onChange("begin"));
    this.range.addEventListener("input", () => {
      this.set(Number(this.range.value));
      onChange("move");
    });
    this.range.addEventListener("change", () => onChange("end"));
    this.field.addEventListener("change", () => {
      onChange("begin");
      this.set(this.field.value === "" ? NaN : Number(this.field.value));
      onChange("end");
    });
    this.set(this.start);
  }

  /** A value within the range; what is no number changes nothing. */
  set(value) {
    if (Number.isFinite(value)) this.value = Math.min(this.high, Math.max(this.low, value));
    this.range.value = this.value;
    const share = (this.value - this.low) / (this.high - this.low || 1);
    this.range.style.setProperty("--share", `${100 * share}%`);
    this.field.value = Number(this.value.toPrecision(6));
    this.element.classList.toggle("changed", this.touched);
  }

  get touched() {
    return this.value !== this.start;
  }
}

/** A menu, in a line like a slider's. */
function makeMenu(name, about, choices, onChange) {
  const create = (tag, className, text = "") => Object.assign(document.createElement(tag), { className, textContent: text });
  const element = create("label", "slider");
  const menu = create("select", "slider-menu");
  menu.append(...choices.map((choice) => create("option", "", choice)));
  element.append(Object.assign(create("span", "slider-name", name), { title: about }), menu);
  menu.addEventListener("change", () => onChange(menu.selectedIndex));
  return { element, menu };
}

class LivePage {
  constructor(payload) {
    this.live = payload.live;
    this.methods = payload.live.methods || [];
    this.method = 0;
    this.model = new LiveModel(payload);
    this.viewer = null;
    this.found = null;
    this.listeners = [];
    this.sliders = this.live.sliders.map((entry) => new Slider(entry, (phase) => this.change(phase)));
    this.fillControls();
    this.readAddress();
    this.runner = new Runner(this.live.engine, (...all) => this.show(...all), (text) => this.fail(text));
    this.ask(); // the worker compiles while the first picture is drawn
    this.open();
  }

  fillControls() {
    const groups = new Map();
    for (const slider of this.sliders) {
      if (!groups.has(slider.group)) groups.set(slider.group, []);
      groups.get(slider.group).push(slider.element);
    }
    for (const [title, elements] of groups) this.addGroup(title, elements);
    this.fillMotions();
    if (this.methods.length) {
      const change = (k) => {
        this.keepGhost();
        this.setMethod(k);
        this.ask();
        this.writeAddress();
      };
      this.menu = makeMenu("integrator", "how time passes", this.methods.map(({ name }) => name), change);
      this.addGroup("Method", [this.menu.element]);
    }
    find(".controls").hidden = false;
    const bind = (name, action) => find(`[data-live=${name}]`).addEventListener("click", action);
    bind("reset", () => this.reset());
    bind("share", () => this.share());
    bind("csv", () => this.download(`${this.fileName()}.csv`, new Blob([this.csv()], { type: "text/csv" })));
    bind("picture", () => this.picture());
    bind("grab", () => this.setGrab(find("[data-live=grab]").getAttribute("aria-pressed") !== "true"));
    const ghost = find("[data-live=ghost]");
    ghost.addEventListener("click", () => {
      const on = ghost.getAttribute("aria-pressed") !== "true";
      ghost.setAttribute("aria-pressed", String(on));
      this.showGhost(on ? this.ghost : null);
    });
    find(".verdict").addEventListener("click", () => {
      find(".facts").open = true;
      find(".facts").scrollIntoView({ block: "nearest" });
    });
  }

  fillMotions() {
    const { list, ...shared } = this.live.motions || { list: [] };
    const change = () => {
      this.keepGhost();
      this.ask();
      this.writeAddress();
    };
    this.motions = list.map((entry) => new MotionField(entry, shared, change, (text) => this.say(text, 12000)));
    if (!list.length) return;
    this.addGroup("Prescribed, as formulas of t", this.motions.map(({ element }) => element));
  }

  addGroup(title, elements) {
    const heading = Object.assign(document.createElement("h3"), { textContent: title });
    find(".sliders").append(heading, ...elements);
  }

  /** Parameters by name, as they are now. */
  get parameterValues() {
    const own = this.sliders.filter(({ key }) => key.startsWith("p:")).map(({ key, value }) => [key.slice(2), value]);
    return { ...this.live.motions.values, ...Object.fromEntries(own) };
  }

  /** Another integrator, with what is to be said of it. */
  setMethod(k) {
    this.method = k;
    Object.assign(this.live, this.methods[k].words);
    this.menu.menu.selectedIndex = k;
    this.menu.element.classList.toggle("changed", k > 0);
  }

  /** What differs from the image of the memory, for the engine. */
  writes() {
    const list = this.method ? [...this.methods[this.method].writes] : [];
    const joints = new Map();
    for (const slider of this.sliders) {
      if (slider.joint === null) {
        if (slider.touched) list.push([slider.address, "f", slider.value]);
      } else {
        if (!joints.has(slider.joint)) joints.set(slider.joint, []);
        joints.get(slider.joint).push(slider);
      }
    }
    for (const motion of this.motions) if (motion.touched) list.push(...motion.writes(this.parameterValues));
    // The coordinates of a joint are given together, those of the others follow from the model.
    for (const sliders of joints.values()) {
      if (!sliders.some((slider) => slider.touched)) continue;
      for (const slider of sliders) {
        list.push([slider.address, "f", slider.value]);
        for (const at of slider.masks) list.push([at, "i", 1]);
      }
    }
    return list;
  }

  ask() {
    document.body.classList.add("running");
    this.stopJudging();
    this.runner.ask(this.writes(), "run");
  }

  /** A sound run is trusted only after its companion has been made, as soon as nobody asks for another one. */
  judge() {
    this.stopJudging();
    const make = () => {
      this.judging = null;
      this.runner.ask([...this.writes(), ...this.live.companion.writes], "companion");
    };
    // While something is dragged the next run must not wait for the companion of this one.
    if (this.dragged || this.held) this.judging = setTimeout(make, JUDGE_DELAY);
    else make();
  }

  stopJudging() {
    clearTimeout(this.judging);
    this.judging = null;
  }

  /** A slider is taken, moved, or let go. */
  change(phase) {
    this.dragged = phase === "move";
    if (phase === "begin") this.keepGhost();
    else this.ask();
    if (phase === "end") this.writeAddress();
  }

  keepGhost() {
    if (!this.found || !this.viewer) return;
    const { model } = this;
    const curves = model.plots.map((plot) => plot.series.map(({ values }) => ({ times: model.timeline.times, values })));
    this.ghost = { curves, solid: this.viewer.stage ? new Ghost(model, this.viewer.stage.unit) : null };
    if (find("[data-live=ghost]").getAttribute("aria-pressed") === "true") this.showGhost(this.ghost);
  }

  showGhost(ghost) {
    this.model.plots.forEach((plot, i) => plot.series.forEach((series, k) => {
      series.ghost = ghost ? ghost.curves[i][k] : null;
    }));
    if (!this.viewer) return;
    if (this.viewer.stage) this.viewer.stage.setGhost(ghost ? ghost.solid : null);
    for (const panel of this.viewer.panels) panel.draw();
    this.viewer.dirty = true;
  }

  show(found, what, more) {
    if (what === "pull") return this.pulled(found);
    if (what === "run") this.showRun(found, more);
    else if (!more) this.tell(this.last, found); // else the sliders have moved on
    if (more) return;
    if (what === "run" && this.verdict.sound) this.judge();
    else for (const done of this.listeners.splice(0)) done(this.last);
  }

  /** The verdict, everywhere where it is seen. */
  tell(found, other) {
    const verdict = new Verdict(found, this.live, other);
    this.model.facts = verdict.facts;
    this.verdict = verdict;
    find(".verdict-text").textContent = verdict.line;
    find(".verdict").classList.toggle("trusted", verdict.trusted);
    find(".verdict").classList.toggle("pending", verdict.sound && !verdict.checked);
    if (this.viewer) this.viewer.fillFacts();
    return verdict;
  }

  showRun(found, more) {
    const verdict = this.tell(found, null);
    document.body.classList.toggle("running", more);
    document.body.classList.toggle("stale", !verdict.began);
    this.found = verdict.began ? found : this.found;
    find(".effort").textContent = `${found.milliseconds.toFixed(0)} ms`;
    if (verdict.began) {
      const drawn = this.model.take(found);
      if (!this.begun) this.begin();
      this.viewer.renew(drawn);
    }
    this.last = found;
    if (!more) {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.viewer && this.viewer.stage && this.viewer.stage.survey(), SURVEY_DELAY);
    }
  }

  /** The first picture: a glimpse, standing still. */
  open() {
    this.viewer = new Viewer(this.model);
    this.wantsToPlay = this.viewer.clock.playing;
    this.viewer.clock.pause();
    this.opened = performance.now();
    if (this.viewer.stage) this.listenToGrabs(this.viewer.stage.canvas);
  }

  /** The first run is there: what is seen fits its motion. */
  begin() {
    const { stage, clock } = this.viewer;
    this.begun = true;
    clock.timeline = this.model.timeline;
    if (stage) {
      stage.settle();
      find(".scale").textContent = `grid ${formatValue(stage.floor.cell)} m`;
    }
    if (this.wantsToPlay) clock.play();
    publish(this.viewer);
  }

  // Bodies that are taken by hand

  get grabbed() {
    return find("[data-live=grab]").getAttribute("aria-pressed") === "true";
  }

  /** Sliders of coordinates at the start. */
  get places() {
    return this.sliders.filter(({ joint }) => joint !== null && joint.startsWith("q:"));
  }

  setGrab(on) {
    if (on && !this.places.length) return this.say(this.live.noGrab);
    find("[data-live=grab]").setAttribute("aria-pressed", String(on));
    this.viewer.stage && this.viewer.stage.canvas.classList.toggle("grab", on);
    if (on) {
      this.viewer.clock.pause();
      this.viewer.clock.set(this.model.timeline.start);
      this.say("drag a body to where it shall start");
    }
  }

  listenToGrabs(canvas) {
    const before = { capture: true };
    const at = ({ clientX, clientY }) => {
      const box = canvas.getBoundingClientRect();
      return [(2 * (clientX - box.left)) / box.width - 1, 1 - (2 * (clientY - box.top)) / box.height];
    };
    canvas.addEventListener("pointerdown", (event) => {
      const held = this.grabbed && this.begun ? this.viewer.stage.pick(...at(event)) : null;
      if (!held) return;
      event.stopImmediatePropagation();
      canvas.setPointerCapture(event.pointerId);
      this.held = held;
      this.viewer.clock.pause();
      this.viewer.clock.set(this.model.timeline.start);
      this.keepGhost();
    }, before);
    canvas.addEventListener("pointermove", (event) => {
      if (!this.held) return;
      event.stopImmediatePropagation();
      this.pullTo(this.viewer.stage.follow(this.held, ...at(event)));
    }, before);
    for (const name of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(name, () => {
        if (this.held) this.writeAddress();
        this.held = null;
      }, before);
    }
  }

  /** Ask for the start that brings the point that is held close to a place in the world. */
  pullTo(target) {
    const { live, model } = this;
    const body = live.layout.body[model.bodies.findIndex(({ name }) => name === this.held.name)];
    const own = new Set(this.places.map(({ address }) => address));
    const writes = this.writes().filter(([at]) => !own.has(at));
    this.stopJudging();
    this.runner.ask([], "pull", {
      writes, target, local: this.held.local, pose: live.layout.pose + 12 * body, once: [live.engine.times, "i", 1],
      sliders: this.places.map(({ address, masks, value, low, high }) => ({ address, masks, value, low, high })),
      noStart: live.statuses.noStart,
    });
  }

  pulled({ values }) {
    this.places.forEach((slider, k) => slider.set(values[k]));
    this.ask();
  }

  fail(text) {
    document.body.classList.remove("running");
    document.body.classList.add("stale");
    find(".verdict-text").textContent = `not trusted: this browser could not run the simulation (${text})`;
    find(".verdict").classList.remove("trusted", "pending");
    for (const done of this.listeners.splice(0)) done(null);
  }

  reset() {
    this.keepGhost();
    for (const slider of this.sliders) slider.set(slider.start);
    for (const motion of this.motions) motion.set(motion.start);
    if (this.method) this.setMethod(0);
    this.ask();
    this.writeAddress();
  }

  /** The values that differ, as a fragment of the address. */
  fragment() {
    const parts = this.sliders
      .filter((slider) => slider.touched)
      .map((slider) => `${encodeURIComponent(slider.key)}=${slider.value}`);
    for (const { key, text, touched } of this.motions) {
      if (touched) parts.push(`${encodeURIComponent(key)}=${encodeURIComponent(text)}`);
    }
    if (this.method) parts.push(`integrator=${this.methods[this.method].name}`);
    return parts.join("&");
  }

  readAddress() {
    for (const part of location.hash.slice(1).split("&")) {
      try {
        const [key, value = ""] = part.split("=").map(decodeURIComponent);
        this.setBy(key, value);
      } catch {
        continue; // not written by a page of ours
      }
    }
  }

  /** Set what a key names, a slider, a motion or the integrator; false if there is no such thing. */
  setBy(key, value) {
    const slider = this.sliders.find((one) => one.key === key);
    const method = key === "integrator" ? this.methods.findIndex(({ name }) => name === value) : -1;
    const motion = this.motions.find((one) => one.key === key);
    if (slider && value !== "") slider.set(Number(value));
    if (method >= 0) this.setMethod(method);
    if (motion && value !== "") motion.set(value);
    return Boolean(slider || motion) || method >= 0;
  }

  writeAddress(time = null) {
    if (location.protocol === "about:") return; // a frame of a notebook has no address
    const parts = [time === null ? "" : `t=${six(time)}`, this.fragment()].filter(Boolean);
    history.replaceState(null, "", parts.length ? `#${parts.join("&")}` : location.pathname + location.search);
  }

  async share() {
    if (location.protocol === "about:") return this.say("save the page to share it: run.live(\"x.html\")");
    this.writeAddress(this.viewer ? this.viewer.clock.time : null);
    let text = "the address of this page holds these values";
    try {
      await navigator.clipboard.writeText(location.href);
      text = "address copied";
    } catch {
      // Without leave to use the clipboard the address line is enough.
    }
    this.say(text);
  }

  say(text, time = 4000) {
    find(".live-note").textContent = text;
    clearTimeout(this.noteTimer);
    this.noteTimer = setTimeout(() => { find(".live-note").textContent = ""; }, time);
  }

  fileName() {
    return this.model.title.replace(/[^\w.-]+/g, "-").replace(/^[-.]+|-+$/g, "") || "run";
  }

  download(name, blob) {
    const link = document.createElement("a");
    const address = URL.createObjectURL(blob);
    Object.assign(link, { href: address, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  /** Time, coordinates, velocities, then everything that is plotted. */
  csv() {
    const { found, live, model } = this;
    const width = live.layout.states;
    const series = model.plots.flatMap((plot) => plot.series.map((one) => [`${one.name} (${plot.ylabel})`, one.values]));
    // A name that looks like a formula to a spreadsheet gets an apostrophe in front.
    const cell = (text) => `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
    const lines = [["time (s)", ...live.stateNames, ...series.map(([name]) => name)].map(cell).join(",")];
    for (let i = 0; i < found.written; i++) {
      const numbers = [found.time[i], ...found.states.subarray(i * width, i * width + live.stateNames.length)];
      lines.push([...numbers, ...series.map(([, values]) => values[i])].join(","));
    }
    return `${lines.join("\r\n")}\r\n`;
  }

  picture() {
    const { stage } = this.viewer;
    if (!stage) return;
    stage.draw(performance.now());
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [stage.canvas.width, stage.canvas.height];
    const pen = canvas.getContext("2d");
    pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--sky-top").trim();
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(stage.canvas, 0, 0);
    canvas.toBlob((blob) => blob && this.download(`${this.fileName()}.png`, blob));
  }
}

const page = new LivePage(JSON.parse(find("#scene-data").textContent));

window.dalembert.live = {
  /** Set sliders by key, as {"p:crank": 0.5, integrator: "radau"}; the promise gives the run when it is shown. */
  set: (values) => {
    page.keepGhost();
    for (const [key, value] of Object.entries(values)) {
      if (!page.setBy(key, value)) throw new Error(`no slider ${key}`);
    }
    page.ask();
    page.writeAddress();
    return new Promise((done) => { page.listeners.push(done); });
  },
  /** The run that is shown: states by rows, times, the verdict. */
  run: () => ({
    states: Array.from(page.found.states), time: Array.from(page.found.time), line: page.verdict.line,
    trusted: page.verdict.trusted, facts: page.verdict.facts, milliseconds: page.last.milliseconds,
    measured: Array.from(page.last.measured),
  }),
  ready: () => (page.begun ? Promise.resolve(true) : new Promise((done) => { page.listeners.push(() => done(true)); })),
  /** When the first picture was drawn, in ms after the page was asked for. */
  opened: () => page.opened,
  /** Bring a point of a body, in its own frame, close to a place in the world; the promise gives the run. */
  pull: (name, local, target) => {
    page.held = { name, local };
    page.pullTo(target);
    page.held = null;
    return new Promise((done) => { page.listeners.push(done); });
  },
  /** Where a body is on the screen (pixels). */
  screen: (name) => {
    const { stage, model } = page.viewer;
    const box = stage.canvas.getBoundingClientRect();
    const { position } = model.pose(name, model.timeline.locate(page.viewer.clock.time));
    const { x, y } = stage.orbit.camera.project(vector(position));
    return [box.left + ((x + 1) / 2) * box.width, box.top + ((1 - y) / 2) * box.height];
  },
  /** A promise that holds until nothing is computed any more. */
  rest: () => new Promise((done) => {
    const look = () => (page.runner.busy || page.judging ? setTimeout(look, 10) : done(true));
    look();
  }),
  values: () => Object.fromEntries(page.sliders.map(({ key, value }) => [key, value])),
  csv: () => page.csv(),
};
