// Loads the modules of the bundle, with what V8 has compiled of them when it was built: compiling is most of a start. On another
// release of Node, where there is none for it, they are compiled as ever.
const { existsSync, readFileSync, writeFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const { basename, join } = require("node:path");
const { setFlagsFromString } = require("node:v8");
const { Script } = require("node:vm");

// How much WebAssembly runs before V8 optimises it, a hundred times of what it is otherwise: the HTTP client's parser would be optimised
// after some dozen answers, which takes 36 MB, of which ten stay, and longer than the answers to a small process do in an hour.
// Before any module is loaded: V8 refuses what was compiled with other flags.
setFlagsFromString("--wasm-tiering-budget=180000000");

// Node does not check that what was compiled is of this code; the bundle's name does.
const folder = join(__dirname, "compiled", `BUNDLE-${process.version}-${process.platform}-${process.arch}`);
const loaded = new Map();
const whole = new Set();

/** Node's own, and what stands for import(), which a script does not have. */
const PARAMETERS = "exports, require, module, __filename, __dirname, importModule";
const importModule = (name) => import(name);

const compiledOf = (file) => join(folder, `${file}.bin`);

function load(file) {
  const known = loaded.get(file);
  if (known !== undefined) {
    return known.module.exports;
  }
  const path = join(__dirname, file);
  const compiled = compiledOf(file);
  if (whole.has(file)) {
    setFlagsFromString("--no-lazy");
  }
  const script = new Script(`(function (${PARAMETERS}) { "use strict"; ${readFileSync(path, "latin1")}\n})`, {
    // What was compiled keeps the name that it was compiled by: not the path on the machine that built it.
    filename: `compute-agent/${file}`,
    cachedData: existsSync(compiled) ? readFileSync(compiled) : undefined,
  });
  if (whole.has(file)) {
    setFlagsFromString("--lazy");
  }
  const module = { exports: {} };
  loaded.set(file, { module, script });
  const others = createRequire(path);
  const find = (name) => (name.startsWith(".") ? load(basename(name)) : others(name));
  script.runInThisContext()(module.exports, find, module, path, __dirname, importModule);
  return module.exports;
}

/** Runs a program of the bundle, or gives what the library in it exports. */
exports.run = (name) => load(`${name}.js`);

/** Of these files everything is compiled, not what runs alone. Only the build does this. */
exports.compileWhole = (files) => {
  for (const file of files) {
    whole.add(file);
  }
};

/** Keeps what has been compiled until now for the next starts. Only the build does this. */
exports.keep = () => {
  for (const [file, { script }] of loaded) {
    writeFileSync(compiledOf(file), script.createCachedData());
  }
};
