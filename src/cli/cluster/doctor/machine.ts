import { readFile, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Servers } from "../../../runtime/server.js";
import { packageFolder } from "../../ui/version.js";
import type { ClusterState } from "../cluster-state.js";
import type { Finding } from "./finding.js";

/**
 * Whether a version is in a range as package.json's `engines` has them: `^20.19.0 || >=24.0.0`.
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

/** The database is a binary for the platform, which npm may have left out. */
export async function checkDatabase(load: () => Promise<unknown>): Promise<Finding> {
  try {
    await load();
    return { what: "database", outcome: "ok", found: `libsql for ${process.platform}-${process.arch}` };
  } catch (error) {
    const found = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    return { what: "database", outcome: "problem", found, advice: "install again, with optional dependencies: npm ci" };
  }
}

/** Ports that are taken unless another one is said. */
const PORTS = { 8774: "of up", 8778: "of placement" } as const;

/** @param clusters those that have one are what it is taken by */
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
            found: error instanceof Error ? error.message : String(error),
            advice: `--port ${Number(port) + 10000}, or --port 0 for any free one`,
          }
        : { what, outcome: "info", found: `taken by the cluster of ${owner.stateDir}`, advice: "--port 0 for another" };
    }
  });
  return Promise.all(checks);
}

const GIB = 1024 ** 3;
/** Bytes with which a cluster of a few hosts can work for a day, and with which it cannot start. */
const PLENTY = GIB;
const TOO_LITTLE = GIB / 16;

/** @param place where a cluster would be kept; it need not be there */
export async function checkDisk(place: string): Promise<Finding> {
  const what = `disk of ${place}`;
  for (let folder = place; ; folder = dirname(folder)) {
    const found = await statfs(folder).catch(() => undefined);
    if (found === undefined && folder !== dirname(folder)) {
      continue;
    }
    const free = found === undefined ? 0 : found.bavail * found.bsize;
    const severity = free < TOO_LITTLE ? "problem" : free < PLENTY ? "warning" : "ok";
    const advice = "make room, or name another place with --state-dir";
    return {
      what,
      outcome: severity,
      found: `${(free / GIB).toFixed(1)} GiB free`,
      ...(severity === "ok" ? {} : { advice }),
    };
  }
}
