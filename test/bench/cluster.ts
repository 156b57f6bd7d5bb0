// How long a test waits for its cluster: to start, to be put back, to be saved and restored, and for an hour to pass. On a machine
// that does something else, too, the processor's time tells more.
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { quietLogger } from "../../src/cli/ui/quiet-logger.js";
import { type Cluster, startCluster } from "../../src/cloud/index.js";
import { openCloudSession } from "../../src/cluster/local/cloud-session.js";
import { stateDir } from "../../src/cluster/local/state-dir.js";
import { NodeFiles } from "../../src/runtime/node/node-files.js";
import { createNodeRuntime } from "../../src/runtime/node/node-runtime.js";
import { mapConcurrently } from "../../src/runtime/queue.js";

const HOSTS = 100;
const SERVERS = 1_000;
/** Nobody counts servers here. */
const NO_QUOTA = { quota: { instances: -1, cores: -1, ram: -1 } };

async function timed(what: string, most: number | null, work: () => Promise<unknown>): Promise<void> {
  const begin = performance.now();
  const before = process.cpuUsage();
  await work();
  const took = performance.now() - begin;
  const { user, system } = process.cpuUsage(before);
  const processor = ((user + system) / 1000).toFixed(0);
  const limit = most === null ? "" : `  (at most ${most} ms${took > most ? ": MISSED" : ""})`;
  process.stdout.write(
    `${what.padEnd(62)} ${took.toFixed(0).padStart(6)} ms, of the processor ${processor.padStart(6)} ms${limit}\n`,
  );
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
  const { http } = createNodeRuntime({ logger: quietLogger });
  let cloud: Cluster | undefined;
  await timed(`cluster of ${HOSTS} hosts, ready`, null, async () => {
    cloud = await startCluster({ hosts: HOSTS, config: NO_QUOTA });
  });
  if (cloud === undefined) {
    return;
  }
  const { stateDir: root } = cloud;
  const session = await openCloudSession(new NodeFiles(), http, stateDir(root, "/"));
  const { flavors } = (await session.request("compute", "GET", "/flavors", "2.1")) as { flavors: { id: string }[] };
  const { images } = (await session.request("image", "GET", "/v2/images", "2.0")) as { images: { id: string }[] };
  await timed(`${SERVERS} servers, built`, null, async () => {
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
    await cloud?.settled();
  });
  await timed(`snapshot of ${HOSTS} hosts and ${SERVERS} servers`, 1_000, async () => cloud?.snapshot("one"));
  await timed("restore of them", 1_000, async () => cloud?.restore("one"));
  await timed("reset of them", null, async () => cloud?.reset());
  await timed("restore of them after the reset", 1_000, async () => cloud?.restore("one"));
  await cloud.stop();
  await http.close();
}

await startAndReset();
await idleHour();
await saveAndRestore();
const left = readdirSync(tmpdir()).filter((name) => name.startsWith("compute-cluster-"));
process.stdout.write(`state directories left: ${left.length}\n`);
