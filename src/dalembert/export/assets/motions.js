// ---- Motions: formulas of time that are typed in the page, as numbers of a family of functions ----

/**
 * Read a formula of t and parameters: a list of { b, w, P, Q }, whose sum of exp(b t) (P(t) cos w t + Q(t) sin w t) it
 * is. Nothing is evaluated as code. `values`: parameters by name. What is no such sum is refused, in words.
 */
function readMotion(text, values, terms, degree) {
  const fail = (what) => { throw new Error(what); };
  if (text.length > 500) fail("the formula is too long");
  const tokens = text.match(/\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|[A-Za-z_][\w.]*|\*\*|\S/gi) || [];
  let at = 0;

  const zip = (p, q, f) => Array.from({ length: Math.max(p.length, q.length) }, (_, i) => f(p[i] || 0, q[i] || 0));
  const times = (p, q, by) => {
    const found = p.length && q.length ? Array(p.length + q.length - 1).fill(0) : [];
    p.forEach((x, i) => q.forEach((y, j) => { found[i + j] += by * x * y; }));
    return found;
  };
  const gather = (parts) => {
    const found = [];
    for (const { b, w, P, Q } of parts) {
      const same = found.find((one) => one.b === b && one.w === w);
      if (!same) found.push({ b, w, P, Q });
      else [same.P, same.Q] = [zip(same.P, P, (x, y) => x + y), zip(same.Q, Q, (x, y) => x + y)];
    }
    for (const one of found) {
      if (one.w === 0) one.Q = [];
      for (const list of [one.P, one.Q]) while (list.length && list[list.length - 1] === 0) list.pop();
    }
    const left = found.filter(({ P, Q }) => P.length || Q.length);
    if (left.length > 64 || left.some(({ P, Q }) => P.length + Q.length > 64)) fail("the formula is too long");
    return left;
  };
  const constant = (x) => (Number.isFinite(x) ? gather([{ b: 0, w: 0, P: [x], Q: [] }]) : fail("it has no finite value"));
  const scaled = (f, by) => gather(f.map(({ b, w, P, Q }) => ({ b, w, P: P.map((x) => by * x), Q: Q.map((x) => by * x) })));
  const product = (f, g) => gather(f.flatMap((x) => g.flatMap((y) => {
    const [pp, qq, qp, pq] = [times(x.P, y.P, 0.5), times(x.Q, y.Q, 0.5), times(x.Q, y.P, 0.5), times(x.P, y.Q, 0.5)];
    const [less, more] = [(u, v) => u - v, (u, v) => u + v];
    const [b, apart, turn] = [x.b + y.b, Math.abs(x.w - y.w), x.w < y.w ? -1 : 1];
    return [
      { b, w: x.w + y.w, P: zip(pp, qq, less), Q: zip(qp, pq, more) },
      { b, w: apart, P: zip(pp, qq, more), Q: zip(qp, pq, (u, v) => turn * (u - v)) },
    ];
  })));
  /** [c, k] of c + k t; null if it is something else. */
  const line = (f) => {
    if (!f.length) return [0, 0];
    const [{ b, w, P }] = f;
    return f.length === 1 && b === 0 && w === 0 && P.length < 3 ? [P[0], P[1] || 0] : null;
  };
  const number = (f) => {
    const found = line(f);
    return found && found[1] === 0 ? found[0] : null;
  };
  const growing = ([c, k]) => [{ b: k, w: 0, P: [Math.exp(c)], Q: [] }];
  const turning = ([c, k], phase) => {
    const [cosine, sine] = [Math.cos(c - phase), Math.sin(c - phase)];
    return gather([{ b: 0, w: Math.abs(k), P: [cosine], Q: [k < 0 ? sine : -sine] }]);
  };
  const half = (f, g, by) => scaled(gather([...f, ...scaled(g, by)]), 0.5);
  const known = {
    exp: growing, sin: (x) => turning(x, Math.PI / 2), cos: (x) => turning(x, 0),
    sinh: (x) => half(growing(x), growing(x.map((y) => -y)), -1), cosh: (x) => half(growing(x), growing(x.map((y) => -y)), 1),
  };
  const plain = ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "abs", "sign"];

  const call = (name) => {
    const argument = sum();
    if (tokens[at++] !== ")") fail(`a bracket of ${name}( is not closed`);
    if (!plain.includes(name)) fail(`there is no function ${name} here`);
    const x = number(argument);
    if (x !== null) return constant(Math[name](x));
    const found = line(argument);
    if (!known[name]) fail(`${name} of t needs Python`);
    if (!found) fail(`${name} of anything but a*t + b needs Python`);
    return known[name](found);
  };
  const atom = () => {
    const token = tokens[at++];
    if (token === undefined) fail("the formula is not complete");
    if (token === "(") {
      const inner = sum();
      if (tokens[at++] !== ")") fail("a bracket is not closed");
      return inner;
    }
    if (/^[\d.]/.test(token)) return constant(Number(token));
    if (!/^[A-Za-z_]/.test(token)) fail(token === "^" ? "powers are written **" : `${token} is not understood`);
    if (tokens[at] === "(") {
      at += 1;
      return call(token);
    }
    if (token === "t") return [{ b: 0, w: 0, P: [0, 1], Q: [] }];
    if (token === "pi") return constant(Math.PI);
    return Object.hasOwn(values, token) ? constant(values[token]) : fail(`there is no parameter ${token}`);
  };
  const power = () => {
    const base = atom();
    if (tokens[at] !== "**") return base;
    at += 1;
    const [x, n] = [number(base), number(factor())];
    if (n === null) fail("a power of t needs Python");
    if (x !== null) return constant(x ** n);
    if (!Number.isInteger(n) || n < 0 || n > 12) fail("powers of t other than 0 to 12 need Python");
    return Array(n).fill(base).reduce(product, constant(1));
  };
  const factor = () => {
    if (tokens[at] !== "-" && tokens[at] !== "+") return power();
    return tokens[at++] === "-" ? scaled(factor(), -1) : factor();
  };
  const term = () => {
    let found = factor();
    while (tokens[at] === "*" || tokens[at] === "/") {
      if (tokens[at++] === "*") found = product(found, factor());
      else {
        const below = number(factor());
        if (below === null) fail("a division by something with t needs Python");
        if (below === 0) fail("it divides by zero");
        found = scaled(found, 1 / below);
      }
    }
    return found;
  };
  const sum = () => {
    let found = term();
    while (tokens[at] === "+" || tokens[at] === "-") {
      found = gather([...found, ...(tokens[at++] === "-" ? scaled(term(), -1) : term())]);
    }
    return found;
  };

  const found = sum();
  if (at < tokens.length) fail(tokens[at] === "^" ? "powers are written **" : `${tokens[at]} is not understood`);
  if (found.length > terms) fail(`more than ${terms} different frequencies and rates need Python`);
  if (found.some(({ P, Q }) => Math.max(P.length, Q.length) > degree + 1)) fail(`powers above t**${degree} need Python`);
  return found;
}

