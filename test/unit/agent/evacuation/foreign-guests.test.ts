import { describe, expect, test } from "vitest";
import { countForeignGuests } from "../../../../src/agent/evacuation/hypervisor-guests.js";
import { type Instance, MIGRATION_STATUSES } from "../../../../src/records/index.js";
import { VirtDriverNotReady } from "../../../../src/virt/errors.js";
import { anInstance } from "../../../fixtures/records.js";
import type { StageOptions } from "../support/flow-stage.js";
import { StartStage } from "../support/start-stage.js";

describe("2.4 G13 guests that are not this host's", () => {
  const count = async (stage: StartStage, gone: readonly string[] = [], loaded: readonly Instance[] = []) => {
    await countForeignGuests(stage.services, new Set(gone), loaded);
    return stage.did.filter(([call]) => call.startsWith("metrics.")).map(([call, amount]) => [call.slice(8), amount]);
  };
  const guests = (instance: StageOptions["instance"], others: StageOptions["others"] = [], uuids = ["vm"]) => {
    const stage = new StartStage({ instance, others });
    stage.replies["driver.listInstanceUuids"] = uuids;
    return stage;
  };
  const counted = (all: number, foreign: number, orphans: number) => [
    ["guests", all],
    ["foreignGuests", foreign],
    ["orphanGuests", orphans],
  ];

  test.each<[string, StageOptions["instance"], readonly string[], number]>([
    ["its own", {}, [], 0],
    ["another host's", { host: "there" }, [], 1],
    ["another host's, deleted", { host: "there", deleted: 1 }, [], 0],
    ["one whose evacuation is known", { host: "there" }, ["vm"], 0],
  ])("%s", async (_, instance, gone, foreign) => {
    const stage = guests(instance);
    stage.replies.instances_by_filters = [stage.instance];
    expect(await count(stage, gone)).toEqual(counted(1, foreign, 0));
    expect(stage.logged("belongs to another host")).toBe(foreign);
  });

  test("one that is on its way is not counted", async () => {
    const stage = guests({ host: "there" }, [{ status: "running" }]);
    expect(await count(stage)).toEqual(counted(1, 0, 0));
    const [request] = stage.argumentsOf("migrations_by_filters");
    const statuses = MIGRATION_STATUSES.slice(0, MIGRATION_STATUSES.indexOf("confirmed"));
    expect(request).toEqual([{ filters: { host: "here", statuses: [...statuses, "reverting"] } }]);
  });

  test("of the host's own at rest nobody is asked; one that something is under way with may be elsewhere by now", async () => {
    const own = (uuid: string, more: Partial<Instance> = {}) => anInstance({ uuid, host: "here", ...more });
    const loaded = [own("rests"), own("moves", { taskState: "migrating" }), own("elsewhere", { host: "there" })];
    const stage = guests({}, [], ["rests", "moves", "elsewhere", "nobody"]);
    const found = [own("moves", { host: "there" }), own("elsewhere")];
    stage.replies.instances_by_filters = found;
    expect(await count(stage, [], loaded)).toEqual(counted(4, 1, 1));
    expect(stage.argumentsOf("instances_by_filters")).toEqual([
      [{ filters: { uuids: ["moves", "elsewhere", "nobody"] } }],
    ]);
    const settled = guests({}, [], ["rests"]);
    expect(await count(settled, [], loaded)).toEqual(counted(1, 0, 0));
    expect(settled.argumentsOf("instances_by_filters")).toEqual([]);
  });

  test("one that no instance is known for is an orphan", async () => {
    const stage = guests({ host: "there" }, [], ["vm", "nobody"]);
    expect(await count(stage)).toEqual(counted(2, 1, 1));
  });

  test("no guests need no questions; a hypervisor that is not ready is not counted", async () => {
    const empty = guests({}, [], []);
    expect(await count(empty)).toEqual(counted(0, 0, 0));
    expect(empty.argumentsOf("instances_by_filters")).toEqual([]);
    const away = guests({});
    away.replies["driver.listInstanceUuids"] = new VirtDriverNotReady("booting");
    expect(await count(away)).toEqual([]);
    away.replies["driver.listInstanceUuids"] = new Error("broken");
    await expect(count(away)).rejects.toThrow("broken");
  });
});
