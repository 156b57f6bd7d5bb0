import { beforeEach, describe, expect, test } from "vitest";
import {
  SERVICE_DELETE_POLICIES,
  type ServiceDeletePolicy,
} from "../../../../src/control-plane/conductor/service-delete.js";
import type { MigrationStatus, MigrationType } from "../../../../src/records/index.js";
import { ServiceDeleteBench } from "./service-delete-bench.js";

let bench: ServiceDeleteBench;
beforeEach(async () => {
  bench = await ServiceDeleteBench.open();
});

type Outcome = "hosting" | "moving" | "in use" | "unsettled" | "deleted" | "orphaned";

interface Residue {
  readonly row: number;
  readonly name: string;
  /** Returns the consumers with allocations on the provider. */
  readonly prepare: () => Promise<readonly string[]>;
  /** Outcome by policy. `forced` is strict with `?force=true`, which the other policies ignore. */
  readonly strict: Outcome;
  readonly forced: Outcome;
  readonly cascade: Outcome;
  readonly upstream: Outcome;
}

const always = (outcome: Outcome) => ({ strict: outcome, forced: outcome, cascade: outcome, upstream: outcome });

function byMigration(type: MigrationType, status: MigrationStatus) {
  return async (): Promise<readonly string[]> => {
    const { m } = await bench.moved(type, status);
    await bench.claim(m, bench.s);
    return [m];
  };
}
function byInstance(type: MigrationType, status: MigrationStatus) {
  return async (): Promise<readonly string[]> => {
    const { i } = await bench.moved(type, status);
    await bench.claim(i, bench.s);
    return [i];
  };
}

const LEFTOVER = { strict: "in use", forced: "deleted", cascade: "deleted", upstream: "orphaned" } as const;
const WAITING = { strict: "moving", forced: "deleted", cascade: "deleted", upstream: "moving" } as const;

const RESIDUES: readonly Residue[] = [
  {
    row: 1,
    name: "an instance on the host",
    prepare: async () => [(await bench.conductor.server("devstack1", "error")).uuid],
    ...always("hosting"),
  },
  ...(["migration", "resize"] as const).flatMap((type) => [
    ...(["finished", "confirming"] as const).map((status) => ({
      row: 2,
      name: `a ${type} that is ${status}`,
      prepare: byMigration(type, status),
      ...WAITING,
    })),
    ...(["post-migrating", "reverting"] as const).map((status) => ({
      row: 2,
      name: `a ${type} that is ${status}, which somebody works on`,
      prepare: byMigration(type, status),
      ...always("moving"),
    })),
  ]),
  {
    row: 2,
    name: "a live migration that runs",
    prepare: byMigration("live-migration", "running"),
    ...always("moving"),
  },
  { row: 3, name: "an evacuation that is done", prepare: byInstance("evacuation", "done"), ...always("deleted") },
  ...(["accepted", "pre-migrating"] as const).map((status) => ({
    row: 4,
    name: `an evacuation that is ${status}`,
    prepare: byInstance("evacuation", status),
    ...always("moving"),
  })),
  ...(["migration", "resize", "live-migration"] as const).map((type) => ({
    row: 5,
    name: `what a ${type} in error holds`,
    prepare: byMigration(type, "error"),
    ...LEFTOVER,
  })),
  { row: 5, name: "what a confirmed migration leaked", prepare: byMigration("migration", "confirmed"), ...LEFTOVER },
  ...(["error", "failed"] as const).map((status) => ({
    row: 5,
    name: `the leftover of an evacuation in status ${status}`,
    prepare: byInstance("evacuation", status),
    ...LEFTOVER,
  })),
  {
    row: 5,
    name: "an archived instance",
    prepare: async () => {
      const { uuid } = await bench.conductor.server("devstack1");
      bench.store.instances.destroy(uuid);
      return [uuid];
    },
    ...LEFTOVER,
  },
  {
    row: 5,
    name: "two foreign consumers, one of them elsewhere too",
    prepare: async () => {
      const consumers = ["f0000000-0000-4000-8000-000000000001", "f0000000-0000-4000-8000-000000000002"];
      await bench.claim(consumers[0] ?? "", bench.s);
      await bench.claim(consumers[1] ?? "", bench.s, bench.d);
      return consumers;
    },
    ...LEFTOVER,
  },
  {
    row: 6,
    name: "Placement down",
    prepare: async () => {
      bench.placement.inject({ on: "*", does: "refuse", times: 100 });
      return [];
    },
    strict: "unsettled",
    forced: "unsettled",
    cascade: "unsettled",
    upstream: "orphaned",
  },
];

const REJECTION_PATTERNS: Readonly<Record<Exclude<Outcome, "deleted" | "orphaned">, RegExp>> = {
  hosting: /^Unable to delete compute service that is hosting instances\. Migrate or delete the instances first\.$/,
  moving: /^Unable to delete compute service that has in-progress migrations\. Complete the migrations or delete /,
  "in use": /^Unable to delete compute service whose resource providers are in use: /,
  unsettled: /^Unable to delete compute service: .* could not be settled with Placement .* Try again\.$/,
};

const CASES = RESIDUES.flatMap((residue) =>
  SERVICE_DELETE_POLICIES.flatMap((policy) =>
    [false, true].map((force) => {
      const outcome = policy === "strict" && force ? residue.forced : residue[policy];
      return { ...residue, policy, force, outcome, title: title(residue, policy, force) };
    }),
  ),
);

function title({ row, name }: Residue, policy: ServiceDeletePolicy, force: boolean): string {
  return `7.2 row ${row} ${policy}${force ? " with force" : ""}: ${name}`;
}

describe("7.2 rows 1-6: who has allocations on a provider, and the outcome by policy", () => {
  test.each(CASES)("$title: $outcome", async ({ prepare, policy, force, outcome }) => {
    const consumers = await prepare();
    const heldBefore = async () => Promise.all(consumers.map((consumer) => bench.held(consumer)));
    const before = await heldBefore();
    const error = await bench.remove(policy, force).catch((thrown: Error) => thrown);
    bench.placement.heal();

    const deleted = outcome === "deleted";
    expect(bench.serviceIsGone).toBe(deleted || outcome === "orphaned");
    expect(await bench.providers()).toEqual(deleted ? ["devstack2"] : ["devstack1", "devstack2"]);
    const elsewhere = before.map((providers) => providers.filter((uuid) => uuid !== bench.s));
    expect(await heldBefore()).toEqual(deleted ? elsewhere : before);
    if (outcome === "orphaned") {
      return expectConsumersReported(consumers);
    }
    if (outcome === "deleted") {
      return expect(error).toBeUndefined();
    }
    expect(error).toMatchObject({ status: 409 });
    expect((error as Error).message).toMatch(REJECTION_PATTERNS[outcome]);
    if (outcome === "in use") {
      expect((error as Error).message).toContain(JSON.stringify({ provider_uuid: bench.s, consumers }));
    }
  });
});

function expectConsumersReported(consumers: readonly string[]): void {
  const reports = bench.placement.logs.filter(
    ({ message }) => message === "resource provider of a deleted service remains in Placement",
  );
  expect(
    reports.map(({ level, fields }) => ({ level, provider: fields?.provider, consumers: fields?.consumers })),
  ).toEqual([
    {
      level: "error",
      provider: bench.s,
      consumers: consumers.length > 0 ? [...consumers].sort() : "unknown: no response from Placement",
    },
  ]);
}
