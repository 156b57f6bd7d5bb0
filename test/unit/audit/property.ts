import fc from "fast-check";
import { expect } from "vitest";
import { applyPlan } from "../../../src/audit/plan/apply-plan.js";
import type { Plan } from "../../../src/audit/plan/plan.js";
import type { SomePlacement } from "./audit-world.js";
import { FAULTS, HEALTHY, type Planted, PlantedWorld } from "./planted-world.js";

/** The faults and healthy objects to create, in order. */
export const planting = fc.record({
  faults: fc.array(fc.constantFrom(...Object.keys(FAULTS)), { maxLength: 8 }),
  healthy: fc.array(fc.constantFrom(...Object.keys(HEALTHY)), { maxLength: 10 }),
});

type Planting = typeof planting extends fc.Arbitrary<infer T> ? T : never;

/** Creates faults among healthy objects and verifies the audit, its plan, the plan's application and its undoing. */
export async function holds({ faults, healthy }: Planting, placement?: SomePlacement): Promise<void> {
  const at = await PlantedWorld.open(placement);
  const { world } = at;
  const planted: Planted[] = [];
  for (const name of healthy) {
    await HEALTHY[name]?.(at);
  }
  for (const name of faults) {
    const fault = await FAULTS[name]?.(at);
    if (fault) {
      planted.push(fault);
    }
  }
  await at.ready();
  const before = await world.everything();
  const { findings, plan } = await world.audit();
  const found = findings.map(({ code, subject }) => `${code} ${subject.uuid}`);
  expect(found.toSorted()).toEqual(planted.flatMap(({ expected }) => expected).toSorted());
  expect(findings.filter(({ left }) => left !== null)).toEqual([]);
  const faulty = new Set(planted.flatMap(({ consumers }) => consumers));
  expect(touched(plan).filter((uuid) => !faulty.has(uuid))).toEqual([]);
  expect(await world.everything()).toEqual(before);

  const cloud = await world.cloud();
  const done = await applyPlan(cloud, plan, { undo: false });
  expect(done.filter(({ outcome }) => outcome.state !== "done")).toEqual([]);
  expect(await world.found()).toEqual([]);
  const repaired = await world.everything();
  const again = await applyPlan(cloud, plan, { undo: false });
  expect(again.filter(({ outcome }) => outcome.state !== "already")).toEqual([]);
  expect(await world.everything()).toEqual(repaired);

  const undone = await applyPlan(cloud, plan, { undo: true });
  expect(undone.filter(({ outcome }) => outcome.state !== "done")).toEqual([]);
  expect(await world.everything()).toEqual(before);
  const undoneAgain = await applyPlan(cloud, plan, { undo: true });
  expect(undoneAgain.filter(({ outcome }) => outcome.state !== "already")).toEqual([]);
}

function touched({ edits }: Plan): string[] {
  return edits.flatMap(({ action }) => (action.kind === "allocations" ? action.consumers.map(({ uuid }) => uuid) : []));
}
