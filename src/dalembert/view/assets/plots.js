// ---- Plots: small canvas charts that share the time cursor ----

const SUPERSCRIPT = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const superscript = (number) => [...String(number)].map((c) => SUPERSCRIPT[c]).join("");
const tidyMinus = (text) => text.replace("-", "−");

/** A value for people: about `digits` significant digits, powers of ten when it is far from one. */
function formatValue(value, digits = 5) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e6) {
    const [mantissa, exponent] = value.toExponential(Math.min(3, digits - 1)).split("e");
    return tidyMinus(`${Number(mantissa)}×10`) + superscript(Number(exponent));
  }
  return tidyMinus(String(Number(value.toPrecision(digits))));
}

/** Round tick positions inside [low, high], about `count` of them. */
function niceTicks(low, high, count) {
  const raw = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((value) => value >= raw * (1 - 1e-9));
  const first = Math.ceil(low / step - 1e-9);
  const ticks = Array.from({ length: 2 * Math.ceil(count) + 2 }, (_, k) => (first + k) * step);
  return { ticks: ticks.filter((tick) => tick <= high + 1e-9 * step), step };
}

/** Short tick labels: a common offset and power of ten are taken out and named in `note`. */
function tickLabels(ticks, step) {
  const largest = Math.max(...ticks.map(Math.abs), step);
  const offset = largest / step > 2e4 ? ticks[Math.floor(ticks.length / 2)] : 0;
  const rest = Math.max(...ticks.map((tick) => Math.abs(tick - offset)), step);
  const exponent = Math.floor(Math.log10(rest) + 1e-9);
  const power = exponent > 4 || exponent < -2 ? exponent : 0;
  const scale = 10 ** power;
  const decimals = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / scale) + 1e-9)));
  const extra = Math.abs((step / scale) * 10 ** decimals - Math.round((step / scale) * 10 ** decimals)) > 1e-6;
  const labels = ticks.map((tick) => {
    const text = ((tick - offset) / scale).toFixed(decimals + (extra ? 1 : 0));
    return tidyMinus(Number(text) === 0 ? text.replace("-", "") : text);
  });
  const notes = [];
  if (power) notes.push(`×10${superscript(power)}`);
  if (offset) notes.push(`${offset < 0 ? "−" : "+"} ${formatValue(Math.abs(offset), 9)}`);
  return { labels, note: notes.join("  ") };
}

