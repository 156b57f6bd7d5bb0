import { describe, expect, test } from "vitest";
import { NEW, OLD, VM } from "../fixtures/cold-moves.js";
import { CONFLICT } from "../fixtures/fault-matrix/faults.js";
import { FLOWS } from "../fixtures/fault-matrix/flows.js";
import { CONTROL_PLANE } from "../fixtures/fault-matrix/matrix-control-plane.js";
import { type Host, MatrixHarness } from "../fixtures/fault-matrix/matrix-harness.js";
import { nodes } from "../fixtures/fault-matrix/server.js";

/** A row of table 9.3: exactly this leak with upstream's agents, and none with repairing ones. */
interface Leak {
  readonly row: string;
  /** The operation that is started. */
  readonly flow: string;
  /** Makes the operation fail; resolves after the failure. */
  readonly happens: (matrix: MatrixHarness, begin: () => void | Promise<void>) => Promise<void>;
  /** Allocations by consumer and host: the instance's, and the last migration's. */
  readonly leaks: Held;
  readonly repaired: Held;
  /** Invariants that upstream violates during the operation. */
  readonly breaks?: readonly string[];
}

interface Held {
  readonly I: Readonly<Record<string, unknown>>;
  readonly M?: Readonly<Record<string, unknown>>;
}

/** Rejects every write of allocations by one process; returns a function that stops this. */
function conflicts({ harness }: MatrixHarness, process: string): () => void {
  return harness.world.network.inject({
    fault: { kind: "answer", response: CONFLICT },
    match: ({ from, method, url }) => from === process && method !== "GET" && url.includes("/allocations"),
  });
}

function whileConflicting(host: Host): Leak["happens"] {
  return async (matrix, begin) => {
    const lift = conflicts(matrix, `agent-${host}`);
    await begin();
    await matrix.harness.world.advance(30_000);
    lift();
  };
}

const LEAKS: readonly Leak[] = [
  {
    row: "M holds S after a conflict on confirm",
    flow: "confirm of resize, split",
    happens: whileConflicting("devstack1"),
    leaks: { I: { devstack2: NEW }, M: { devstack1: OLD } },
    repaired: { I: { devstack2: NEW }, M: {} },
  },
  {
    row: "I on D and M on S after a failed M→I on revert",
    flow: "revert of resize, split",
    happens: whileConflicting("devstack1"),
    leaks: { I: { devstack2: NEW }, M: { devstack1: OLD } },
    repaired: { I: { devstack1: OLD }, M: {} },
  },
  {
    row: "M holds S after a failed post live migration on D",
    flow: "live migration, split",
    happens: async ({ harness }, begin) => {
      const fails = () => new Error("the hypervisor is broken");
      harness.hypervisor("devstack2").failures.set("postLiveMigrationAtDestination", fails);
      await begin();
      await harness.world.runUntil(() => harness.instance(VM).host === "devstack2");
    },
    leaks: { I: { devstack2: OLD }, M: { devstack1: OLD } },
    repaired: { I: { devstack2: OLD }, M: {} },
  },
  {
    row: "I holds S after a failed evacuated clean-up (GAP-a)",
    flow: "forced evacuate",
    happens: async (matrix, begin) => {
      await begin();
      await matrix.harness.world.runUntil(() => matrix.harness.instance(VM).host === "devstack2");
      const lift = conflicts(matrix, "agent-devstack1");
      await matrix.revive();
      lift();
    },
    leaks: { I: { devstack1: OLD, devstack2: OLD }, M: {} },
    repaired: { I: { devstack2: OLD }, M: {} },
  },
  {
    row: "instance without allocation, the destination failed after the source had cleaned up",
    flow: "forced evacuate",
    happens: async (matrix, begin) => {
      const { harness } = matrix;
      let reached = false;
      let goOn: () => void = () => {};
      matrix.onStep = async (_, point) => {
        if (point !== "agent.evacuate_instance.spawn") {
          return;
        }
        reached = true;
        await new Promise<void>((resolve) => {
          goOn = resolve;
        });
      };
      await begin();
      await harness.world.runUntil(() => reached);
      await matrix.revive();
      matrix.onDriver = (host) => (host === "devstack2" ? new Error("the hypervisor is broken") : undefined);
      goOn();
      await harness.world.advance(30_000);
      matrix.onDriver = () => undefined;
    },
    leaks: { I: {}, M: {} },
    breaks: ["V2", "V18"],
    repaired: { I: { devstack1: OLD }, M: {} },
  },
];

