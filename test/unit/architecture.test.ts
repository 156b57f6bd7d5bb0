import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";

/** The folders from which each folder may import, besides itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  "src/cli": [
    "src/dashboard",
    "src/audit",
    "src/testing",
    "src/simulation",
    "src/control-plane",
    "src/agent",
    "src/placement-client",
    "src/nova-rpc",
    "src/conductor-client",
    "src/faults",
    "src/virt",
    "src/config",
    "src/records",
    "src/runtime",
    "drivers",
  ],
  "src/cluster": [
    "src/cli",
    "src/audit",
    "src/simulation",
    "src/control-plane",
    "src/conductor-client",
    "src/faults",
    "src/records",
    "src/runtime",
  ],
  "src/control-plane": [
    "src/placement-client",
    "src/conductor-client",
    "src/faults",
    "src/virt",
    "src/config",
    "src/records",
    "src/runtime",
  ],
  "src/dashboard": [
    "src/control-plane",
    "src/placement-client/access",
    "src/conductor-client",
    "src/records",
    "src/runtime",
  ],
  "src/audit": ["src/placement-client/access", "src/placement-client/json.ts", "src/records", "src/runtime"],
  "src/agent": [
    "src/volume-client",
    "src/placement-client",
    "src/conductor-client",
    "src/faults",
    "src/virt",
    "src/config",
    "src/records",
    "src/runtime",
  ],
  "src/volume-client": ["src/placement-client", "src/virt", "src/runtime"],
  "src/placement-client": ["src/conductor-client", "src/virt", "src/config", "src/records", "src/runtime"],
  "src/testing": ["src/simulation", "src/virt", "src/records", "src/runtime"],
  "src/faults": ["src/virt", "src/runtime"],
  "src/virt": ["src/config", "src/records", "src/runtime"],
  "src/conductor-client": ["src/config", "src/records", "src/runtime"],
  "src/nova-rpc": ["src/conductor-client", "src/config", "src/records", "src/runtime"],
  "src/simulation": ["src/runtime"],
  "src/config": ["src/records", "src/runtime"],
  "src/records": ["src/runtime"],
  "src/runtime": [],
  drivers: ["src/virt/index.ts", "src/testing/index.ts"],
};

/** Modules that do I/O. */
const IO_MODULES =
  /^(node:)?(fs|fs\/promises|net|tls|dgram|https?|http2|crypto|child_process|worker_threads|cluster|timers|timers\/promises|os|process)$|^(undici|ws|rabbitmq-client|pino|p-queue|p-retry)$/;

/**
 * Globals that do I/O or depend on time or chance. Runtime replaces them: clock, timers, random, http, sockets, files.
 * A declaration of a method `fetch(name: type)` and a private `#fetch(...)` are not the global.
 */
