// ---- Renderer: draws a tree of nodes with WebGL 2: one sky, two lamps, one of which casts shadows ----

const SHADOW_SIZE = 2048;

/** How the surface of a node looks; `pass` names the program that draws it. Colors are linear. */
function surface(pass, color, { opacity = 1, ...more } = {}) {
  return {
    pass, color, opacity, roughness: 0.52, metalness: 0.06, doubleSided: false, behind: false, hiddenOnly: false,
    transparent: opacity < 1, writesDepth: opacity >= 1, order: 0, uniforms: {}, ...more,
  };
}

/** Linear red, green and blue of #rrggbb. */
function paint(hex) {
  return [1, 3, 5].map((at) => {
    const share = parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
}

const VERTEX = `#version 300 es
precision highp float;
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 column0;
layout(location = 3) in vec4 column1;
layout(location = 4) in vec4 column2;
layout(location = 5) in vec4 column3;
uniform mat4 world, through, lampThrough;
uniform float bias;
out vec3 place, facing;
out vec4 lit;
void main() {
  mat4 own = world * mat4(column0, column1, column2, column3);
  vec4 at = own * vec4(position, 1.0);
  facing = normalize(transpose(inverse(mat3(own))) * normal);
  place = at.xyz;
  lit = lampThrough * vec4(at.xyz + bias * facing, 1.0);
  gl_Position = through * at;
}`;

const FRAGMENT_HEAD = `#version 300 es
precision highp float;
precision highp sampler2DShadow;
in vec3 place, facing;
in vec4 lit;
uniform vec3 color;
uniform float opacity;
out vec4 ink;
vec3 screen(vec3 c) {
  return mix(1.055 * pow(max(c, vec3(0.0)), vec3(1.0 / 2.4)) - 0.055, 12.92 * c, vec3(lessThan(c, vec3(0.0031308))));
}
uniform sampler2DShadow shadows;
uniform float shaded;
float sunshine() {
  vec3 at = 0.5 * lit.xyz / lit.w + 0.5;
  if (shaded < 0.5 || any(lessThan(at, vec3(0.0))) || any(greaterThan(at, vec3(1.0)))) return 1.0;
  float sum = 0.0;
  for (int i = -2; i <= 2; i++) {
    for (int j = -2; j <= 2; j++) sum += texture(shadows, at + vec3(1.25 * vec2(i, j) / ${SHADOW_SIZE}.0, -0.0004));
  }
  return sum / 25.0;
}`;

// Diffuse light of the sky and two lamps, and the lamps' highlights by the microfacet model of Cook and Torrance.
const SOLID = `${FRAGMENT_HEAD}
uniform vec3 up, eye, lamp;
uniform float roughness, metalness;
vec3 lampLight(vec3 n, vec3 v, vec3 l, float strength) {
  float nl = max(dot(n, l), 0.0), nv = max(dot(n, v), 1e-3);
  vec3 h = normalize(l + v);
  float a = roughness * roughness, nh = max(dot(n, h), 0.0);
  float q = nh * nh * (a * a - 1.0) + 1.0;
  float k = 0.5 * a;
  float shape = a * a / (q * q) / (4.0 * (nl * (1.0 - k) + k) * (nv * (1.0 - k) + k));
  vec3 base = mix(vec3(0.04), color, metalness);
  vec3 gloss = base + (1.0 - base) * pow(1.0 - max(dot(v, h), 0.0), 5.0);
  return strength * nl * ((1.0 - metalness) * color + gloss * shape);
}
void main() {
  vec3 n = normalize(facing) * (gl_FrontFacing ? 1.0 : -1.0);
  vec3 v = normalize(eye - place);
  vec3 sky = mix(vec3(0.323, 0.296, 0.262), vec3(1.0), 0.5 + 0.5 * dot(n, up));
  vec3 sum = 0.62 * sky * (1.0 - metalness) * color;
  sum += lampLight(n, v, lamp, 0.72 * sunshine()) + lampLight(n, v, v, 0.22);
  ink = vec4(screen(sum), opacity);
}`;

const FLAT = `${FRAGMENT_HEAD}
void main() { ink = vec4(screen(color), opacity); }`;

const SHADE = `${FRAGMENT_HEAD}
void main() { ink = vec4(0.0, 0.0, 0.0, opacity * (1.0 - sunshine())); }`;

const DEPTH = `#version 300 es
precision highp float;
void main() {}`;

const GRID = `${FRAGMENT_HEAD}
uniform vec3 right, front;
uniform vec2 center;
uniform float radius, cell;
float lines(vec2 at, float size) {
  vec2 q = at / size;
  vec2 width = fwidth(q);
  vec2 near = 1.0 - min(abs(fract(q - 0.5) - 0.5) / (width * 1.1), 1.0);
  vec2 crisp = 1.0 - smoothstep(0.15, 0.6, width);
  return max(near.x * crisp.x, near.y * crisp.y);
}
void main() {
  vec2 at = vec2(dot(place, right), dot(place, front));
  float fade = 1.0 - smoothstep(0.25, 1.0, length(at - center) / radius);
  float strength = max(0.42 * lines(at, cell), 0.85 * lines(at, 5.0 * cell)) * fade;
  if (strength < 0.004) discard;
  ink = vec4(screen(color), strength);
}`;

const FRAGMENTS = { solid: SOLID, flat: FLAT, shade: SHADE, grid: GRID, depth: DEPTH };

/** A compiled program and the places of its uniforms. */
class Program {
  constructor(gl, fragment) {
    this.gl = gl;
    this.handle = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(this.handle, shader);
    }
    gl.linkProgram(this.handle);
    if (!gl.getProgramParameter(this.handle, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(`shader: ${gl.getProgramInfoLog(this.handle)}`);
    }
    this.places = new Map();
  }

  /** Set uniforms by name: numbers, vectors, matrices and arrays of two or three numbers. */
  set(values) {
    const { gl } = this;
    for (const [name, value] of Object.entries(values)) {
      if (!this.places.has(name)) this.places.set(name, gl.getUniformLocation(this.handle, name));
      const at = this.places.get(name);
      if (at === null) continue;
      if (typeof value === "number") gl.uniform1f(at, value);
      else if (value instanceof Matrix) gl.uniformMatrix4fv(at, false, value.m);
      else if (value instanceof Vector3) gl.uniform3f(at, value.x, value.y, value.z);
      else if (value.length === 2) gl.uniform2f(at, ...value);
      else gl.uniform3f(at, ...value);
    }
  }
}

class Renderer {
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = canvas.getContext("webgl2", { antialias: true, alpha: true });
    this.lamp = { direction: new Vector3(0, 0, 1), through: new Matrix(), shadows: true, bias: 0 };
    this.restore();
  }

  /** Everything that lives on the graphics card; also after the driver dropped it. */
  restore() {
    const { gl } = this;
    this.programs = Object.fromEntries(Object.entries(FRAGMENTS).map(([name, text]) => [name, new Program(gl, text)]));
    this.buffers = new WeakMap();
    this.shadowMap = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.shadowMap);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, SHADOW_SIZE, SHADOW_SIZE);
    for (const [name, value] of [
      [gl.TEXTURE_MIN_FILTER, gl.LINEAR], [gl.TEXTURE_MAG_FILTER, gl.LINEAR],
      [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE],
      [gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE],
    ]) gl.texParameteri(gl.TEXTURE_2D, name, value);
    this.shadowFrame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowFrame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, this.shadowMap, 0);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  setSize(width, height, scale) {
    this.canvas.width = Math.max(1, Math.round(width * scale));
    this.canvas.height = Math.max(1, Math.round(height * scale));
  }

  /** The lamp that casts shadows shines from `from` to `target`; shadows fall within `reach` of that line. */
  setLamp(from, target, reach, bias) {
    const lens = new Camera(new Vector3(0.31, 0.87, 0.38));
    const distance = from.distanceTo(target);
    lens.position.copy(from);
    lens.projection.orthographic(reach, 0.05 * distance, 3 * distance);
    lens.lookAt(target);
    Object.assign(this.lamp, { direction: from.clone().sub(target).normalize(), through: lens.through, bias });
  }

  /** Vertex array of a geometry, sent anew when its version changed. */
  load(geometry) {
    const { gl } = this;
    let kept = this.buffers.get(geometry);
    if (!kept) {
      kept = { array: gl.createVertexArray(), position: gl.createBuffer(), normal: gl.createBuffer(), version: -1 };
      kept.more = [gl.createBuffer()];
      gl.bindVertexArray(kept.array);
      for (const [at, name] of ["position", "normal"].entries()) {
        gl.bindBuffer(gl.ARRAY_BUFFER, kept[name]);
        gl.enableVertexAttribArray(at);
        gl.vertexAttribPointer(at, 3, gl.FLOAT, false, 0, 0);
      }
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, kept.more[0]);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, geometry.index, gl.STATIC_DRAW);
      if (geometry.instances) kept.more.push(this.loadInstances(geometry.instances));
      this.buffers.set(geometry, kept);
    }
    gl.bindVertexArray(kept.array);
    if (kept.version !== geometry.version) {
      kept.version = geometry.version;
      for (const [name, values] of [["position", geometry.positions], ["normal", geometry.normals]]) {
        gl.bindBuffer(gl.ARRAY_BUFFER, kept[name]);
        gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
      }
    }
  }

  /** Give back what a branch holds on the graphics card. */
  forget(node) {
    const { gl } = this;
    const kept = node.geometry && this.buffers.get(node.geometry);
    if (kept) {
      gl.deleteVertexArray(kept.array);
      for (const buffer of [kept.position, kept.normal, ...kept.more]) gl.deleteBuffer(buffer);
      this.buffers.delete(node.geometry);
    }
    for (const child of node.children) this.forget(child);
  }

  /** One matrix for each copy of a geometry. */
  loadInstances(matrices) {
    const { gl } = this;
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, matrices, gl.STATIC_DRAW);
    for (let k = 0; k < 4; k++) {
      gl.enableVertexAttribArray(2 + k);
      gl.vertexAttribPointer(2 + k, 4, gl.FLOAT, false, 64, 16 * k);
      gl.vertexAttribDivisor(2 + k, 1);
    }
    return buffer;
  }

  draw(node, program, values) {
    const { gl } = this;
    const { geometry } = node;
    program.set({ world: node.world, ...values });
    this.load(geometry);
    // Where there are no copies, these constants stand for the matrix of the only one.
    for (let k = 0; k < 4; k++) gl.vertexAttrib4f(2 + k, ...[0, 1, 2, 3].map((i) => (i === k ? 1 : 0)));
    const mode = geometry.mode === "lines" ? gl.LINES : gl.TRIANGLES;
    if (geometry.instances) {
      gl.drawElementsInstanced(mode, geometry.drawn, gl.UNSIGNED_INT, 0, geometry.instances.length / 16);
    } else if (geometry.drawn) gl.drawElements(mode, geometry.drawn, gl.UNSIGNED_INT, 0);
  }

  /** Draw everything below `root` as `camera` sees it. */
  render(root, camera) {
    const { gl } = this;
    if (gl.isContextLost()) return;
    root.settle();
    const seen = [...root.seen()];
    gl.enable(gl.DEPTH_TEST);
    if (this.lamp.shadows) this.drawShadows(seen.filter((node) => node.castShadow));
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.depthMask(true);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    for (const program of Object.values(this.programs)) {
      gl.useProgram(program.handle);
      program.set({
        through: camera.through, eye: camera.position, up: camera.up, lamp: this.lamp.direction,
        lampThrough: this.lamp.through, bias: this.lamp.bias, shaded: this.lamp.shadows ? 1 : 0,
      });
    }
    const depth = (node) => -new Vector3().fromArray(node.world.m, 12).applyMatrix(camera.view).z;
    const clear = seen.filter((node) => node.material.transparent);
    const sorted = clear.map((node) => [node.material.order, -depth(node), node]);
    sorted.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    for (const node of seen) if (!node.material.transparent) this.drawNode(node);
    for (const [, , node] of sorted) this.drawNode(node);
    gl.bindVertexArray(null);
  }

  drawNode(node) {
    const { gl } = this;
    const { material } = node;
    const turn = (what, on) => (on ? gl.enable(what) : gl.disable(what));
    turn(gl.BLEND, material.transparent);
    turn(gl.CULL_FACE, !material.doubleSided);
    turn(gl.POLYGON_OFFSET_FILL, material.behind);
    gl.polygonOffset(2, 2);
    gl.depthMask(material.writesDepth);
    gl.depthFunc(material.hiddenOnly ? gl.GREATER : gl.LEQUAL);
    const program = this.programs[material.pass];
    gl.useProgram(program.handle);
    const { color, opacity, roughness, metalness, uniforms } = material;
    this.draw(node, program, { color, opacity, roughness, metalness, ...uniforms });
  }

  /** Depths as the lamp sees them. */
  drawShadows(casters) {
    const { gl } = this;
    const program = this.programs.depth;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowFrame);
    gl.viewport(0, 0, SHADOW_SIZE, SHADOW_SIZE);
    gl.depthMask(true);
    gl.depthFunc(gl.LEQUAL);
    gl.disable(gl.BLEND);
    gl.disable(gl.CULL_FACE);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(1.5, 4);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.useProgram(program.handle);
    program.set({ through: this.lamp.through });
    for (const node of casters) this.draw(node, program, {});
  }
}
