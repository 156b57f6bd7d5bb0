import { beforeEach, describe, expect, test } from "vitest";
import { type Outcome, recordedOutcome, withoutIds } from "../../../fixtures/golden-manage.js";
import { NEED } from "../../../unit/control-plane/conductor/tasks/bench.js";
import { ManageBench } from "../../../unit/control-plane/manage/bench.js";

let bench: ManageBench;
let d1: string;

beforeEach(async () => {
  bench = await ManageBench.open();
  d1 = await bench.host("devstack1");
  await bench.host("devstack2");
});

function expectRecorded(name: string, outcome: Outcome): void {
  const ours = {
    ...outcome,
    stdout: outcome.stdout.replace('"project_id": "project"', PROJECT).replace('"user"', USER),
  };
  expect(withoutIds(ours)).toEqual(recordedOutcome(name));
}
const PROJECT = '"project_id": "f7714ea72def4a1a9cbc6d78bcbb926e"';
const USER = '"c2def5993d904a4680d8483057c5be21"';

const UNKNOWN_CONSUMER = "deadbeef-0000-4000-8000-000000000001";

/** Creates VCPU allocations of an unknown consumer on one host, and the leftover of an evacuation on the other. */
async function orphans(): Promise<void> {
  await bench.put(UNKNOWN_CONSUMER, { devstack1: { VCPU: 2 } });
  await bench.host("devstack3");
  await bench.evacuated("devstack2", "devstack3");
}

describe("heal_allocations prints and returns the same as the recorded nova-manage", () => {
  test("heal-dry-run", async () => {
    const { uuid } = await bench.server("devstack2");
    await bench.unset(uuid);
    expectRecorded("heal-dry-run", await bench.heal({ instance: uuid, dryRun: true }));
    expect(await bench.held(uuid)).toEqual({});
  });

  test.each(["heal-verbose", "heal-after-unset"])("%s", async (name) => {
    const { uuid } = await bench.server("devstack2");
    await bench.unset(uuid);
    expectRecorded(name, await bench.heal({ instance: uuid }));
    expect(await bench.held(uuid)).toEqual({ devstack2: NEED });
  });

  test("heal-nothing-to-do", async () => {
    const { uuid } = await bench.server("devstack2");
    expectRecorded("heal-nothing-to-do", await bench.heal({ instance: uuid }));
  });

  test("heal-all", async () => {
    await bench.server("devstack2");
    expectRecorded("heal-all", await bench.heal());
  });

  test("heal-with-residual", async () => {
    const { uuid } = await bench.evacuated("devstack1", "devstack2");
    expectRecorded("heal-with-residual", await bench.heal({ instance: uuid }));
    expect(await bench.held(uuid)).toEqual({ devstack1: NEED, devstack2: NEED });
  });
});

describe("audit prints and returns the same as the recorded nova-manage", () => {
  test.each(["audit-clean", "audit-after-return"])("%s", async (name) => {
    await bench.server("devstack2");
    expectRecorded(name, await bench.audit());
  });

  test("audit-residual: the provider was deleted with its service", async () => {
    const { uuid } = await bench.evacuated("devstack1", "devstack2");
    await bench.put(uuid, { devstack2: NEED });
    await bench.placement.ask("DELETE", `/resource_providers/${d1}`);
    expectRecorded("audit-residual", await bench.audit());
  });

  test("audit-residual-evacuated", async () => {
    await bench.evacuated("devstack1", "devstack2");
    expectRecorded("audit-residual-evacuated", await bench.audit());
  });

  test("audit-residual-delete", async () => {
    const { uuid } = await bench.evacuated("devstack1", "devstack2");
    expectRecorded("audit-residual-delete", await bench.audit({ delete: true }));
    expect(await bench.held(uuid)).toEqual({ devstack2: NEED });
  });

  test("audit-orphan", async () => {
    await orphans();
    expectRecorded("audit-orphan", await bench.audit());
  });

  test("audit-orphan-terse", async () => {
    await orphans();
    expectRecorded("audit-orphan-terse", await bench.audit({ verbose: false }));
  });

  test("audit-orphan-rp", async () => {
    await orphans();
    expectRecorded("audit-orphan-rp", await bench.audit({ resourceProvider: d1 }));
  });

  test("audit-orphan-delete", async () => {
    await orphans();
    expectRecorded("audit-orphan-delete", await bench.audit({ delete: true }));
    expect(await bench.held(UNKNOWN_CONSUMER)).toEqual({});
    expect((await bench.audit()).rc).toBe(0);
  });
});
