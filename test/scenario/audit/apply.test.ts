import { beforeEach, describe, expect, it } from "vitest";
import { applyPlan } from "../../../src/audit/plan/apply-plan.js";
import { type Edit, onlyOf, type Plan, subjectsOf } from "../../../src/audit/plan/plan.js";
import { readPlan, writePlan } from "../../../src/audit/plan/plan-file.js";
import { HttpConnectFailure } from "../../../src/runtime/http.js";
import { VirtualWorld } from "../../../src/simulation/virtual-world.js";
import { NEED } from "../../unit/audit/audit-world.js";
import { FAULTS, PlantedWorld } from "../../unit/audit/planted-world.js";

describe("applying a plan", () => {
  let at: PlantedWorld;
  let plan: Plan;

  beforeEach(async () => {
    at = await PlantedWorld.open();
    for (const plant of Object.values(FAULTS)) {
      await plant(at);
    }
    await at.ready();
    ({ plan } = await at.world.audit());
  });

  const run = async (undo = false) => applyPlan(await at.world.cloud(), plan, { undo });

  it("rejects a line whose consumer has changed since the audit, and applies the others", async () => {
    const orphan = plan.edits.findIndex(({ findings }) => findings.includes("orphaned-consumer"));
    const { action } = plan.edits[orphan] ?? {};
    const uuid = action?.kind === "allocations" ? (action.consumers[0]?.uuid ?? "") : "";
    await at.world.allocate(uuid, { [at.node("one")]: NEED });
    const lines = await run();
    expect(lines.map(({ outcome }) => outcome.state)).toEqual(
      plan.edits.map((_, index) => (index === orphan ? "refused" : "done")),
    );
    expect(lines[orphan]?.outcome).toMatchObject({ why: expect.stringMatching(/expected generation 1, found 2/) });
    expect(await at.world.consumers([uuid])).toMatchObject({ [uuid]: { held: { [at.node("one")]: NEED } } });
  });

  it("applies and undoes only the chosen objects, and rejects objects that the plan does not change", async () => {
    const cloud = await at.world.cloud();
    const chosen = plan.edits.filter(({ findings }) => findings.includes("orphaned-consumer"));
    const uuids = chosen.flatMap(({ action }) => subjectsOf(action));
    const part = onlyOf(plan, uuids);
    expect([part.edits, part.edits.length < plan.edits.length]).toEqual([chosen, true]);
    const done = await applyPlan(cloud, part, { undo: false });
    expect(done.map(({ outcome }) => outcome.state)).toEqual(chosen.map(() => "done"));
    expect((await at.world.audit()).plan.edits).toHaveLength(plan.edits.length - chosen.length);
    await applyPlan(cloud, part, { undo: true });
    expect((await at.world.audit()).plan.edits).toHaveLength(plan.edits.length);
    expect(() => onlyOf(plan, [...uuids, "nobody"])).toThrow(expect.objectContaining({ code: "NotInPlan" }));
    expect(() => onlyOf(plan, ["nobody"])).toThrow(/changes no consumer, provider, port, volume or attachment nobody;/);
  });

  it("selects an edit by the object that it changes", () => {
    const found = plan.edits.map(({ action }) => onlyOf(plan, subjectsOf(action)).edits);
    expect(found.map((edits, index) => edits.includes(plan.edits[index] as Edit))).toEqual(plan.edits.map(() => true));
  });

  it("rejects undoing a change whose object has changed since", async () => {
    await run();
    const owner = plan.edits.findIndex(({ findings }) => findings.includes("wrong-owner"));
    const { action } = plan.edits[owner] ?? {};
    const change = action?.kind === "allocations" ? action.consumers[0] : undefined;
    await at.world.allocate(change?.uuid ?? "", change?.after.allocations ?? {});
    const lines = (await run(true)).toReversed();
    expect(lines.filter(({ outcome }) => outcome.state === "refused").map(({ edit }) => edit)).toEqual([
      plan.edits[owner],
    ]);
  });

  it("rejects a change of a provider that has changed since the audit", async () => {
    const stale = plan.edits.findIndex(({ action }) => action.kind === "set-inventories");
    const { action } = plan.edits[stale] ?? {};
    const uuid = action?.kind === "set-inventories" ? action.uuid : "";
    const { generation } = await at.world.ask("GET", `/resource_providers/${uuid}`);
    await at.world.ask("PUT", `/resource_providers/${uuid}/traits`, {
      resource_provider_generation: generation,
      traits: ["COMPUTE_NODE", "COMPUTE_STATUS_DISABLED"],
    });
    const rejectedEdits = (await run()).filter(({ outcome }) => outcome.state === "refused");
    expect(rejectedEdits).toMatchObject([
      { edit: plan.edits[stale], outcome: { why: expect.stringMatching(/changed since/) } },
    ]);
  });

  it.each([
    { undo: false, sent: false },
    { undo: false, sent: true },
    { undo: true, sent: false },
    { undo: true, sent: true },
  ])("goes on where it was killed, at any write ($undo, the write was sent: $sent)", async ({ undo, sent }) => {
    if (undo) {
      await run();
    }
    const before = await at.world.everything();
    let writes = 0;
    let doomed = 0;
    at.world.meddle = (method, path) => {
      if (method === "GET" || !path.startsWith("/placement")) {
        return undefined;
      }
      writes += 1;
      if (writes !== doomed) {
        return undefined;
      }
      if (sent) {
        return "lose";
      }
      throw new HttpConnectFailure(path, "ECONNREFUSED");
    };
    let deaths = 0;
    for (doomed = 1; ; doomed += 1) {
      writes = 0;
      try {
        // Completed writes remain, so each run gets one write further.
        const lines = await run(undo);
        expect(lines.filter(({ outcome }) => outcome.state === "refused")).toEqual([]);
        break;
      } catch {
        deaths += 1;
        doomed = 1;
      }
    }
    expect(deaths).toBeGreaterThan(10);
    expect(await at.world.everything()).not.toEqual(before);
    at.world.meddle = () => undefined;
    if (undo) {
      expect((await at.world.audit()).plan.edits).toHaveLength(plan.edits.length);
    } else {
      expect(await at.world.found()).toEqual([]);
    }
  });
});

