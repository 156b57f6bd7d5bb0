import { beforeEach, describe, expect, it } from "vitest";
import { AuditWorld, NEED } from "../../unit/audit/audit-world.js";

describe("what the audit reports, and what it does not", () => {
  let world: AuditWorld;
  let one: string;
  let two: string;

  beforeEach(async () => {
    world = await AuditWorld.open();
    one = await world.host("one");
    two = await world.host("two");
    await world.healthy("one", "vm0");
  });

  /** Returns why there is no edit, by code. */
  const left = async (options = {}): Promise<string[]> =>
    (await world.audit(options)).findings.map((finding) => `${finding.code}: ${finding.left}`);

  const evacuated = async () => {
    const vm = world.server("two", "vm1");
    world.migration(vm, "evacuation", "done", ["one", "two"]);
    await world.allocate(vm.uuid, { [one]: NEED, [two]: NEED });
    return vm;
  };

  it("reports nothing for a consistent cloud", async () => {
    expect(await world.found()).toEqual([]);
  });

  it("an evacuated server with allocations on its old host, edited only while that host is down", async () => {
    await evacuated();
    await world.settle();
    world.reportAll("one");
    expect(await left()).toEqual(["unfinished-evacuation: null"]);
    world.reportAll();
    expect(await left()).toEqual([expect.stringMatching(/unfinished-evacuation: host one is up, .* restart/)]);
  });

  it("7.2 residue: a server that was evacuated from a host whose service is deleted", async () => {
    await evacuated();
    await world.settle();
    world.reportAll();
    world.api.store.services.destroy(world.api.store.services.getByHost("one", "nova-compute")?.id ?? 0);
    world.api.store.instances.destroy(world.api.store.instances.byHost("one")[0]?.uuid ?? "");
    const { findings, plan } = await world.audit();
    expect(findings.map(({ code, left: why }) => [code, why])).toEqual([
      ["provider-without-node", expect.stringMatching(/it has allocations that cannot be removed/)],
      ["unfinished-evacuation", null],
    ]);
    expect(plan.edits).toHaveLength(1);
  });

  it("nothing of a migration that has changed within the last minute", async () => {
    await evacuated();
    expect(await world.found()).toEqual([]);
  });

  it("nothing of a server that ended its move less than a minute ago", async () => {
    const vm = await world.healthy("two", "vm1");
    await world.allocate(vm.uuid, { [two]: { ...NEED, VCPU: 2 } });
    world.migration(vm, "live-migration", "completed", ["one", "two"]);
    await world.api.world.advance(59_000);
    expect(await world.found()).toEqual([]);
    await world.api.world.advance(2_000);
    expect(await world.found()).toEqual(["wrong-amounts vm1"]);
  });

  it("a migration without progress for minutes", async () => {
    const vm = await world.healthy("one", "vm1");
    world.migration(vm, "evacuation", "accepted", ["one", "two"]);
    expect(await world.found()).toEqual([]);
    await world.settle();
    expect(await left()).toEqual([
      "unfinished-evacuation: restart nova-compute on one and two, and run the audit again",
    ]);
  });
  describe("the second read clears", () => {
    /** Runs the change once, when the first read has just finished with the providers. */
    const meanwhile = (change: () => void | Promise<void>): void => {
      let done = false;
      world.meddle = async (method, path) => {
        if (done || method !== "GET" || !path.startsWith("/placement/usages")) {
          return undefined;
        }
        done = true;
        await change();
        return undefined;
      };
    };

    it("a server that was created after servers were listed", async () => {
      const uuid = world.uuid();
      let listed = false;
      world.meddle = async (_method, path) => {
        if (path.startsWith("/compute/v2.1/servers/detail")) {
          listed = true;
        } else if (listed && path.startsWith(`/placement/resource_providers/${two}/allocations`)) {
          listed = false;
          world.meddle = () => undefined;
          const changes = { uuid, vmState: "building", taskState: "scheduling" } as const;
          await world.api.world.advance(1);
          world.server(null, "new", changes);
          await world.allocate(uuid, { [two]: NEED });
        }
        return undefined;
      };
      expect(await world.found()).toEqual([]);
      expect(await world.found()).toEqual([]);
    });

    it("a server that was deleted in between", async () => {
      const vm = await world.healthy("two", "vm1");
      await world.allocate(vm.uuid, { [two]: { ...NEED, VCPU: 2 } });
      meanwhile(async () => {
        await world.allocate(vm.uuid, {});
        world.api.store.instances.destroy(vm.uuid);
      });
      expect(await world.found()).toEqual([]);
    });

    it("a server that began to move", async () => {
      const vm = world.server("two", "vm1");
      meanwhile(() => void world.api.store.instances.save(vm.uuid, { taskState: "migrating" }));
      expect(await world.found()).toEqual([]);
    });
  });
});
