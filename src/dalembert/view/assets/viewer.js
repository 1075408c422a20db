// ---- Viewer: wires the data, the stage, the plots and the controls together ----

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10];
const find = (selector) => document.querySelector(selector);

function webglWorks() {
  return Boolean(document.createElement("canvas").getContext("webgl2"));
}

class Viewer {
  constructor(model) {
    this.model = model;
    this.dirty = true;
    this.clock = new Clock(model.timeline, () => {
      this.dirty = true;
    });
    this.stage = this.makeStage();
    this.panels = model.plots.map((plot) => new PlotPanel(plot, model, (t, phase) => this.scrub(t, phase)));
    if (this.panels.length) this.panels[this.panels.length - 1].last = true;
    find(".plots").append(...this.panels.map((panel) => panel.element));
    this.fillPage();
    this.bindTransport();
    this.bindView();
    this.bindKeys();
    this.followTheme();
    this.followSize();
    this.start();
  }

  makeStage() {
    const message = find(".stage-message");
    const lost = (text) => {
      message.textContent = text;
      message.hidden = false;
    };
    if (!webglWorks()) {
      lost("This browser offers no WebGL 2, so the 3D view cannot be drawn. The plots work all the same.");
      find(".toolbar").hidden = true;
      return null;
    }
    const stage = new Stage(find(".stage"), this.model, () => {
      this.dirty = true;
    });
    stage.canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault();
      lost("The graphics driver dropped the 3D view; waiting for it to come back.");
    });
    stage.canvas.addEventListener("webglcontextrestored", () => {
      message.hidden = true;
      stage.renderer.restore();
      this.dirty = true;
    });
    return stage;
  }

  /** Title, facts and which parts of the page are there at all. */
  fillPage() {
    const { title, facts, plots, trace, joints } = this.model;
    find(".title").textContent = title;
    find(".title").title = title;
    this.fillFacts();
    find(".facts").open = facts.length === 1;
    document.body.classList.toggle("alone", facts.length === 0 && plots.length === 0);
    find("[data-layer=trace]").hidden = trace.length === 0;
    find("[data-layer=joints]").hidden = joints.length === 0;
    find("[data-layer=arrows]").hidden = this.model.arrows.length === 0;
    const ride = find("[data-layer=ride]");
    ride.hidden = !this.stage || !this.stage.travels;
    ride.setAttribute("aria-pressed", String(!ride.hidden));
    if (this.stage) find(".scale").textContent = `grid ${formatValue(this.stage.floor.cell)} m`;
    this.fillTime();
  }

  /** The first fact stands in the headline; the others unfold, so that the plots come first. */
  fillFacts() {
    const { facts } = this.model;
    const rows = facts.map(([key, value]) => {
      const row = document.createElement("tr");
      for (const [tag, text] of [["th", key], ["td", value]]) {
        const cell = document.createElement(tag);
        cell.textContent = text;
        row.append(cell);
      }
      return row;
    });
    find(".facts tbody").replaceChildren(...rows);
    find(".facts").hidden = facts.length === 0;
    if (facts.length > 0) find(".facts summary").textContent = this.model.headline || facts[0][1];
  }

  fillTime() {
    const { timeline } = this.model;
    document.body.classList.toggle("still", timeline.duration === 0);
    const decimals = Math.max(2, Math.min(6, 3 - Math.floor(Math.log10(timeline.duration || 1))));
    this.timeText = (t) => tidyMinus(t.toFixed(decimals));
    find(".time-end").textContent = `/ ${this.timeText(timeline.end)} s`;
  }

  bindTransport() {
    const { clock } = this;
    const slider = find(".scrubber");
    slider.step = "any";
    this.fitScrubber();
    slider.addEventListener("input", () => this.scrub(Number(slider.value), this.held ? "move" : "begin"));
    slider.addEventListener("change", () => this.scrub(null, "end"));
    find("[data-do=play]").addEventListener("click", () => this.toggle());
    find("[data-do=back]").addEventListener("click", () => clock.step(-1));
    find("[data-do=next]").addEventListener("click", () => clock.step(1));
    const loop = find("[data-do=loop]");
    loop.addEventListener("click", () => {
      clock.looping = !clock.looping;
      loop.setAttribute("aria-pressed", String(clock.looping));
    });
    const speeds = [...new Set([...SPEEDS, clock.speed])].sort((a, b) => a - b);
    const menu = find(".speed");
    for (const speed of speeds) {
      const option = new Option(`${formatValue(speed)}×`, speed, speed === clock.speed, speed === clock.speed);
      menu.append(option);
    }
    menu.addEventListener("change", () => {
      clock.speed = Number(menu.value);
    });
  }

  fitScrubber() {
    const { start, end } = this.clock.timeline;
    Object.assign(find(".scrubber"), { min: start, max: end });
  }

  /** The model has another motion now; `drawn`: what is drawn has other sizes, too. */
  renew(drawn) {
    const { model, clock } = this;
    clock.timeline = model.timeline;
    clock.set(clock.time);
    this.fitScrubber();
    this.fillTime();
    this.fillFacts();
    for (const panel of this.panels) {
      panel.timeline = model.timeline;
      panel.draw();
    }
    if (this.stage) this.stage.renew(drawn);
    this.dirty = true;
  }

  bindView() {
    for (const button of document.querySelectorAll("button")) {
      button.addEventListener("click", (event) => {
        if (event.detail > 0) button.blur();
      });
    }
    if (!this.stage) return;
    for (const button of document.querySelectorAll("[data-view]")) {
      button.addEventListener("click", () => this.look(button.dataset.view));
    }
    for (const button of document.querySelectorAll("[data-layer]")) {
      const apply = (on) => {
        button.setAttribute("aria-pressed", String(on));
        this.stage.setVisible(button.dataset.layer, on);
      };
      button.addEventListener("click", () => apply(button.getAttribute("aria-pressed") !== "true"));
      apply(button.getAttribute("aria-pressed") === "true");
    }
  }

  look(view) {
    const { orbit } = this.stage;
    if (view === "fit") orbit.fit();
    else if (view === "isometric") orbit.isometricView();
    else orbit.axisView("xyz".indexOf(view));
  }

  /** Keys of the whole page; each is also named in the tooltip of its button. */
  bindKeys() {
    const clicks = new Map(
      [...document.querySelectorAll("[data-key]")].map((button) => [button.dataset.key, button]),
    );
    window.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, summary, .controls input")) return;
      if (event.key === " ") {
        if (event.target.matches("button")) return;
        this.toggle();
      } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
        this.clock.step(event.key === "ArrowRight" ? 1 : -1);
      } else if (event.key === "Home" || event.key === "End") {
        this.clock.set(event.key === "Home" ? this.clock.timeline.start : this.clock.timeline.end);
      } else if (clicks.has(event.key.toLowerCase())) {
        clicks.get(event.key.toLowerCase()).click();
      } else return;
      event.preventDefault();
    });
  }

  toggle() {
    if (this.clock.playing) this.clock.pause();
    else this.clock.play();
  }

  /** Drag time from a plot or the slider: playback holds and goes on when released. */
  scrub(t, phase) {
    if (phase === "begin") this.held = { playing: this.clock.playing };
    if (phase === "end") {
      if (this.held && this.held.playing) this.clock.play();
      this.held = null;
      return;
    }
    this.clock.playing = false;
    this.clock.set(t);
  }

  followTheme() {
    const query = window.matchMedia("(prefers-color-scheme: dark)");
    const apply = () => {
      const style = getComputedStyle(document.documentElement);
      const read = (name) => style.getPropertyValue(name).trim();
      for (const panel of this.panels) panel.setTheme(read, query.matches);
      if (this.stage) this.stage.setTheme(read);
      this.dirty = true;
    };
    query.addEventListener("change", apply);
    apply();
  }

  followSize() {
    const observer = new ResizeObserver(() => {
      if (this.stage) this.stage.resize();
      for (const panel of this.panels) panel.draw();
      if (this.stage) this.stage.draw(performance.now());
    });
    observer.observe(find(".stage"));
    for (const panel of this.panels) observer.observe(panel.frame);
  }

  /** Bring everything on the page to the clock's state. */
  show(now) {
    const { clock } = this;
    for (const panel of this.panels) panel.setTime(clock.time);
    find(".time-now").textContent = this.timeText(clock.time);
    find(".scrubber").value = clock.time;
    find(".scrubber").setAttribute("aria-valuetext", `${this.timeText(clock.time)} seconds`);
    const share = clock.timeline.duration ? (clock.time - clock.timeline.start) / clock.timeline.duration : 0;
    find(".scrubber").style.setProperty("--share", `${100 * share}%`);
    const play = find("[data-do=play]");
    play.classList.toggle("playing", clock.playing);
    play.setAttribute("aria-label", clock.playing ? "Pause" : "Play");
    if (!this.stage) return false;
    this.stage.pose(clock.time);
    return this.stage.draw(now);
  }

  /** Begin at #t=seconds (standing still) or at the start (playing, unless reduced motion is wanted). */
  start() {
    const wanted = /^#t=([-+.\deE]+)(?:&|$)/.exec(location.hash);
    if (wanted && Number.isFinite(Number(wanted[1]))) this.clock.set(Number(wanted[1]));
    else if (!window.matchMedia("(prefers-reduced-motion: reduce)").matches) this.clock.play();
    let before = performance.now();
    const frame = (now) => {
      const elapsed = Math.min(0.25, Math.max(0, (now - before) / 1000));
      before = now;
      if (this.clock.playing && !this.held) this.clock.advance(elapsed);
      if (this.dirty) {
        this.dirty = false;
        if (this.show(now)) this.dirty = true;
      }
      requestAnimationFrame(frame);
    };
    this.show(before);
    requestAnimationFrame(frame);
  }
}

/** What scripts of tests and of people can ask the page for. */
function publish(viewer) {
  Object.assign(window.dalembert, {
    ready: true,
    webgl: viewer.stage !== null,
    time: () => viewer.clock.time,
    play: () => viewer.clock.play(),
    pause: () => viewer.clock.pause(),
    /** Go to scene time t and draw at once. */
    setTime: (t) => {
      viewer.clock.set(t);
      viewer.show(performance.now());
    },
    /** Pose of a body at the current time: position (x, y, z), quaternion (w, x, y, z); null if unknown. */
    bodyPose: (name) => {
      const { tracks, timeline } = viewer.model;
      return tracks.has(name) ? tracks.get(name).at(timeline.locate(viewer.clock.time)) : null;
    },
  });
}
