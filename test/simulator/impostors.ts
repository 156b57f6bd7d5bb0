import { RELEASES } from "../../src/records/index.js";
import { pickHost, type Stage } from "./actors.js";
import type { SimulatedCluster, SimulatedHost } from "./simulated-cluster.js";

/** From this service version, a host has its identity in a file (spec 2.3). */
const STABLE_IDENTITY = 65;

/** Starts an agent that must not serve: the specification's G2, G4, G7 and G8. */
export async function impostor(stage: Stage): Promise<void> {
  const { cluster, dice, journal } = stage;
  const host = pickHost(stage, ({ serves, harmed }) => serves && !harmed);
  if (host === undefined || !isRegistered(cluster, host)) {
    return;
  }
  host.harmed = true;
  const kind = dice.pick(["renamed", "stand-by", "identity lost", "identity copied"] as const);
  journal.note("world", `an impostor of ${host.name}: ${kind}`);
  switch (kind) {
    case "renamed":
      await cluster.startImpostor(host, { name: `${host.name}-renamed`, statePath: host.statePath });
      break;
    case "stand-by":
      // The passive node of a failover pair: a different host name with the same hypervisor.
      await cluster.startImpostor(host, { name: "stand-by", statePath: "/state/stand-by" });
      break;
    default:
      await withAnotherIdentity(stage, host, kind === "identity lost");
  }
  host.harmed = false;
}

/** Restarts the host's agent without its `compute_id`, or with that of another host; then restores the file. */
async function withAnotherIdentity(stage: Stage, host: SimulatedHost, lost: boolean): Promise<void> {
  const { cluster, dice } = stage;
  const { disk } = host.machine;
  const other = dice.pick(cluster.hosts.filter((one) => one !== host && isRegistered(cluster, one)));
  const path = `${host.statePath}/compute_id`;
  const own = disk.read(path);
  const copied = other && disk.read(`${other.statePath}/compute_id`);
  const finds = own !== undefined && (lost ? RELEASES[host.release] >= STABLE_IDENTITY : copied !== undefined);
  if (!finds) {
    return;
  }
  host.agent?.runtime.kill();
  host.agent = null;
  disk.remove(path, 0);
  if (!lost && copied !== undefined) {
    disk.write(path, copied, 0o644, 0, "write");
  }
  await cluster.startImpostor(host, host);
  disk.write(path, own, 0o644, 0, "write");
  await cluster.startAgent(host);
}

function isRegistered({ controlPlaneRuns, store }: SimulatedCluster, { name }: SimulatedHost): boolean {
  return controlPlaneRuns && store.computeNodes.list().some(({ host }) => host === name);
}