const IO_GLOBALS =
  /(?<![.#\w])(Date\.now|new Date\(\)|Math\.random|(set|clear)(Timeout|Interval|Immediate)\(|performance\.|process\.|globalThis\b|fetch\((?!\w+: )|WebSocket\(|crypto\.|randomUUID\()/;

/** `import … from "x"`, `import "x"`, `export … from "x"`, `import("x")`. */
const IMPORT =
  /(?:^|\n)\s*(?:import\s+(?:[^"';]*?\sfrom\s+)?|export\s+(?:type\s+)?[*{][^"';]*?\sfrom\s+)["']([^"'\n]+)["']|\bimport\(\s*["']([^"'\n]+)["']/g;

/** A top-level constant that is an arrow function of more than one line. */
const LONG_ARROW =
  /^(?:export )?const (\w+)(?:: [^=\n]+)? =\s+(?:async )?(?:<[^=\n]*>)?\((?:[^()]|\([^()]*\))*\)(?:: [^=]+?)? =>\s*?(?:\{$|\n)/gm;

/** These files run in a browser and share only the types of messages with the server. */
const PAGES = "src/dashboard/pages";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

interface Source {
  /** Relative to the project's root: `src/agent/lifecycle/agent.ts`. */
  readonly path: string;
  readonly text: string;
  readonly code: string;
  readonly imports: readonly string[];
}

async function sourcesIn(folder: string): Promise<Source[]> {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name));
  return Promise.all(files.map((entry) => read(relative(ROOT, join(entry.parentPath, entry.name)))));
}

async function read(path: string): Promise<Source> {
  const text = await readFile(join(ROOT, path), "utf8");
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "");
  // Imports in the templates of a scaffold belong to the generated code.
  const own = path.includes("/scaffold/") ? code.replace(/`(?:[^`\\]|\\[\s\S])*`/g, "``") : code;
  const specifiers = own.matchAll(IMPORT);
  const imports = [...specifiers].map(([, fixed, dynamic]) => resolve(path, fixed ?? dynamic ?? ""));
  return { path, text, code, imports };
}

/** Returns a relative import as a path from the root, and others unchanged. */
function resolve(from: string, specifier: string): string {
  if (!specifier.startsWith(".")) {
    return specifier;
  }
  const path = normalize(join(dirname(from), specifier)).replace(/\.js$/, ".ts");
  return existsSync(join(ROOT, `${path}x`)) ? `${path}x` : path;
}

/** Returns the import cycles found by a depth-first walk. */
function circlesOf(imports: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const left = new Set<string>();
  const circles: string[] = [];
  const walk = (path: string, way: readonly string[]): void => {
    const at = way.indexOf(path);
    if (at >= 0) {
      circles.push([...way.slice(at), path].join(" → "));
    }
    if (at >= 0 || left.has(path)) {
      return;
    }
    for (const target of imports.get(path) ?? []) {
      walk(target, [...way, path]);
    }
    left.add(path);
  };
  for (const path of imports.keys()) {
    walk(path, []);
  }
  return circles;
}

function roomOf(path: string): string {
  return path.startsWith("drivers/") ? "drivers" : path.split("/").slice(0, 2).join("/");
}

const isIn = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/**
 * Returns whether a file may do I/O: implementations of Runtime and of the simulation, programs, and the dashboard's
 * pages.
 */
function isOpen({ path }: Source): boolean {
  return ["src/runtime", "src/simulation", "src/cli", PAGES].some((room) => isIn(path, room));
}

describe("the architecture", () => {
  let house: readonly Source[];
  let all: readonly Source[];

  beforeAll(async () => {
    house = (await Promise.all(["src", "drivers"].map(sourcesIn))).flat();
    all = [...house, ...(await sourcesIn("test"))];
  });

  it("has exactly the known folders", () => {
    const rooms = new Set(house.map(({ path }) => roomOf(path)));
    expect([...rooms].filter((room) => !(room in MAY_IMPORT))).toEqual([]);
    expect(house.length).toBeGreaterThan(100);
    expect(house.flatMap(({ imports }) => imports).length).toBeGreaterThan(house.length);
  });

  it("allows dependencies in one direction only", () => {
    const wrong = house.flatMap(({ path, imports }) => {
      const room = roomOf(path);
      const allowed = MAY_IMPORT[room] ?? [];
      return imports
        .filter((target) => /^(src|drivers|test)\//.test(target) && roomOf(target) !== room)
        .filter((target) => !allowed.some((folder) => isIn(target, folder)))
        .map((target) => `${path} imports ${target}`);
    });
    expect(wrong).toEqual([]);
  });

  it("lets the dashboard's pages import only the wire types and records", () => {
    const pages = house.filter(({ path }) => isIn(path, PAGES));
    const known = [PAGES, "src/dashboard/wire", "src/records", "preact", "preact/hooks", "@preact/signals"];
    expect(pages.length).toBeGreaterThan(20);
    const wrong = pages.flatMap(({ path, imports }) =>
      imports.filter((target) => !known.some((one) => isIn(target, one))).map((target) => `${path} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it("has no import cycles, including those of types", () => {
    const imports = new Map(house.map((source) => [source.path, source.imports]));
    expect(circlesOf(imports)).toEqual([]);
    expect(
      circlesOf(
        new Map([
          ["a", ["b"]],
          ["b", ["c"]],
          ["c", ["b"]],
        ]),
      ),
      "one is noticed",
    ).toEqual(["b → c → b"]);
  });

  it("lets no driver import another", () => {
    const driverOf = (path: string) => path.split("/")[1];
    const wrong = house.flatMap(({ path, imports }) =>
      imports
        .filter((target) => path.startsWith("drivers/") && target.startsWith("drivers/"))
        .filter((target) => driverOf(target) !== driverOf(path))
        .map((target) => `${path} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it("imports only existing files", () => {
    const present = new Set(house.map(({ path }) => path));
    const missing = house.flatMap(({ path, imports }) =>
      imports
        .filter((target) => /^(src|drivers)\/.*\.ts$/.test(target) && !present.has(target))
        .map((target) => `${path} imports ${target}`),
    );
    expect(missing).toEqual([]);
  });

  it("does I/O only in src/runtime, src/simulation and src/cli", () => {
    const closed = house.filter((source) => !isOpen(source));
    const violations = closed.flatMap(({ path, imports, code }) => [
      ...imports.filter((target) => IO_MODULES.test(target)).map((target) => `${path} imports ${target}`),
      ...code
        .split("\n")
        .filter((line) => IO_GLOBALS.test(line.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, '""')))
        .map((line) => `${path}: ${line.trim()}`),
    ]);
    expect(violations).toEqual([]);
  });

  it("mentions nothing of OpenStack in src/runtime and src/simulation", () => {
    const general = all.filter(({ path }) => isIn(path, "src/runtime") || isIn(path, "src/simulation"));
    const known = general.filter(({ text }) => /openstack|nova|placement|ironic|keystone/i.test(text));
    expect(general.length).toBeGreaterThan(20);
    expect(known.map(({ path }) => path)).toEqual([]);
  });

  it("declares top-level functions as functions; arrows are for callbacks and one-line constants", () => {
    const arrows = all.flatMap(({ path, text }) =>
      [...text.matchAll(LONG_ARROW)].map(([, name]) => `${path}: ${name} is an arrow of several lines`),
    );
    expect(arrows).toEqual([]);
  });

  it("has no file of more than 500 lines", () => {
    const long = all
      .map(({ path, text }) => ({ path, lines: text.split("\n").length - 1 }))
      .filter(({ lines }) => lines > 500);
    expect(long).toEqual([]);
  });
});
