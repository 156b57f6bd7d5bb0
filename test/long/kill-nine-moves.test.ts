import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectionTo } from "../../drivers/fake-libvirt/hypervisor.js";
import { Virsh } from "../../drivers/fake-libvirt/virsh.js";
import { AGENT_FAULTS } from "../../src/cli/agent/agent-faults.js";
import { quietLogger } from "../../src/cli/ui/logging.js";
import { readFaults } from "../../src/faults/fault-file.js";
import { nodeClock } from "../../src/runtime/node/node-builtins.js";
import { NodeFiles } from "../../src/runtime/node/node-files.js";
import { LocalCloud } from "../process/support/local-cloud.js";
import { Operator } from "../process/support/operator.js";
import { Program } from "../process/support/program.js";

const HOSTS = ["devstack1", "devstack2", "devstack3"] as const;
type Host = (typeof HOSTS)[number];
const TINY = { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 };
const SMALL = { VCPU: 1, MEMORY_MB: 2048, DISK_GB: 20 };

/** A server that moves from devstack1 to devstack2; an evacuated one comes from devstack3, which is down. */
interface Move {
  readonly name: string;
  /** Host and fault point where the move hangs while the victim is killed. */
  readonly at: readonly [Host, string];
  /** Whether the server is brought to VERIFY_RESIZE first. */
  readonly resized?: true;
  readonly from?: "devstack3";
  readonly action: object;
  readonly end: End;
}

/** The expected state of one server once its task state is null. */
interface End {
  readonly status: string;
  readonly host: Host | null;
  /** Allocations of the server: host → amounts. */
  readonly held: Readonly<Record<string, unknown>>;
  /** Statuses of its migrations. */
  readonly migrations: readonly string[];
  /** Allocations of all migrations: host → amounts. */
  readonly migrationHolds: Readonly<Record<string, unknown>>;
  /** Hosts with a running guest of the server. */
  readonly runs: readonly Host[];
}

const RESIZE = { resize: { flavorRef: "2" } };
const LIVE = { "os-migrateLive": { host: "devstack2", block_migration: "auto" } };
const REBUILD = { rebuild: { imageRef: "c0ffee00-0000-4000-8000-000000000001" } };

/** A server on one host, with a running guest and no other allocations. */
function on(host: Host, resources: object, ...migrations: readonly string[]): End {
  return {
    status: "ACTIVE",
    host,
    held: { [host]: resources },
    migrations,
    migrationHolds: {},
    runs: [host],
  };
}

const OF_THE_SOURCE: readonly Move[] = [
  {
    name: "6.3 row 5 resize: back where it was",
    at: ["devstack1", "agent.resize_instance.migrate_disk"],
    action: RESIZE,
    end: on("devstack1", TINY, "error"),
  },
  {
    name: "6.3 confirm: confirmed",
    resized: true,
    at: ["devstack1", "agent.confirm_resize.confirm_migration"],
    action: { confirmResize: null },
    end: on("devstack2", SMALL, "confirmed"),
  },
  {
    name: "6.3 revert: reverted",
    resized: true,
    at: ["devstack1", "agent.finish_revert_resize.allocations"],
    action: { revertResize: null },
    end: on("devstack1", TINY, "reverted"),
  },
  {
    name: "6.5 row 9 live migration: completed",
    at: ["devstack1", "agent.post_live_migration.release_allocations"],
    action: LIVE,
    end: on("devstack2", TINY, "completed"),
  },
  {
    name: "6.6 shelve: offloaded",
    at: ["devstack1", "agent.shelve_offload_instance.record"],
    action: { shelve: null },
    end: { status: "SHELVED_OFFLOADED", host: null, held: {}, migrations: [], migrationHolds: {}, runs: [] },
  },
  {
    name: "6.6 rebuild: in error, and its allocation unchanged",
    at: ["devstack1", "driver.spawn"],
    action: REBUILD,
    end: { ...on("devstack1", TINY), status: "ERROR", runs: [] },
  },
];

