import { beforeEach, describe, expect, it } from "vitest";
import { AuditWorld, inventory, NEED } from "../../unit/audit/audit-world.js";
import { RESOURCES } from "../../unit/control-plane/compute/api-world.js";

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

  it("an inventory that has shrunk below its use, and says what to do", async () => {
    const tight = await world.host("tight", { inventories: { VCPU: inventory(1000), MEMORY_MB: inventory(800_000) } });
    const vm = world.server("tight", "vm1", { imageRef: "" });
    await world.allocate(vm.uuid, { [tight]: { VCPU: 1, MEMORY_MB: 512 } });
    const { generation } = await world.ask("GET", `/resource_providers/${tight}`);
    const body = { resource_provider_generation: generation, ...inventory(1000, { reserved: 1000 }) };
    await world.ask("PUT", `/resource_providers/${tight}/inventories/VCPU`, body);
    expect(await left()).toEqual([expect.stringMatching(/^overcommitted-inventory: move servers away/)]);
  });

  it("no Ironic node that is reserved for its server, but one with more allocated than its total", async () => {
    const inventories = { CUSTOM_BAREMETAL: inventory(1) };
    const metal = await world.host("metal", { inventories, type: "ironic" });
    const extraSpecs = { "resources:CUSTOM_BAREMETAL": "1", "resources:VCPU": "0", "resources:MEMORY_MB": "0" };
    const flavor = world.flavor("metal", { extraSpecs: { ...extraSpecs, "resources:DISK_GB": "0" } });
    const vm = world.server("metal", "vm1", { flavor });
    await world.allocate(vm.uuid, { [metal]: { CUSTOM_BAREMETAL: 1 } });
    const change = async (changes: object) => {
      const { generation } = await world.ask("GET", `/resource_providers/${metal}`);
      const body = { resource_provider_generation: generation, ...inventory(1, changes) };
      await world.ask("PUT", `/resource_providers/${metal}/inventories/CUSTOM_BAREMETAL`, body);
    };
    await change({ reserved: 1 });
    expect(await world.found()).toEqual([]);
    await change({ allocation_ratio: 0.5 });
    expect(await world.found()).toEqual(["overcommitted-inventory metal"]);
  });

  it("OA-15: an unconfirmed resize without source allocations, whose old flavor the API does not return", async () => {
    const vm = await world.healthy("two", "vm1", { vmState: "resized" });
    world.migration(vm, "resize", "finished", ["one", "two"]);
    await world.settle();
    expect(await left()).toEqual([expect.stringMatching(/^missing-allocation: its correct allocations/)]);
  });

  it("two compute nodes with the same name: no edit", async () => {
    const other = world.api.store.services.create({
      host: "three",
      binary: "nova-compute",
      topic: "compute",
      version: 73,
    });
    const identity = { host: "three", serviceId: other.id, uuid: world.uuid(), hypervisorHostname: "one" };
    world.api.store.computeNodes.create({ ...identity, resources: RESOURCES });
    const { findings, plan } = await world.audit();
    expect(findings.map(({ code }) => code)).toContain("identity-clash");
    expect(plan.edits).toEqual([]);
  });

  it("a renamed provider whose old name another provider has: no edit, and the provider is named", async () => {
    await world.ask("PUT", `/resource_providers/${one}`, { name: "renamed" });
    const other = world.uuid();
    await world.provider(other, "one", { VCPU: inventory(8), MEMORY_MB: inventory(8192) });
    const { findings, plan } = await world.audit();
    expect(findings.find(({ subject }) => subject.uuid === one)).toMatchObject({
      code: "identity-clash",
      subject: { kind: "node", name: "one" },
      left: expect.stringContaining(`the name belongs to provider ${other}`),
    });
    expect(plan.edits.filter((edit) => edit.findings.includes("identity-clash"))).toEqual([]);
  });

  it("stale totals whose update would exceed the capacity: no edit", async () => {
    await world.ask("PUT", "/resource_classes/CUSTOM_ANY");
    const big = await world.host("big", { inventories: { VCPU: inventory(2000), MEMORY_MB: inventory(800_000) } });
    const vm = world.server("big", "vm1", { imageRef: "", flavor: world.flavor("huge", { vcpus: 1500 }) });
    await world.allocate(vm.uuid, { [big]: { VCPU: 1500, MEMORY_MB: 512 } });
    expect(await left()).toEqual([
      "stale-inventory: with the compute node's totals VCPU would be over-committed; move servers away first",
    ]);
  });

  it("stale totals whose update just covers the allocations: an edit, in which max_unit follows if it equalled the total", async () => {
    await world.ask("PUT", "/resource_classes/CUSTOM_ANY");
    const inventories = { VCPU: inventory(2000), MEMORY_MB: inventory(900_000, { max_unit: 4096 }) };
    const big = await world.host("big", { inventories });
    const vm = world.server("big", "vm1", { imageRef: "", flavor: world.flavor("all", { vcpus: 1000 }) });
    await world.allocate(vm.uuid, { [big]: { VCPU: 1000, MEMORY_MB: 512 } });
    const { plan, findings } = await world.audit();
    expect(findings.map(({ code }) => code)).toEqual(["stale-inventory"]);
    expect(plan.edits).toMatchObject([
      {
        action: {
          kind: "set-inventories",
          uuid: big,
          after: { VCPU: { total: 1000, max_unit: 1000 }, MEMORY_MB: { total: 800_000, max_unit: 4096 } },
        },
      },
    ]);
  });

  it("CPUs of a flavor that isolates its emulator threads: at most one more, of either class", async () => {
    const flavor = world.flavor("isolated", { vcpus: 2, extraSpecs: { "hw:emulator_threads_policy": "isolate" } });
    const inventories = { VCPU: inventory(900), PCPU: inventory(100), MEMORY_MB: inventory(800_000) };
    const host = await world.host("pinned", { inventories });
    const holding = async (name: string, cpus: Readonly<Record<string, number>>): Promise<void> => {
      const vm = world.server("pinned", name, { flavor, imageRef: "" });
      await world.allocate(vm.uuid, { [host]: { ...cpus, MEMORY_MB: 512 } });
    };
    await holding("exact", { VCPU: 2 });
    await holding("one-more", { PCPU: 3 });
    expect(await world.found()).toEqual([]);
    await holding("two-more", { PCPU: 4 });
    await holding("one-less", { PCPU: 1 });
    expect((await world.found()).sort()).toEqual(["wrong-amounts one-less", "wrong-amounts two-more"]);
  });

  it("an amount on two providers: the correct provider cannot be determined", async () => {
    const storage = world.uuid();
    const aggregates = ["a0000000-0000-4000-8000-000000000001"];
    const traits = ["MISC_SHARES_VIA_AGGREGATE"];
    await world.provider(storage, "storage", { DISK_GB: inventory(9) }, { traits, aggregates });
    const { generation } = await world.ask("GET", `/resource_providers/${one}`);
    const body = { resource_provider_generation: generation, aggregates };
    await world.ask("PUT", `/resource_providers/${one}/aggregates`, body);
    const vm = world.server("one", "vm1");
    await world.allocate(vm.uuid, { [one]: { ...NEED, DISK_GB: 2 }, [storage]: { DISK_GB: 1 } });
    expect(await left()).toEqual([expect.stringMatching(/^wrong-amounts: the correct provider cannot be determined/)]);
  });

  it("an unconfirmed resize on one host: a sum of two flavors is not reported, unless the migration owns the old one", async () => {
    const vm = world.server("one", "vm1", { vmState: "resized" });
    await world.allocate(vm.uuid, { [one]: { ...NEED, VCPU: 3 } });
    const { uuid } = world.migration(vm, "resize", "finished", ["one", "one"]);
    await world.settle();
    world.reportAll();
    expect(await world.found()).toEqual([]);
    await world.allocate(uuid, { [one]: NEED });
    expect(await world.found()).toEqual(["wrong-amounts vm1"]);
  });

  it("allocations of a migration for another project, with its type and number", async () => {
    const vm = await world.healthy("two", "vm1", { vmState: "resized" });
    const move = world.migration(vm, "resize", "finished", ["one", "two"]);
    await world.allocate(move.uuid, { [one]: NEED }, { project: "other" });
    await world.settle();
    world.reportAll();
    expect(await world.found()).toEqual([`wrong-owner resize ${move.id}`]);
  });

  it("a consumer of type MIGRATION without a migration is orphaned, like one without a type", async () => {
    const uuid = world.uuid();
    await world.allocate(uuid, { [one]: NEED }, { type: "MIGRATION" });
    const { findings } = await world.audit();
    expect(findings).toMatchObject([{ code: "orphaned-consumer", subject: { kind: "consumer", uuid, name: "" } }]);
  });

  describe("a consumer that Nova does not know is not called orphaned", () => {
    const orphan = async (held: Parameters<AuditWorld["allocate"]>[1], type?: string): Promise<void> =>
      world.allocate(world.uuid(), held, type === undefined ? {} : { type });

    it("where the host was renamed", async () => {
      await orphan({ [one]: NEED });
      await world.ask("PUT", `/resource_providers/${one}`, { name: "renamed" });
      expect(await left()).toEqual([
        "unknown-consumer: the identity of the compute node is in doubt",
        "identity-clash: null",
      ]);
    });

    it("where no compute node has the provider", async () => {
      const gone = world.uuid();
      await world.provider(gone, "gone", { VCPU: inventory(8), MEMORY_MB: inventory(8192) });
      await orphan({ [gone]: { VCPU: 1 } });
      expect(await left()).toEqual([
        expect.stringMatching(/^provider-without-node: it has allocations that cannot be removed/),
      ]);
      await orphan({ [gone]: { VCPU: 1 }, [one]: NEED });
      expect(await left()).toContain("unknown-consumer: it also has allocations on gone, which has no compute node");
    });

    it.each(["VCPU", "PCPU", "MEMORY_MB"])("where the provider without a node has %s only", async (name) => {
      const gone = world.uuid();
      await world.provider(gone, "gone", { [name]: inventory(8) });
      await orphan({ [gone]: { [name]: 1 } });
      expect(await left()).toEqual([
        expect.stringMatching(/^provider-without-node: it has allocations that cannot be removed/),
      ]);
    });

    it("where it has allocations only on a sharing provider, or belongs to another service", async () => {
      const storage = world.uuid();
      await world.provider(storage, "storage", { DISK_GB: inventory(9) }, { traits: ["MISC_SHARES_VIA_AGGREGATE"] });
      await orphan({ [storage]: { DISK_GB: 1 } });
      await orphan({ [one]: NEED }, "CONTAINER");
      expect(await world.found()).toEqual([]);
    });

    it("where it has custom resources of a host that is not a bare metal node", async () => {
      await world.ask("PUT", "/resource_classes/CUSTOM_FPGA");
      const { generation } = await world.ask("GET", `/resource_providers/${one}`);
      const body = { ...inventory(4), resource_class: "CUSTOM_FPGA", resource_provider_generation: generation };
      await world.ask("POST", `/resource_providers/${one}/inventories`, body);
      await orphan({ [one]: { CUSTOM_FPGA: 1 } });
      expect(await left()).toEqual([expect.stringMatching(/^unknown-consumer: it has only custom resources/)]);
    });

    it("when more than a share of the provider's consumers is unknown, as after restoring an old database", async () => {
      for (let n = 0; n < 4; n += 1) {
        await world.healthy("one", `old${n}`);
      }
      await orphan({ [two]: NEED });
      expect(await left({ maxShare: 0.5 })).toEqual(["orphaned-consumer: null"]);
      await orphan({ [two]: NEED });
      const rejectionPattern =
        /^unknown-consumer: 100% of the provider's consumers are unknown, more than --max-share 0.5/;
      expect(await left({ maxShare: 0.5 })).toEqual([
        expect.stringMatching(rejectionPattern),
        expect.stringMatching(rejectionPattern),
      ]);
      expect((await world.audit({ maxShare: 0.5 })).plan.edits).toEqual([]);
      expect(await left({ maxShare: 0.1 })).toContainEqual(expect.stringMatching(/% of all consumers are unknown/));
      expect(await left({ maxShare: 1 })).toEqual(["orphaned-consumer: null", "orphaned-consumer: null"]);
    });
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
