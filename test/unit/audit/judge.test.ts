import { beforeEach, describe, expect, it } from "vitest";
import { AuditWorld, NEED } from "./audit-world.js";

describe("what the audit calls wrong", () => {
  let world: AuditWorld;
  let one: string;
  let two: string;

  beforeEach(async () => {
    world = await AuditWorld.open();
    one = await world.host("one");
    two = await world.host("two");
    await world.healthy("one", "vm0");
  });

  it("is nothing, where all is as it should be", async () => {
    expect(await world.found()).toEqual([]);
  });

  it("seed 001: a server evacuated from a host that is down still holds it", async () => {
    const vm = world.server("two", "vm1");
    world.migration(vm, "evacuation", "done", ["one", "two"]);
    await world.allocate(vm.uuid, { [one]: NEED, [two]: NEED });
    await world.settle();
    world.reportAll("one");
    expect(await world.found()).toEqual(["unfinished-evacuation vm1"]);
    world.reportAll();
    const { findings } = await world.audit();
    expect(findings[0]?.left).toMatch(/host one is up/);
  });

  it("an orphaned consumer", async () => {
    await world.allocate(world.uuid(), { [one]: NEED });
    expect(await world.found()).toEqual([expect.stringMatching(/^orphaned-consumer /)]);
  });
});