const OF_THE_DESTINATION: readonly Move[] = [
  {
    name: "6.3 row 7 resize: in error on the destination",
    at: ["devstack2", "agent.finish_resize.finish_migration"],
    action: RESIZE,
    end: { ...on("devstack2", SMALL, "error"), status: "ERROR", runs: [] },
  },
  {
    name: "6.3 revert: reverted",
    resized: true,
    at: ["devstack2", "agent.revert_resize.drop_claim"],
    action: { revertResize: null },
    end: on("devstack1", TINY, "reverted"),
  },
  {
    name: "6.5 row 6 live migration: rolled back",
    at: ["devstack2", "agent.pre_live_migration.prepare_guest"],
    action: LIVE,
    end: on("devstack1", TINY, "failed"),
  },
  {
    name: "6.7 row 6 evacuation: failed, and the destination is left clean",
    from: "devstack3",
    at: ["devstack2", "agent.evacuate_instance.record"],
    action: { evacuate: { host: "devstack2" } },
    end: { ...on("devstack3", TINY, "failed"), status: "ERROR" },
  },
];

const OF_THE_CONTROL_PLANE: readonly Move[] = [
  {
    name: "6.3 row 6 resize: goes on to VERIFY_RESIZE",
    at: ["devstack1", "agent.resize_instance.flip"],
    action: RESIZE,
    end: { ...on("devstack2", SMALL, "finished"), status: "VERIFY_RESIZE", migrationHolds: { devstack1: TINY } },
  },
  {
    name: "6.5 row 8 live migration: completed",
    at: ["devstack2", "agent.post_live_migration_at_destination.take_over"],
    action: LIVE,
    end: on("devstack2", TINY, "completed"),
  },
];

let cloud: LocalCloud;
let operator: Operator;
const agents = new Map<Host, Program>();
const files = new NodeFiles();
const deps = { files, clock: nodeClock(), logger: quietLogger };

async function startAgent(host: Host): Promise<void> {
  // Without memory for a second server on the victim, resized servers go to devstack2.
  const memory = host === "devstack3" ? ["-o", "fake_libvirt.memory_mb=1536"] : [];
  const args = ["-o", "update_resources_interval=1", "-o", "periodic_fuzzy_delay=0", ...memory];
  agents.set(host, await cloud.startAgent(host, { args }));
}

/** Runs a `compute-cluster` command to its end, and returns its output. */
async function command(name: string, ...args: readonly string[]): Promise<string> {
  const program = new Program("compute-cluster", [name, "--state-dir", cloud.stateDir, ...args]);
  expect((await program.exited).code, program.stderr).toBe(0);
  return program.stdout;
}

async function act(id: string, action: object): Promise<void> {
  const { status, body } = await cloud.compute("POST", `/servers/${id}/action`, action, "2.94");
  expect(status, JSON.stringify(body)).toBeLessThan(300);
}

async function bootFor({ from, resized }: Move): Promise<string> {
  const id = await operator.boot("vm", { host: from ?? "devstack1" });
  await operator.serverIn(id, "ACTIVE");
  if (!resized) {
    return id;
  }
  await act(id, RESIZE);
  await operator.serverIn(id, "VERIFY_RESIZE");
  return id;
}

/** Brings every move to the step where it hangs. Returns the servers. */
async function hold(moves: readonly Move[]): Promise<readonly string[]> {
  const servers = await Promise.all(moves.map(bootFor));
  if (moves.some(({ from }) => from === "devstack3")) {
    await agents.get("devstack3")?.kill();
    await operator.forceDown("devstack3", true);
  }
  await Promise.all(
    HOSTS.map(async (host) => {
      const faultRules = moves.filter(({ at }) => at[0] === host).map(({ at }) => `${at[1]}=hang:once`);
      if (faultRules.length > 0) {
        await command("fault", "set", host, ...faultRules);
      }
    }),
  );
  await Promise.all(moves.map((move, index) => act(servers[index] ?? "", move.action)));
  await cloud.eventually(faultsSet, (faults) => faults.every(({ used }) => used === 1));
  return servers;
}

