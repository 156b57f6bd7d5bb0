// Puts each program and the packages it uses into few files, with what V8 compiles of them, so that it starts fast and needs
// few packages installed.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { compile } from "./compile.js";
import { bundleDashboard } from "./dashboard.js";

const PROGRAMS = ["compute-agent", "compute-cluster"];
/** What tests import: the same parts in their own process. */
const LIBRARY = `import { createRequire } from "node:module";

export const { startCluster } = createRequire(import.meta.url)("./lib/load.js").run("cluster");
`;
/**
 * What the programs do not come to while they are compiled: no agent has a Nova above it then. What had not run would be compiled when
 * the first server comes.
 */
const WHOLE = /\/dist\/src\/nova-rpc\//;
const BIN = "dist/bin";
const LIB = `${BIN}/lib`;

/** Modules of others, which are known only when the program runs, are imported by the loader: see there. */
function importByLoader(code, id) {
  return id.includes("/node_modules/") ? null : code.replace(/\bimport\((?!["'])/g, "importModule(");
}

/**
 * The same code in ASCII. V8 keeps the text of a module as long as the process runs, in two bytes a character if a single one of them
 * needs that.
 */
function inAscii(code) {
  if (/\\[^\0-\x7f]/.test(code)) {
    throw new Error("the bundle has a backslash before a character that is not ASCII, which no escape can stand for");
  }
  return code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const bundle = await rolldown({
  input: {
    ...Object.fromEntries(PROGRAMS.map((name) => [name, `dist/src/cli/${name}.js`])),
    cluster: "dist/src/cluster/index.js",
  },
  platform: "node",
  // A binary for the platform comes with it.
  external: ["libsql"],
  plugins: [{ name: "import-module", transform: importByLoader }],
  logLevel: "warn",
});
const { output: generated } = await bundle.generate({
  format: "cjs",
  entryFileNames: "[name].js",
  chunkFileNames: "[name].js",
  // Only those stay that the licences of others ask for.
  comments: { legal: true, annotation: false, jsdoc: false },
});
await bundle.close();
const output = generated.map(({ fileName, code }) => ({ fileName, code: inAscii(code) }));
const whole = generated.filter(({ moduleIds = [] }) => moduleIds.some((id) => WHOLE.test(id)));

const loader = readFileSync(new URL("load.cjs", import.meta.url), "utf8");
const hash = createHash("sha256").update(loader).update(LIBRARY);
for (const { fileName, code } of output) {
  hash.update(`\0${fileName}\0${code}`);
}
const name = hash.digest("hex").slice(0, 16);
const compiled = join(LIB, "compiled", `${name}-${process.version}-${process.platform}-${process.arch}`);

if (!existsSync(compiled)) {
  rmSync(BIN, { recursive: true, force: true });
  mkdirSync(LIB, { recursive: true });
  writeFileSync(`${BIN}/package.json`, '{ "type": "commonjs" }\n');
  for (const { fileName, code } of output) {
    writeFileSync(join(LIB, fileName), code);
  }
  writeFileSync(join(LIB, "load.js"), loader.replace("BUNDLE", name));
  for (const program of PROGRAMS) {
    writeFileSync(`${BIN}/${program}.js`, `#!/usr/bin/env node\nrequire("./lib/load.js").run("${program}");\n`, {
      mode: 0o755,
    });
  }
  writeFileSync(`${BIN}/cluster.mjs`, LIBRARY);
  await compile(
    BIN,
    compiled,
    whole.map(({ fileName }) => fileName),
  );
}

await bundleDashboard(join(LIB, "dashboard"));
