import { execFile } from "node:child_process";
import { readdir, readFile, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorMessage } from "../../../runtime/error-messages.js";
import type { Servers } from "../../../runtime/http-server.js";
import { packageFolder } from "../../ui/command-line.js";
import type { ClusterState } from "../cluster-state.js";

/** `warning`: may cause surprises; `problem`: must be fixed before a cluster works. */
type FindingSeverity = "ok" | "info" | "warning" | "problem";

/** The result of one check. */
export interface Finding {
  /** `node`, `port 8774`, `openstack` … */
  readonly what: string;
  readonly outcome: FindingSeverity;
  readonly found: string;
  /** How to fix it; undefined if no action is needed. */
  readonly advice?: string;
}

/**
 * Returns whether a version is in a range of package.json's `engines`, such as `^20.19.0 || >=24.0.0`.
 * @internal for tests
 */
export function isInRange(version: string, range: string): boolean {
  const [major = 0, minor = 0, patch = 0] = numbers(version);
  return range.split("||").some((part) => {
    const [, sign = "", from = ""] = /^\s*(\^|>=)(\d+\.\d+\.\d+)\s*$/.exec(part) ?? [];
    const [atMajor = 0, atMinor = 0, atPatch = 0] = numbers(from);
    const isLater = minor > atMinor || (minor === atMinor && patch >= atPatch);
    return from !== "" && ((major === atMajor && isLater) || (sign === ">=" && major > atMajor));
  });
}

const numbers = (version: string): readonly number[] => version.replace(/^v/, "").split(".").map(Number);

export async function checkNode(version: string): Promise<Finding> {
  const text = await readFile(join(packageFolder(), "package.json"), "utf8");
  const { engines } = JSON.parse(text) as { readonly engines: { readonly node: string } };
  return isInRange(version, engines.node)
    ? { what: "node", outcome: "ok", found: version }
    : { what: "node", outcome: "problem", found: version, advice: `expected ${engines.node}: install such a release` };
}

/** Checks that the database library loads. It is a platform-specific binary, which npm may have skipped. */
export async function checkDatabase(load: () => Promise<unknown>): Promise<Finding> {
  try {
    await load();
    return { what: "database", outcome: "ok", found: `libsql for ${process.platform}-${process.arch}` };
  } catch (error) {
    const [found = ""] = errorMessage(error).split("\n");
    return { what: "database", outcome: "problem", found, advice: "install again, with optional dependencies: npm ci" };
  }
}

/** Default ports of the programs. */
const PORTS = { 8774: "of up", 8778: "of placement" } as const;

/** @param clusters used to name the owner of a port that is taken */
export function checkPorts(servers: Servers, clusters: readonly ClusterState[]): Promise<readonly Finding[]> {
  const checks = Object.entries(PORTS).map(async ([port, whose]): Promise<Finding> => {
    const what = `port ${port}`;
    try {
      const listener = await servers.listen({ port: Number(port), services: {} });
      await listener.close(0);
      return { what, outcome: "ok", found: `free, the default ${whose}` };
    } catch (error) {
      const owner = clusters.find(({ state, url }) => state === "running" && url?.endsWith(`:${port}`) === true);
      return owner === undefined
        ? {
            what,
            outcome: "warning",
            found: errorMessage(error),
            advice: `--port ${Number(port) + 10000}, or --port 0 for any free one`,
          }
        : { what, outcome: "info", found: `taken by the cluster of ${owner.stateDir}`, advice: "--port 0 for another" };
    }
  });
  return Promise.all(checks);
}

const GIB = 1024 ** 3;

/** Free bytes that are enough for a few hosts for a day, and those below which a cluster cannot start. */
const ENOUGH_BYTES = GIB;

const MIN_BYTES = GIB / 16;

/** @param place the folder of a cluster's state; it need not exist */
export async function checkDisk(place: string): Promise<Finding> {
  const what = `disk of ${place}`;
  for (let folder = place; ; folder = dirname(folder)) {
    const found = await statfs(folder).catch(() => undefined);
    if (found === undefined && folder !== dirname(folder)) {
      continue;
    }
    const free = found === undefined ? 0 : found.bavail * found.bsize;
    const severity = free < MIN_BYTES ? "problem" : free < ENOUGH_BYTES ? "warning" : "ok";
    const advice = "make room, or name another place with --state-dir";
    return {
      what,
      outcome: severity,
      found: `${(free / GIB).toFixed(1)} GiB free`,
      ...(severity === "ok" ? {} : { advice }),
    };
  }
}

/** A process of this package that uses a state directory. */
interface OurProcess {
  readonly pid: number;
  readonly program: string;
  readonly stateDir: string;
}