describe("the plan's file", () => {
  const { files } = new VirtualWorld().spawn({ name: "client" });

  it("is readable only by its owner, and is read back as written", async () => {
    const at = await PlantedWorld.open();
    for (const plant of Object.values(FAULTS)) {
      await plant(at);
    }
    await at.ready();
    const { plan } = await at.world.audit();
    await writePlan(files, "/plan.json", plan);
    expect((await files.stat("/plan.json"))?.mode).toBe(0o600);
    expect(await readPlan(files, "/plan.json", "devstack")).toEqual(plan);
    await expect(readPlan(files, "/plan.json", "other")).rejects.toThrow(/made for cloud devstack, and this is other/);
  });

  it.each([
    [undefined, /there is no such file/],
    ["{", /not JSON/],
    ["[]", /not a plan of audit --plan: the file must be object/],
    ['{"version":2,"cloud":"x","edits":[]}', /\/version must be equal to constant/],
    [
      '{"version":1,"cloud":"x","edits":[{"findings":[],"reason":"","action":{"kind":"format-disk"},"inverse":{}}]}',
      /\/edits\/0\/action value of tag "kind" must be in oneOf/,
    ],
  ])("says what is wrong with %j", async (text, message) => {
    await files.remove("/bad.json");
    if (text !== undefined) {
      await files.write("/bad.json", text);
    }
    await expect(readPlan(files, "/bad.json", "x")).rejects.toThrow(message);
    await expect(readPlan(files, "/bad.json", "x")).rejects.toMatchObject({ code: "PlanUnreadable" });
  });
});
