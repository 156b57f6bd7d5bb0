import { dirname, relative, resolve } from "node:path";
import { Derived, literal, type Option, type SectionTable } from "../../../config/option.js";
import { boolean, type ValueType } from "../../../config/value-type.js";
import type { DriverConfigSchema } from "../../../virt/config-schema.js";
import { driverSections } from "../../../virt/driver-sections.js";
import { wrapWords } from "../../ui/table.js";
import { driverSource, guestsSource } from "./driver-source.js";

/** Characters per line. */
const WIDTH = 100;

export interface ScaffoldOptions {
  /** `my-driver` */
  readonly name: string;
  readonly version: string;
  /** The version range of the dependency on this package. */
  readonly dependency: string;
}

/** Maps paths in the new package to contents. */
export type Scaffold = ReadonlyMap<string, string>;

/** The options of the new driver, for its source and its sample of nova.conf. */
const OPTIONS = {
  vcpus: { type: "integer", default: 8, min: 1, help: "CPUs of the host." },
  memory_mb: { type: "integer", default: 16_384, min: 1, help: "Memory of the host in MiB." },
  disk_gb: { type: "integer", default: 100, min: 1, help: "Disk space for guests in GiB." },
} as const satisfies DriverConfigSchema["options"];

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Creates a package with a driver that conforms to the contract: TypeScript, tests, a README and a section of nova.conf. */
export function scaffoldOf({ name, version, dependency }: ScaffoldOptions): Scaffold {
  const section = name.replaceAll("-", "_");
  const className = name.replace(/(^|-)([a-z0-9])/g, (_, __, letter: string) => letter.toUpperCase());
  return new Map([
    ["package.json", packageOf(name, version, dependency)],
    ["tsconfig.json", TSCONFIG],
    [".gitignore", "dist/\nnode_modules/\n"],
    ["src/index.ts", indexSource(name, section, className)],
    [`src/${name}.ts`, driverSource(name, className)],
    ["src/guests.ts", guestsSource()],
    ["test/contract.test.ts", testSource()],
    ["nova.conf.sample", sampleOf(name, driverSections({ configSchema: { section, options: OPTIONS } }))],
    ["README.md", readmeOf(name, section)],
  ]);
}

function packageOf(name: string, version: string, dependency: string): string {
  return json({
    name,
    version: "0.1.0",
    description: `A virt driver for compute-agent: ${name}`,
    type: "module",
    engines: { node: ">=20.19" },
    main: "./dist/index.js",
    types: "./dist/index.d.ts",
    exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
    files: ["dist", "nova.conf.sample", "README.md"],
    scripts: {
      build: "tsc && npm run sample",
      check: "npm run build && compute-agent driver check .",
      prepack: "npm run build",
      pretest: "npm run build",
      sample: "compute-agent driver sample . --out nova.conf.sample",
      test: "vitest run",
      watch: "tsc --watch",
    },
    peerDependencies: { "compute-agent": `^${version}` },
    devDependencies: {
      "@types/node": "^20.19.0 || >=22.12.0",
      "compute-agent": dependency,
      typescript: "^5.9.0 || ^6.0.0 || ^7.0.0",
      vitest: "^4.1.0",
    },
  });
}

const TSCONFIG = json({
  compilerOptions: {
    target: "es2023",
    module: "nodenext",
    strict: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    declaration: true,
    rootDir: "src",
    outDir: "dist",
    types: ["node"],
  },
  include: ["src"],
});

function indexSource(name: string, section: string, className: string): string {
  return `import { defineDriver } from "compute-agent";
import { ${className} } from "./${name}.js";

/** The options of [${section}] in nova.conf. */
export const configSchema = {
  section: "${section}",
  options: {
${Object.entries(OPTIONS)
  .map(
    ([option, { type, default: value, min, help }]) =>
      `    ${option}: { type: "${type}", default: ${value}, min: ${min}, help: "${help}" },`,
  )
  .join("\n")}
  },
} as const;

/** The driver that compute-agent loads: compute_driver = ${name} */
export const driver = defineDriver({
  name: "${name}",
  apiVersion: "1.0",
  configSchema,
  create: (context) => new ${className}(context),
});
`;
}