/** A line for a formula that can be typed anew. */
class MotionField {
  constructor(entry, shared, onChange, onError) {
    Object.assign(this, entry, shared, { start: entry.text, onError, key: `f:${entry.name}` });
    const create = (tag, className) => Object.assign(document.createElement(tag), { className });
    this.element = create("label", "slider");
    const name = Object.assign(create("span", "slider-name"), { textContent: this.name, title: "as a formula of t" });
    this.field = create("input", "slider-menu");
    Object.assign(this.field, { type: "text", spellcheck: false, autocomplete: "off", value: this.text });
    this.field.setAttribute("aria-label", `${this.name}, as a formula of t`);
    this.element.append(name, this.field);
    this.field.addEventListener("change", () => { if (this.set(this.field.value)) onChange(); });
  }

  /** Another formula; false if it cannot be read: then the one before stays. */
  set(text) {
    let why = "";
    try {
      if (text !== this.start) this.read(text, this.values);
      this.text = text;
      if (this.field.getAttribute("aria-invalid") === "true") this.onError(""); // what was said of the one before
    } catch (error) {
      why = error.message;
      this.onError(`${this.name}: ${why}; the formula before still holds`);
    }
    this.field.value = text;
    this.field.setAttribute("aria-invalid", String(Boolean(why)));
    this.element.classList.toggle("changed", this.touched);
    return !why;
  }

  read(text, values) {
    return readMotion(text, values, this.terms, this.degree);
  }

  get touched() {
    return this.text !== this.start;
  }

  /** What the engine is to write, with the parameters of now; what has no value then is no number. */
  writes(values) {
    if (!this.touched) return [];
    const list = [[this.address, "f", 1]];
    try {
      this.read(this.text, values).forEach(({ b, w, P, Q }, k) => {
        const first = this.address + 8 * (1 + k * (4 + 2 * this.degree));
        [b, w].forEach((x, i) => list.push([first + 8 * i, "f", x]));
        P.forEach((x, i) => list.push([first + 8 * (2 + i), "f", x]));
        Q.forEach((x, i) => list.push([first + 8 * (3 + this.degree + i), "f", x]));
      });
    } catch (error) {
      this.onError(`${this.name}: ${error.message}`);
      return [[this.address, "f", NaN]];
    }
    return list;
  }
}
