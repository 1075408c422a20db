// ---- Engine: the run as WebAssembly. Needs nothing of the page, so that it can live in a worker ----

/** A function that makes the run with the values it is given; `data` is what the page carries. */
async function makeEngine(data) {
  const unpack = async (text) => {
    // Five digits of base 85 are four bytes.
    const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%/()*+-;,=.?@^_:{|}~";
    const value = new Uint8Array(128);
    for (let k = 0; k < 85; k += 1) value[digits.charCodeAt(k)] = k;
    const pad = (5 - (text.length % 5)) % 5;
    const view = new DataView(new ArrayBuffer(((text.length + pad) / 5) * 4));
    for (let i = 0; i < view.byteLength / 4; i += 1) {
      let word = 0;
      for (let k = 5 * i; k < 5 * i + 5; k += 1) word = 85 * word + (k < text.length ? value[text.charCodeAt(k)] : 84);
      view.setUint32(4 * i, word);
    }
    const bytes = new Uint8Array(view.buffer, 0, view.byteLength - pad);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  const [code, image] = await Promise.all([unpack(data.wasm), unpack(data.memory)]);
  const { instance } = await WebAssembly.instantiate(code, {});
  const { memory, run, dalembert_malloc: reserve } = instance.exports;
  if (reserve(BigInt(data.room)) >>> 0 !== data.base) throw new Error("the memory of the module is not where it should be");

  const whole = (view, at) => Number(view.getBigInt64(at, true));
  const copy = (at, count) => new Float64Array(memory.buffer, at, count).slice();

  /** `writes`: [address, "f" or "i", value] of everything that differs from the image. */
  return (writes) => {
    const began = performance.now();
    new Uint8Array(memory.buffer).set(image, data.base);
    let view = new DataView(memory.buffer);
    for (const [at, kind, value] of writes) {
      if (kind === "f") view.setFloat64(at, value, true);
      else view.setBigInt64(at, BigInt(value), true);
    }
    run(data.io);
    view = new DataView(memory.buffer);
    const found = { status: whole(view, data.result) };
    for (const [name, [at, kind]] of Object.entries(data.fields)) {
      found[name] = kind === "f" ? view.getFloat64(at, true) : whole(view, at);
    }
    const rows = found.written;
    for (const [name, [at, each, count]] of Object.entries(data.arrays)) {
      found[name] = copy(at, each ? each * rows : count);
    }
    found.events = Array.from({ length: Math.min(found.count || 0, data.keptEvents) }, (_, k) => [
      whole(view, data.eventList[0] + 8 * k),
      view.getFloat64(data.eventList[1] + 8 * k, true),
    ]);
    found.milliseconds = performance.now() - began;
    return found;
  };
}

/** Values of sliders that bring a point of a body close to a target: damped least squares over assembled starts. */
function pullTo(run, pull) {
  const { sliders, pose, local, target, once } = pull;
  const place = (values) => {
    const writes = [...pull.writes, once];
    sliders.forEach(({ address, masks }, k) => {
      writes.push([address, "f", values[k]], ...masks.map((at) => [at, "i", 1]));
    });
    const { status, observed } = run(writes);
    if (status === pull.noStart) return null;
    return [0, 1, 2].map((i) => observed[pose + 9 + i] + local.reduce((sum, x, k) => sum + observed[pose + 3 * i + k] * x, 0));
  };
  const off = (point) => (point ? Math.hypot(...point.map((x, i) => target[i] - x)) : Infinity);
  const within = (values) => values.map((value, k) => Math.min(sliders[k].high, Math.max(sliders[k].low, value)));
  let values = within(sliders.map(({ value }) => value));
  let here = place(values);
  for (let turn = 0; here && turn < 6; turn += 1) {
    const columns = sliders.map(({ low, high }, k) => {
      const h = 1e-5 * (high - low) * (values[k] > (low + high) / 2 ? -1 : 1);
      const there = place(values.map((value, j) => value + (j === k ? h : 0)));
      return there ? there.map((x, i) => (x - here[i]) / h) : [0, 0, 0];
    });
    // (JᵀJ + λ) Δ = Jᵀ r by Gauss's elimination.
    const rest = target.map((x, i) => x - here[i]);
    const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
    const damp = 1e-6 * (columns.reduce((sum, c) => sum + dot(c, c), 0) || 1);
    const rows = columns.map((a, i) => [...columns.map((b, j) => dot(a, b) + (i === j ? damp : 0)), dot(a, rest)]);
    rows.forEach((row, i) => {
      for (let j = 0; j < rows.length; j += 1) {
        if (j === i) continue;
        const share = rows[j][i] / row[i];
        for (let k = i; k <= rows.length; k += 1) rows[j][k] -= share * row[k];
      }
    });
    const step = rows.map((row, i) => row[rows.length] / row[i]);
    const longest = Math.max(...step.map((x, k) => Math.abs(x) / (0.2 * (sliders[k].high - sliders[k].low))));
    let share = 1 / Math.max(1, longest);
    let next = null;
    for (let tries = 0; tries < 5 && !next; tries += 1, share /= 3) {
      const trial = within(values.map((value, k) => value + share * step[k]));
      const point = place(trial);
      if (off(point) < off(here)) next = { trial, point };
    }
    if (!next || off(here) - off(next.point) < 1e-6 * off(here)) break;
    [values, here] = [next.trial, next.point];
  }
  return { values, off: off(here) };
}

/** What a worker does: it makes an engine, then a run for every message. */
function workerMain() {
  let engine = null;
  self.onmessage = async ({ data }) => {
    try {
      if (data.engine) engine = makeEngine(data.engine);
      const run = await engine;
      const found = data.pull ? pullTo(run, data.pull) : run(data.writes);
      const buffers = Object.values(found).filter((value) => value instanceof Float64Array).map(({ buffer }) => buffer);
      self.postMessage({ number: data.number, found }, buffers);
    } catch (error) {
      self.postMessage({ number: data.number, error: String(error) });
    }
  };
}

/** Runs one after the other in a worker; what is asked for while one runs waits, and only the latest is made. */
class Runner {
  constructor(data, onFound, onError) {
    Object.assign(this, { data, onFound, onError });
    this.number = 0;
    this.begin();
  }

  begin() {
    this.busy = null;
    this.waiting = null;
    this.fresh = true;
    const text = `${makeEngine}\n${pullTo}\n(${workerMain})()`;
    this.address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    this.worker = new Worker(this.address);
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.worker.onerror = (event) => this.onError(event.message || "the worker could not start");
  }

  /** Ask for a run, `what` comes back with it; an unfinished one that takes longer than this (ms) is given up. */
  ask(writes, what, pull = null, patience = 500) {
    // The first one waits for the module to be compiled.
    if (this.busy && !this.busy.fresh && performance.now() - this.busy.since > patience) this.stop();
    if (this.busy) this.waiting = { writes, what, pull };
    else this.send({ writes, what, pull });
  }

  send({ writes, what, pull }) {
    this.busy = { since: performance.now(), what, fresh: this.fresh };
    this.number += 1;
    const engine = this.fresh ? { engine: this.data } : {};
    this.fresh = false;
    this.worker.postMessage({ number: this.number, writes, pull, ...engine });
  }

  stop() {
    this.worker.terminate();
    URL.revokeObjectURL(this.address);
    this.begin();
  }

  receive({ number, found, error }) {
    if (number !== this.number) return;
    const { what } = this.busy;
    this.busy = null;
    const next = this.waiting;
    this.waiting = null;
    if (next) this.send(next);
    if (error) this.onError(error);
    else this.onFound(found, what, Boolean(next));
  }
}