function testSource(): string {
  return `import { describeDriver } from "compute-agent/testing";
import { driver } from "../dist/index.js";

describeDriver(driver, { time: "virtual" });
`;
}

function readmeOf(name: string, section: string): string {
  return `# ${name}

A virt driver for [compute-agent](https://www.npmjs.com/package/compute-agent).

    npm install
    npm test                     # builds the driver and checks it against the contract, with vitest
    npm run check                # the same without vitest

Run these in the parent folder:

    npx compute-agent up --driver ./${name} --hosts 2  # starts a cluster of two hosts with this driver
    npx compute-agent smoke-test                      # runs every operation, and prints the driver's calls
    npx compute-agent --host mine --compute-driver ./${name}

The driver's options are in section [${section}] of nova.conf. \`nova.conf.sample\` lists them. \`npm run build\` generates it from
\`configSchema\` in \`src/index.ts\`.

| file | content |
|---|---|
| \`src/index.ts\` | name, options, and the creation of the driver |
| \`src/${name}.ts\` | the driver: the methods that the agent calls |
| \`src/guests.ts\` | a substitute for a hypervisor; replace it with yours |
| \`test/contract.test.ts\` | the tests of the contract |
`;
}

interface DependencyOptions {
  /** This package's folder: absolute, links resolved. */
  readonly own: string;
  /** The new package's folder, absolute. */
  readonly folder: string;
  readonly version: string;
  /** npm's lock file of the `node_modules` that this package is installed in; undefined for a checkout. */
  readonly lock?: string;
}

/**
 * Returns the dependency of a new package on this one, in the way that this one was installed. A checkout is linked. An
 * installed package is never linked, since npm would try to build it without its sources.
 */
export function dependencyOn({ own, folder, version, lock }: DependencyOptions): string {
  if (lock === undefined) {
    return `file:${relative(folder, own)}`;
  }
  const from = resolvedIn(lock);
  if (from?.startsWith("git")) {
    return from;
  }
  if (!from?.startsWith("file:")) {
    return `^${version}`;
  }
  const project = dirname(dirname(own));
  return `file:${relative(folder, resolve(project, from.slice("file:".length)))}`;
}

function resolvedIn(lock: string): string | undefined {
  try {
    const { packages } = JSON.parse(lock) as { packages?: Record<string, { resolved?: unknown } | undefined> };
    const from = packages?.["node_modules/compute-agent"]?.resolved;
    return typeof from === "string" ? from : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns a sample of nova.conf: the driver, and each of its options as a comment with description, type and default.
 * @param driver value of `compute_driver`
 */
export function sampleOf(driver: string, sections: SectionTable): string {
  const renderedSections = Object.entries(sections).map(([section, options]) =>
    [`[${section}]`, ...Object.entries(options).map(([name, declared]) => sampleOfOption(name, declared))].join("\n\n"),
  );
  return `${[`[DEFAULT]\ncompute_driver = ${driver}`, ...renderedSections].join("\n\n")}\n`;
}

function sampleOfOption(name: string, declared: Option<unknown>): string {
  const { help, type, secret } = declared;
  const description = [help, typeOf(type), secret === true ? "(Never shown.)" : ""].join(" ");
  const comment = wrapWords(description.replace(/\s+/g, " ").trim(), WIDTH - 2).replace(/^/gm, "# ");
  return `${comment}\n${`#${name} = ${defaultOf(declared)}`.trimEnd()}`;
}

/** Formats a type as `(Integer of at least 1.)`; empty for plain strings and booleans. */
function typeOf(type: ValueType<unknown>): string {
  const expected = type.expected.replace(/^an? /, "");
  const plain = expected === "string" || type === boolean;
  return plain ? "" : `(${expected.charAt(0).toUpperCase()}${expected.slice(1)}.)`;
}

/** Formats a default as in the file; empty for unset or secret options. */
function defaultOf({ default: value, type, secret }: Option<unknown>): string {
  // A driver in plain JavaScript may omit the default.
  if (value === null || value === undefined || secret === true) {
    return "";
  }
  // Continuation lines of a value are indented.
  return value instanceof Derived ? value.documented : literal(type.format(value)).replaceAll("\n", "\n#  ");
}