/** Finds the processes of this user, on systems with /proc. */
export async function ourProcesses(proc = "/proc"): Promise<readonly OurProcess[]> {
  const names = await readdir(proc).catch(() => []);
  const found = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name))
      .map(async (name) => {
        const words = (await readFile(`${proc}/${name}/cmdline`, "utf8").catch(() => "")).split("\0");
        const program = words
          .map((word) => /(?:^|\/)(compute-(?:agent|cluster))(?:\.js)?$/.exec(word)?.[1])
          .find(Boolean);
        const stateDir = words[words.indexOf("--state-dir") + 1];
        return program === undefined || stateDir === undefined || !words.includes("--state-dir")
          ? []
          : [{ pid: Number(name), program, stateDir }];
      }),
  );
  return found.flat();
}

/** Reports what killed clusters left behind: running processes and their entries in the list of clusters. */
export function checkClusters(clusters: readonly ClusterState[], processes: readonly OurProcess[]): readonly Finding[] {
  return clusters.map(({ name, stateDir, state, url }): Finding => {
    const what = `cluster ${name ?? stateDir}`;
    if (state === "running") {
      return { what, outcome: "ok", found: `runs at ${url}` };
    }
    const left = processes.filter((process) => process.stateDir === stateDir);
    if (left.length === 0) {
      return { what, outcome: "ok", found: url === null ? "never came up" : "does not run" };
    }
    const pids = left.map(({ pid }) => pid);
    return {
      what,
      outcome: "warning",
      found: `its control plane is gone, and ${left.length} of its processes run: ${left
        .map(({ pid, program }) => `${program} ${pid}`)
        .join(", ")}`,
      advice: `up of this cluster goes on with them; kill ${pids.join(" ")} ends them`,
    };
  });
}

/** A client for the cluster, and how to find its version. */
interface Client {
  readonly name: string;
  readonly command: readonly [program: string, ...args: string[]];
  /** An alternative command. */
  readonly other?: readonly [program: string, ...args: string[]];
  /** Matches the version in the output. */
  readonly version: RegExp;
  /** How to install the client. */
  readonly install: string;
  /** Known issues of some versions. */
  readonly known?: readonly (readonly [version: RegExp, text: string])[];
}

/** Returns the check of a Python module, for the first Python on the path and the system's, which have separate packages. */
function pythonModule(name: string): Pick<Client, "command" | "other" | "version"> {
  const script = `import importlib.metadata as m; print("${name}", m.version("${name}"))`;
  return {
    command: ["python3", "-c", script],
    other: ["/usr/bin/python3", "-c", script],
    version: new RegExp(`${name} (\\S+)`),
  };
}

const CLIENTS: readonly Client[] = [
  {
    name: "openstack",
    command: ["openstack", "--version"],
    version: /openstack (\S+)/,
    install: "python3-openstackclient of Debian, python-openstackclient of PyPI",
    known: [[/^6\.0\./, "ignore the error after `server evacuate`: the evacuation takes place"]],
  },
  {
    name: "openstack resource provider (osc-placement)",
    ...pythonModule("osc-placement"),
    install: "python3-osc-placement of Debian, osc-placement of PyPI",
  },
  {
    name: "nova",
    command: ["nova", "--version"],
    version: /^(\d\S*)/m,
    install: "python3-novaclient of Debian, python-novaclient of PyPI",
  },
  {
    name: "openstacksdk",
    ...pythonModule("openstacksdk"),
    install: "python3-openstacksdk of Debian, openstacksdk of PyPI",
  },
  { name: "terraform", command: ["terraform", "version"], version: /Terraform v(\S+)/, install: "terraform" },
  { name: "tofu", command: ["tofu", "version"], version: /OpenTofu v(\S+)/, install: "opentofu" },
];

/** Timeout for a client that prints its version, in milliseconds. */
const CLIENT_TIMEOUT_MS = 20_000;

/** Returns the output of a command; null if it cannot be run or fails. */
type Printed = (command: readonly string[]) => Promise<string | null>;

export function printedBy([program = "", ...args]: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: CLIENT_TIMEOUT_MS }, (error, stdout, stderr) => {
      resolve(error === null ? `${stdout}${stderr}` : null);
    });
  });
}

/** Checks clients. None is required to run a cluster, so a missing one is only reported. */
export function checkClients(printed: Printed): Promise<readonly Finding[]> {
  return Promise.all(
    CLIENTS.map(async ({ name, command, other, version, install, known = [] }): Promise<Finding> => {
      const text = (await printed(command)) ?? (other === undefined ? null : await printed(other));
      const found = text === null ? undefined : version.exec(text)?.[1];
      if (found === undefined) {
        return { what: name, outcome: "info", found: "not found", advice: install };
      }
      const [, surprise] = known.find(([pattern]) => pattern.test(found)) ?? [];
      return { what: name, outcome: "ok", found, ...(surprise === undefined ? {} : { advice: surprise }) };
    }),
  );
}