/** Reads the same files as `compute-agent fault list`, without a process for each poll. */
async function faultsSet() {
  const folders = HOSTS.map((host) => join(cloud.stateDir, "agents", host));
  return (await Promise.all(folders.map((folder) => readFaults(folder, AGENT_FAULTS, { files })))).flat();
}

async function recordsOf(id: string): Promise<Omit<End, "runs"> & { readonly task: unknown }> {
  const [server, held, migrations] = await Promise.all([
    operator.server(id),
    operator.held(id, HOSTS),
    operator.migrations(id),
  ]);
  const ofMigrations = await Promise.all(migrations.map(({ uuid }) => operator.held(String(uuid), HOSTS)));
  return {
    status: String(server.status),
    task: server["OS-EXT-STS:task_state"],
    host: server["OS-EXT-SRV-ATTR:host"] as unknown as Host | null,
    held,
    migrations: migrations.map((migration) => String(migration.status)),
    migrationHolds: Object.assign({}, ...ofMigrations),
  };
}

interface StatusRow {
  readonly host: Host;
  readonly guests: readonly Guest[];
}
interface Guest {
  readonly uuid: string;
  readonly state: string;
}

function running(guests: readonly Guest[]): readonly string[] {
  return guests.filter(({ state }) => state === "running").map(({ uuid }) => uuid);
}

/** Reads the same files as `compute-agent status`, without a process for each poll. */
function guestsOf(host: Host) {
  return new Virsh(connectionTo(join(cloud.stateDir, "hypervisors", host)), deps).list();
}

async function runningOn(id: string): Promise<readonly Host[]> {
  const guests = await Promise.all(HOSTS.map(guestsOf));
  return HOSTS.filter((_host, index) => running(guests[index] ?? []).includes(id));
}

beforeAll(async () => {
  cloud = await LocalCloud.start();
  operator = new Operator(cloud);
  await Promise.all(HOSTS.map(startAgent));
});
afterAll(() => cloud.dispose());

async function restart(host: Host): Promise<void> {
  await agents.get(host)?.kill();
  await startAgent(host);
}

async function restartControlPlane(): Promise<void> {
  await cloud.controlPlane.kill();
  await cloud.startControlPlane();
  // Moves that hung meanwhile continue.
  for (const host of HOSTS) {
    await command("fault", "clear", host);
  }
}

for (const [victim, moves, kill] of [
  ["the source's agent", OF_THE_SOURCE, () => restart("devstack1")],
  ["the destination's agent", OF_THE_DESTINATION, () => restart("devstack2")],
  ["the control plane", OF_THE_CONTROL_PLANE, restartControlPlane],
] as const) {
  describe(`9.4 kill -9 of ${victim} during concurrent moves`, () => {
    let servers: readonly string[] = [];
    beforeAll(async () => {
      servers = await hold(moves);
      await kill();
    });

    it.each(moves.map((move, index) => ({ ...move, index })))("$name", async ({ index, end }) => {
      const id = servers[index] ?? "";
      const { runs, ...records } = end;
      const pollOptions = { timeout: 60_000, interval: 50 };
      await expect.poll(() => recordsOf(id), pollOptions).toEqual({ ...records, task: null });
      await expect.poll(() => runningOn(id), pollOptions).toEqual(runs);
      // The records have not changed while the guests were read.
      expect(await recordsOf(id)).toEqual({ ...records, task: null });
    });
  });
}

it("compute-agent status lists the running guests", async () => {
  const rows = JSON.parse(await command("status", "--json")) as readonly StatusRow[];
  const reportedGuests = HOSTS.map((host) => running(rows.find((row) => row.host === host)?.guests ?? []));
  expect(reportedGuests).toEqual(await Promise.all(HOSTS.map(async (host) => running(await guestsOf(host)))));
  expect(reportedGuests.flat()).not.toEqual([]);
});
