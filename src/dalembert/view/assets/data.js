// ---- Data: base64 arrays, interpolation between samples, and the clock ----

/** Typed array from base64 text (little endian, as on every platform that runs a browser); an array stays. */
function decode(text, ArrayType) {
  if (typeof text !== "string") return text;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new ArrayType(bytes.buffer);
}

/** The sample times. locate(t) gives the interval that holds t and the fraction passed of it. */
class Timeline {
  constructor(times) {
    this.times = times;
    this.count = times.length;
    this.start = times[0];
    this.end = times[this.count - 1];
    this.duration = this.end - this.start;
  }

  locate(t) {
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.times[middle] <= t) low = middle;
      else high = middle - 1;
    }
    if (low >= this.count - 1) return { index: this.count - 1, fraction: 0 };
    const step = this.times[low + 1] - this.times[low];
    const fraction = step > 0 ? (t - this.times[low]) / step : 0;
    return { index: low, fraction: Math.min(1, Math.max(0, fraction)) };
  }

  /** Value of one plotted series at t. */
  value(series, t) {
    const { index, fraction } = this.locate(t);
    if (fraction === 0) return series[index];
    return series[index] * (1 - fraction) + series[index + 1] * fraction;
  }
}

/** Shortest-way spherical interpolation of two unit quaternions (w, x, y, z) at offsets i and j. */
function slerp(array, i, j, fraction, out) {
  let cosine = 0;
  for (let k = 0; k < 4; k++) cosine += array[i + k] * array[j + k];
  const sign = cosine < 0 ? -1 : 1;
  const angle = Math.acos(Math.min(1, Math.abs(cosine)));
  let a = 1 - fraction;
  let b = fraction;
  if (angle > 1e-4) {
    a = Math.sin(a * angle) / Math.sin(angle);
    b = Math.sin(b * angle) / Math.sin(angle);
  }
  let norm = 0;
  for (let k = 0; k < 4; k++) {
    out[k] = a * array[i + k] + b * sign * array[j + k];
    norm += out[k] * out[k];
  }
  norm = Math.sqrt(norm);
  for (let k = 0; k < 4; k++) out[k] /= norm;
  return out;
}

/** Pose of one body over time. */
class Track {
  constructor(body) {
    this.positions = decode(body.position, Float32Array);
    this.quaternions = decode(body.quaternion, Float32Array);
  }

  /** Pose at a place of the timeline: position (x, y, z) and quaternion (w, x, y, z). */
  at({ index, fraction }) {
    const p = 3 * index;
    const q = 4 * index;
    if (fraction === 0) {
      return {
        position: Array.from(this.positions.subarray(p, p + 3)),
        quaternion: Array.from(this.quaternions.subarray(q, q + 4)),
      };
    }
    const position = [0, 1, 2].map(
      (k) => this.positions[p + k] * (1 - fraction) + this.positions[p + 3 + k] * fraction,
    );
    return { position, quaternion: slerp(this.quaternions, q, q + 4, fraction, [1, 0, 0, 0]) };
  }
}

/** Everything the page shows, decoded once. */
class Model {
  constructor(payload) {
    Object.assign(this, payload);
    this.timeline = new Timeline(decode(payload.time, Float64Array));
    this.tracks = new Map(payload.bodies.map((body) => [body.name, new Track(body)]));
    this.colors = new Map(payload.bodies.map((body) => [body.name, body.color]));
    this.arrows = (payload.arrows || []).map((arrow) => ({ ...arrow, force: decode(arrow.force, Float32Array) }));
    for (const plot of this.plots) {
      for (const series of plot.series) series.values = decode(series.values, Float64Array);
    }
  }

  pose(name, place) {
    const track = this.tracks.get(name);
    return track ? track.at(place) : { position: [0, 0, 0], quaternion: [1, 0, 0, 0] };
  }
}

/** Scene time and how it runs: playing, speed, loop. Calls onChange after every change. */
class Clock {
  constructor(timeline, onChange) {
    this.timeline = timeline;
    this.onChange = onChange;
    this.time = timeline.start;
    this.playing = false;
    this.looping = true;
    this.speed = Clock.comfortableSpeed(timeline.duration);
  }

  /** Real time for ordinary durations; otherwise the 1-2-5 speed that plays in about ten seconds. */
  static comfortableSpeed(duration) {
    if (duration === 0 || (duration >= 1 && duration <= 60)) return 1;
    const wanted = duration / 10;
    const power = 10 ** Math.floor(Math.log10(wanted));
    return [1, 2, 5, 10].map((k) => k * power).find((speed) => speed >= wanted * 0.8);
  }

  set(time) {
    this.time = Math.min(this.timeline.end, Math.max(this.timeline.start, time));
    this.onChange();
  }

  play() {
    if (this.timeline.duration === 0) return;
    if (this.time >= this.timeline.end) this.time = this.timeline.start;
    this.playing = true;
    this.onChange();
  }

  pause() {
    this.playing = false;
    this.onChange();
  }

  /** Stop on the next (+1) or previous (-1) sample. */
  step(direction) {
    this.playing = false;
    const { index, fraction } = this.timeline.locate(this.time);
    const next = direction > 0 ? index + 1 : fraction > 1e-9 ? index : index - 1;
    this.set(this.timeline.times[Math.min(this.timeline.count - 1, Math.max(0, next))]);
  }

  /** Let `seconds` of real time pass. */
  advance(seconds) {
    const { start, end, duration } = this.timeline;
    let time = this.time + seconds * this.speed;
    if (time >= end) {
      if (this.looping) time = duration > 0 ? start + ((time - start) % duration) : start;
      else this.playing = false;
    }
    this.set(time);
  }
}