/** Lowest and highest value of the shown series, widened so that a constant has room around it. */
function valueRange(shown) {
  let [low, high] = [Infinity, -Infinity];
  for (const { values } of shown) {
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (low > high) return [-1, 1];
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (high - low <= 1e-14 * size || high === low) {
    const room = size > 0 ? 0.1 * size : 1;
    return [low - room, high + room];
  }
  const room = 0.06 * (high - low);
  return [low - room, high + room];
}

/** Mix a hex color with white. */
function lighten(hex, share) {
  const channels = [1, 3, 5].map((k) => Math.round(parseInt(hex.slice(k, k + 2), 16) * (1 - share) + 255 * share));
  return `rgb(${channels.join(",")})`;
}

function stroke(pen, x0, y0, x1, y1) {
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}

const DASHES = [[], [6, 4], [2, 3], [8, 3, 2, 3]];

class PlotPanel {
  constructor(plot, model, onScrub) {
    Object.assign(this, { plot, timeline: model.timeline, onScrub, time: model.timeline.start, hover: null });
    plot.series.forEach((series, k) => {
      const twins = plot.series.slice(0, k).filter((other) => other.hex === series.color);
      series.hex = series.color;
      series.dash = DASHES[twins.length % DASHES.length];
      series.shown = true;
    });
    this.buildElements();
    this.listen();
  }

  buildElements() {
    const create = (tag, className, text = "") => {
      const element = document.createElement(tag);
      element.className = className;
      element.textContent = text;
      return element;
    };
    this.element = create("figure", "plot");
    const head = create("figcaption", "plot-head");
    head.append(create("span", "plot-title", this.plot.title), create("span", "plot-unit", this.plot.ylabel));
    const legend = create("div", "legend");
    for (const series of this.plot.series) {
      const button = create("button", "legend-item");
      button.type = "button";
      button.title = `Show or hide ${series.name}`;
      button.setAttribute("aria-pressed", "true");
      series.swatch = create("i", "swatch");
      series.output = create("output", "legend-value");
      button.append(series.swatch, create("span", "legend-name", series.name), series.output);
      button.addEventListener("click", () => {
        series.shown = !series.shown;
        button.setAttribute("aria-pressed", String(series.shown));
        this.draw();
      });
      legend.append(button);
    }
    this.frame = create("div", "plot-frame");
    this.canvas = create("canvas", "plot-curves");
    this.overlay = create("canvas", "plot-cursor");
    this.canvas.setAttribute("role", "img");
    const names = this.plot.series.map((series) => series.name).join(", ");
    this.canvas.setAttribute("aria-label", `${this.plot.title}, ${this.plot.ylabel} over time: ${names}`);
    this.tip = create("div", "plot-tip");
    this.tip.hidden = true;
    this.frame.append(this.canvas, this.overlay, this.tip);
    this.element.append(head, legend, this.frame);
  }

  listen() {
    const timeAt = (event) => {
      const x = event.clientX - this.frame.getBoundingClientRect().left;
      const share = Math.min(1, Math.max(0, (x - this.area.left) / this.area.width));
      return this.timeline.start + share * this.timeline.duration;
    };
    let dragging = false;
    this.frame.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.area) return;
      dragging = true;
      this.frame.setPointerCapture(event.pointerId);
      this.onScrub(timeAt(event), "begin");
    });
    this.frame.addEventListener("pointermove", (event) => {
      if (!this.area) return;
      this.hover = timeAt(event);
      if (dragging) this.onScrub(this.hover, "move");
      this.drawCursor();
    });
    const release = () => {
      if (dragging) this.onScrub(null, "end");
      dragging = false;
    };
    this.frame.addEventListener("pointerup", release);
    this.frame.addEventListener("pointercancel", release);
    this.frame.addEventListener("pointerleave", () => {
      this.hover = null;
      this.drawCursor();
    });
  }

  setTheme(read, dark) {
    this.ink = read("--muted");
    this.rule = read("--rule");
    this.strong = read("--ink");
    this.back = read("--panel");
    for (const series of this.plot.series) {
      series.color = dark ? lighten(series.hex, 0.22) : series.hex;
      series.swatch.style.background = series.color;
    }
    this.draw();
  }

  pens() {
    const scale = window.devicePixelRatio || 1;
    const [width, height] = [this.frame.clientWidth, this.frame.clientHeight];
    return [this.canvas, this.overlay].map((canvas) => {
      if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
      if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
      const pen = canvas.getContext("2d");
      pen.setTransform(scale, 0, 0, scale, 0, 0);
      pen.clearRect(0, 0, width, height);
      pen.font = "11px system-ui, sans-serif";
      return pen;
    });
  }

  draw() {
    const [width, height] = [this.frame.clientWidth, this.frame.clientHeight];
    if (width < 40 || height < 40 || !this.ink) return;
    const [pen] = this.pens();
    const shown = this.plot.series.filter((series) => series.shown);
    const ghosts = shown.filter((series) => series.ghost).map((series) => series.ghost);
    [this.low, this.high] = valueRange([...shown, ...ghosts]);
    const vertical = niceTicks(this.low, this.high, Math.min(7, Math.max(2, height / 42)));
    const { labels, note } = tickLabels(vertical.ticks, vertical.step);
    const left = 14 + Math.max(...labels.map((label) => pen.measureText(label).width), 18);
    this.area = { left, top: note ? 20 : 8, width: width - left - 14 };
    const { start, end, duration } = this.timeline;
    const times = niceTicks(start, end, Math.min(8, Math.max(2, this.area.width / 70)));
    const across = duration > 0 ? times : { ticks: [start], step: 1 };
    const timeLabels = tickLabels(across.ticks, across.step);
    const name = [this.last ? "time (s)" : "", timeLabels.note].filter(Boolean).join("  ");
    this.area.height = height - this.area.top - (name ? 40 : 24);
    this.drawValueAxis(pen, vertical.ticks, labels, note);
    this.drawTimeAxis(pen, across.ticks, timeLabels.labels, name);
    pen.save();
    pen.beginPath();
    pen.rect(left - 1, this.area.top - 2, this.area.width + 2, this.area.height + 4);
    pen.clip();
    for (const series of shown) if (series.ghost) this.drawGhost(pen, series);
    for (const series of shown) this.drawCurve(pen, series);
    pen.restore();
    this.drawCursor();
  }

  x(t) {
    const { start, duration } = this.timeline;
    return this.area.left + (duration > 0 ? (t - start) / duration : 0.5) * this.area.width;
  }

  y(value) {
    return this.area.top + ((this.high - value) / (this.high - this.low)) * this.area.height;
  }

  drawValueAxis(pen, ticks, labels, note) {
    const { left, width } = this.area;
    pen.lineWidth = 1;
    pen.strokeStyle = this.rule;
    pen.fillStyle = this.ink;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    ticks.forEach((tick, k) => {
      const y = Math.round(this.y(tick)) + 0.5;
      stroke(pen, left, y, left + width, y);
      pen.fillText(labels[k], left - 6, y);
    });
    pen.textAlign = "left";
    if (note) pen.fillText(note, left, 8);
  }

  drawTimeAxis(pen, ticks, labels, name) {
    const { left, top, width, height } = this.area;
    pen.textAlign = "center";
    pen.textBaseline = "top";
    ticks.forEach((tick, k) => {
      const x = Math.round(this.x(tick)) + 0.5;
      stroke(pen, x, top, x, top + height);
      const half = pen.measureText(labels[k]).width / 2;
      pen.fillText(labels[k], Math.min(x, left + width + 12 - half), top + height + 7);
    });
    if (name) pen.fillText(name, left + width / 2, top + height + 23);
    pen.strokeStyle = this.ink;
    pen.globalAlpha = 0.6;
    stroke(pen, left, top + height + 0.5, left + width, top + height + 0.5);
    pen.globalAlpha = 1;
  }

  /** The curve of the run before, thin and pale. */
  drawGhost(pen, { ghost, color }) {
    pen.strokeStyle = color;
    pen.globalAlpha = 0.35;
    pen.lineWidth = 1.2;
    pen.setLineDash([]);
    pen.beginPath();
    for (let k = 0; k < ghost.values.length; k++) pen.lineTo(this.x(ghost.times[k]), this.y(ghost.values[k]));
    pen.stroke();
    pen.globalAlpha = 1;
  }

  /** One curve; with many samples per pixel only the extremes of each column are drawn. */
  drawCurve(pen, { values, color, dash }) {
    const { times, count } = this.timeline;
    pen.strokeStyle = pen.fillStyle = color;
    pen.lineWidth = 1.8;
    pen.lineJoin = "round";
    pen.setLineDash(dash);
    pen.beginPath();
    if (count === 1) {
      pen.arc(this.x(times[0]), this.y(values[0]), 3, 0, 2 * Math.PI);
      pen.fill();
    } else if (count < 4 * this.area.width) {
      for (let k = 0; k < count; k++) pen.lineTo(this.x(times[k]), this.y(values[k]));
    } else {
      let k = 0;
      while (k < count) {
        const column = Math.floor(this.x(times[k]));
        let [low, high] = [values[k], values[k]];
        const first = values[k];
        for (; k < count && Math.floor(this.x(times[k])) === column; k++) {
          low = Math.min(low, values[k]);
          high = Math.max(high, values[k]);
        }
        for (const value of [first, low, high, values[k - 1]]) pen.lineTo(column + 0.5, this.y(value));
      }
    }
    pen.stroke();
    pen.setLineDash([]);
  }

  setTime(t) {
    this.time = t;
    for (const series of this.plot.series) {
      series.output.value = formatValue(this.timeline.value(series.values, t), 4);
    }
    this.drawCursor();
  }

  drawCursor() {
    if (!this.area) return;
    const [width, height] = [this.frame.clientWidth, this.frame.clientHeight];
    const scale = window.devicePixelRatio || 1;
    const pen = this.overlay.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    this.drawMark(pen, this.time, 1);
    this.tip.hidden = this.hover === null;
    if (this.hover === null) return;
    this.drawMark(pen, this.hover, 0.45);
    this.fillTip();
  }

  drawMark(pen, t, strength) {
    const { top, height } = this.area;
    const x = this.x(t);
    pen.globalAlpha = strength;
    pen.strokeStyle = this.strong;
    pen.lineWidth = 1;
    stroke(pen, x, top, x, top + height);
    pen.globalAlpha = 1;
    for (const series of this.plot.series) {
      if (!series.shown) continue;
      pen.beginPath();
      pen.arc(x, this.y(this.timeline.value(series.values, t)), 3.5, 0, 2 * Math.PI);
      pen.fillStyle = series.color;
      pen.strokeStyle = this.back;
      pen.lineWidth = 1.5;
      pen.fill();
      pen.stroke();
    }
  }

  fillTip() {
    const row = (text, color) => {
      const line = document.createElement("div");
      const swatch = document.createElement("i");
      swatch.className = "swatch";
      if (color) {
        swatch.style.background = color;
        line.append(swatch);
      }
      line.append(text);
      return line;
    };
    const rows = this.plot.series
      .filter((series) => series.shown)
      .map((series) => row(`${series.name}  ${formatValue(this.timeline.value(series.values, this.hover))}`, series.color));
    this.tip.replaceChildren(row(`t = ${formatValue(this.hover)} s`), ...rows);
    const x = this.x(this.hover);
    const after = x + 14 + this.tip.offsetWidth < this.frame.clientWidth;
    this.tip.style.left = `${after ? x + 12 : Math.max(0, x - 12 - this.tip.offsetWidth)}px`;
  }
}
