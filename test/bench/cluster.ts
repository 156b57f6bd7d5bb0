// Measures how long a test waits for its cluster: to start, reset, save and restore, and to advance by an hour. On a busy
// machine, processor time is the better figure.
import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quietLogger } from "../../src/cli/ui/logging.js";
import type * as Published from "../../src/cluster/index.js";
import { type Cluster, startCluster } from "../../src/cluster/index.js";
import { openCloudSession } from "../../src/control-plane/local/cloud-session.js";
import { stateDir } from "../../src/control-plane/local/state-dir.js";
import type { HttpClient } from "../../src/runtime/http.js";
import { NodeFiles } from "../../src/runtime/node/node-files.js";
import { createNodeRuntime } from "../../src/runtime/node/node-runtime.js";
import { mapConcurrently } from "../../src/runtime/task-queue.js";
import { familyOf, usageOf } from "./processes.js";

const HOSTS = 100;
const SERVERS = 1_000;
/** Unlimited quotas. */
const NO_QUOTA = { quota: { instances: -1, cores: -1, ram: -1 } };

/** @param used returns milliseconds of processor time so far */
async function timed(
  what: string,
  most: number | null,
  work: () => Promise<unknown>,
  used: () => Promise<number> = usedHere,
): Promise<void> {
  const before = await used();
  const begin = performance.now();
  await work();
  const took = performance.now() - begin;
  const processor = ((await used()) - before).toFixed(0);
  const limit = most === null ? "" : `  (at most ${most} ms${took > most ? ": MISSED" : ""})`;
  process.stdout.write(
    `${what.padEnd(62)} ${took.toFixed(0).padStart(6)} ms, of the processor ${processor.padStart(6)} ms${limit}\n`,
  );
}

async function usedHere(): Promise<number> {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function startAndReset(): Promise<void> {
  for (let count = 1; count <= 10; count += 1) {
    let cloud: Cluster | undefined;
    const start = async () => {
      cloud = await startCluster({ hosts: 3 });
    };
    if (count === 1 || count === 10) {
      await timed(`cluster of 3 hosts in this process, ready (number ${count})`, count === 1 ? null : 150, start);
    } else {
      await start();
    }
    if (count === 10) {
      await cloud?.reset();
      await timed("reset of 3 hosts", 100, async () => cloud?.reset());
    }
    await cloud?.stop();
  }
}

async function idleHour(): Promise<void> {
  const cloud = await startCluster({ hosts: HOSTS, time: "virtual" });
  await timed(`virtual hour of an idle cluster of ${HOSTS} hosts`, 1_000, () => cloud.advance(3_600));
  await cloud.stop();
}

async function saveAndRestore(): Promise<void> {
  let cloud: Cluster | undefined;
  await timed(`cluster of ${HOSTS} hosts, ready`, null, async () => {
    cloud = await startCluster({ hosts: HOSTS, config: NO_QUOTA });
  });
  if (cloud !== undefined) {
    await putBack(cloud, "", usedHere);
    await cloud.stop();
  }
}

/** Measures save and restore with hosts in shared processes, without the start of the command itself. */
async function saveAndRestoreInPools(): Promise<void> {
  // Uses the published package, which starts the programs next to it.
  const published = (await import(new URL("../../bin/cluster.mjs", import.meta.url).href)) as typeof Published;
  const cloud = await published.startCluster({ hosts: HOSTS, config: NO_QUOTA, inProcess: false });
  await putBack(cloud, " in pools", () => usedBy(cloud.stateDir));
  await cloud.stop();
}

async function putBack(cloud: Cluster, where: string, used: () => Promise<number>): Promise<void> {
  const { http } = createNodeRuntime({ logger: quietLogger });
  await timed(`${SERVERS} servers${where}, built`, null, () => build(cloud, http), used);
  await timed(`snapshot of ${HOSTS} hosts and ${SERVERS} servers${where}`, 1_000, () => cloud.snapshot("one"), used);
  await timed(`restore of them${where}`, 1_000, () => cloud.restore("one"), used);
  await timed(`reset of them${where}`, null, () => cloud.reset(), used);
  await timed(`restore of them after the reset${where}`, 1_000, () => cloud.restore("one"), used);
  await http.close();
}

async function build(cloud: Cluster, http: HttpClient): Promise<void> {
  const session = await openCloudSession(new NodeFiles(), http, stateDir(cloud.stateDir, "/"));
  const { flavors } = (await session.request("compute", "GET", "/flavors", "2.1")) as { flavors: { id: string }[] };
  const { images } = (await session.request("image", "GET", "/v2/images", "2.0")) as { images: { id: string }[] };
  await mapConcurrently([...Array(SERVERS / 100).keys()], 1, async (index) => {
    const server = {
      name: `bench-${index}`,
      flavorRef: flavors[0]?.id,
      imageRef: images[0]?.id,
      networks: "none",
      min_count: 100,
    };
    await session.request("compute", "POST", "/servers", "2.37", { server });
  });
  await cloud.settled({ timeout: 300 });
}

/** Returns milliseconds of processor time of a cluster's processes: `up` and its children. */
async function usedBy(root: string): Promise<number> {
  const { pid } = JSON.parse(readFileSync(join(root, "cluster.json"), "utf8")) as { readonly pid: number };
  const { cpu } = await usageOf(await familyOf(pid));
  return cpu * 1000;
}

await startAndReset();
await idleHour();
await saveAndRestore();
await saveAndRestoreInPools();
const left = readdirSync(tmpdir()).filter((name) => name.startsWith("compute-cluster-"));
process.stdout.write(`state directories left: ${left.length}\n`);