async function outcomeOf(leak: Leak, upstream: boolean): Promise<MatrixHarness> {
  const flow = FLOWS.find(({ name }) => name === leak.flow);
  if (!flow) {
    throw new Error(`no flow ${leak.flow}`);
  }
  const matrix = await MatrixHarness.create({ ...flow.harness, upstream, breaks: upstream ? (leak.breaks ?? []) : [] });
  await leak.happens(matrix, await flow.prepare(matrix));
  await matrix.harness.world.advance(20 * 60_000);
  return matrix;
}

async function held({ harness }: MatrixHarness): Promise<Held> {
  const byHost = async (consumer: string) =>
    Object.fromEntries(
      Object.entries(await harness.held(consumer)).map(([uuid, amounts]) => [
        harness.store.computeNodes.getByUuid(uuid)?.host ?? uuid,
        amounts,
      ]),
    );
  const migration = harness.store.migrations.byFilters({ instanceUuid: VM, readDeleted: true }).at(-1);
  return { I: await byHost(VM), ...(migration ? { M: await byHost(migration.uuid) } : {}) };
}

describe.each(LEAKS)("9.3 $row", (leak) => {
  test("upstream: exactly that leak", async () => {
    expect(await held(await outcomeOf(leak, true))).toEqual(leak.leaks);
  });

  test("with reconcile_allocations = repair: none", async () => {
    expect(await held(await outcomeOf(leak, false))).toEqual(leak.repaired);
  });
});

test("9.3 an orphan provider after service delete: upstream leaves it with its allocations", async () => {
  const [leak] = LEAKS;
  if (!leak) {
    throw new Error("no leaks");
  }
  const matrix = await outcomeOf(leak, true);
  const { harness, controlPlane } = matrix;
  const { d } = nodes(matrix);
  matrix.kill("devstack1");
  controlPlane.settings.serviceDeletePolicy = "upstream";
  const service = harness.store.services.getByHost("devstack1", "nova-compute");
  const deleted = controlPlane.ask("DELETE", `/os-services/${service?.uuid}`);
  await harness.world.runUntil(deleted);
  expect(harness.store.services.getByHost("devstack1", "nova-compute")).toBeNull();
  expect(await harness.providers()).toContain("devstack1");
  expect(await harness.held(VM)).toEqual({ [d.uuid]: NEW });
});

test("9.3 I has allocations on H if Placement was down at a local delete, until the tracker of H finds I deleted", async () => {
  for (const upstream of [true, false]) {
    const matrix = await MatrixHarness.create({ upstream });
    const { harness } = matrix;
    const begin = await FLOWS.find(({ name }) => name === "delete")?.prepare(matrix);
    matrix.kill("devstack1");
    const service = harness.store.services.getByHost("devstack1", "nova-compute");
    if (service) {
      harness.store.services.update(service.id, { forcedDown: true });
    }
    const lift = harness.world.network.inject({
      fault: { kind: "refuse" },
      match: ({ from }) => from === CONTROL_PLANE,
    });
    await begin?.();
    await harness.world.advance(30_000);
    lift();
    expect(harness.store.instances.get(VM)).toBeNull();
    expect(await held(matrix)).toEqual({ I: { devstack1: OLD } });
    await matrix.revive();
    await harness.world.advance(5 * 60_000);
    expect(await held(matrix)).toEqual({ I: {} });
  }
});
