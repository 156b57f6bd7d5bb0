import { beforeEach, describe, expect, test } from "vitest";
import { CELL0_UUID, CELL1 } from "../../../../src/control-plane/manage/heal-allocations.js";
import { FLAVOR, NEED } from "../../../unit/control-plane/conductor/tasks/bench.js";
import { ManageBench } from "../../../unit/control-plane/manage/bench.js";

let bench: ManageBench;

beforeEach(async () => {
  bench = await ManageBench.open();
  await bench.host("devstack1");
  await bench.host("devstack2");
});

/** Creates a server without allocations, and returns its uuid. */
async function lost(host = "devstack2"): Promise<string> {
  const { uuid } = await bench.server(host);
  await bench.unset(uuid);
  return uuid;
}
const NOBODY = "00000000-0000-4000-8000-00000000dead";

describe("7.3 flags: invalid input is code 127 without any request", () => {
  test.each([
    [{ instance: NOBODY, cell: CELL1.uuid }, "The --cell and --instance options are mutually exclusive."],
    [{ force: true }, "The --instance flag is required when using --force flag."],
    [{ force: true, cell: CELL1.uuid }, "The --instance flag is required when using --force flag."],
    ...["0", "-1", "abc", "", "1.5", "1e3"].map(
      (maxCount) => [{ maxCount }, "Must supply a positive integer for --max-count."] as const,
    ),
    [{ cell: NOBODY }, `Cell with uuid ${NOBODY} was not found.`],
    [{ cell: "cell1" }, "Cell with uuid cell1 was not found."],
  ] as const)("%j", async (options, message) => {
    const uuid = await lost();
    expect(await bench.heal({ ...options, verbose: false })).toEqual({ rc: 127, stdout: `${message}\n` });
    expect(await bench.held(uuid)).toEqual({});
  });

  test.each([NOBODY, "vm1", "", "../../resource_providers", "x".repeat(300)])(
    "--instance %s is in no cell",
    async (instance) => {
      expect(await bench.heal({ instance, verbose: false })).toEqual({
        rc: 127,
        stdout:
          `Unable to find cell for instance ${instance}, is it mapped? Try running "nova-manage cell_v2 ` +
          'verify_instance" or "nova-manage cell_v2 map_instances".\n',
      });
    },
  );

  test("--max-count has no effect with --instance", async () => {
    const uuid = await lost();
    expect((await bench.heal({ instance: uuid, maxCount: "abc" })).rc).toBe(0);
  });
});

describe("7.3 instances to heal", () => {
  test("a server without a host is in cell0, where nothing is healed", async () => {
    const { uuid } = await bench.server("devstack2");
    bench.store.mappings.mapInstance(uuid, "project", "cell0");
    await bench.unset(uuid);
    expect(await bench.heal()).toEqual({
      rc: 4,
      stdout: `Running batches of 50 until complete\nLooking for instances in cell: ${CELL1.uuid}(cell1)\nProcessed 0 instances.\n`,
    });
    expect(await bench.heal({ instance: uuid })).toEqual({ rc: 4, stdout: "Processed 0 instances.\n" });
    expect(await bench.heal({ cell: CELL0_UUID })).toEqual({
      rc: 4,
      stdout: "Running batches of 50 until complete\nProcessed 0 instances.\n",
    });
  });

  test("--cell with the only cell heals all", async () => {
    const [a, b] = [await lost("devstack1"), await lost("devstack2")];
    expect((await bench.heal({ cell: CELL1.uuid })).rc).toBe(0);
    expect([await bench.held(a), await bench.held(b)]).toEqual([{ devstack1: NEED }, { devstack2: NEED }]);
  });

  test("a deleted one is skipped", async () => {
    const uuid = await lost();
    bench.store.instances.destroy(uuid);
    expect((await bench.heal({ instance: uuid })).rc).toBe(4);
    expect((await bench.heal()).rc).toBe(4);
    expect(await bench.held(uuid)).toEqual({});
  });

  test("batches of 50, oldest first", async () => {
    bench.conductor.placement.clearProviderCache();
    const { uuid: first } = await bench.server("devstack1");
    const row = bench.conductor.instance(first);
    for (let count = 1; count < 53; count += 1) {
      const { id: _id, deleted: _deleted, ...copy } = row;
      const uuid = `10000000-0000-4000-8000-${String(count).padStart(12, "0")}`;
      bench.store.instances.create({ ...copy, uuid, flavor: { ...FLAVOR, vcpus: 0, memoryMb: 1, rootGb: 0 } });
      bench.store.mappings.mapInstance(uuid, "project", "cell1");
    }
    const { rc, stdout } = await bench.heal();
    expect(rc).toBe(0);
    expect(stdout.match(/Found \d+/g)).toEqual(["Found 50", "Found 3"]);
    expect(stdout).toMatch(/Processed 52 instances\.\n$/);
    const order = [...stdout.matchAll(/instance (10000000\S+)\./g)].map(([, uuid]) => uuid);
    expect(order).toEqual([...order].sort());
  });
});

describe("7.3 --max-count", () => {
  test("is code 1 when reached, then 0, then 4", async () => {
    const uuids = [await lost(), await lost(), await lost()];
    const held = async () =>
      (await Promise.all(uuids.map((uuid) => bench.held(uuid)))).filter((h) => "devstack2" in h).length;
    expect(await bench.heal({ maxCount: "2" })).toMatchObject({
      rc: 1,
      stdout: expect.stringMatching(
        /Found 2 candidate instances\.[\s\S]*Max count reached\. Processed 2 instances\.\n$/,
      ),
    });
    expect(await held()).toBe(2);
    expect((await bench.heal({ maxCount: "2" })).rc).toBe(0);
    expect(await held()).toBe(3);
    expect((await bench.heal({ maxCount: "2" })).rc).toBe(4);
  });

  test("is never exceeded, regardless of how unhealed instances are distributed over batches", async () => {
    await bench.server("devstack1");
    for (let count = 0; count < 3; count += 1) {
      await lost();
    }
    expect(await bench.heal({ maxCount: "2" })).toMatchObject({ rc: 1 });
    expect((await bench.heal({ maxCount: "9" })).stdout).toMatch(/Processed 1 instances/);
  });
});

describe("7.3 steps", () => {
  test("1 an instance with a task in progress is skipped", async () => {
    const uuid = await lost();
    bench.store.instances.save(uuid, { taskState: "migrating" });
    const { rc, stdout } = await bench.heal({ instance: uuid });
    expect(stdout).toContain(`Instance ${uuid} is undergoing a task state transition: migrating\n`);
    expect([rc, await bench.held(uuid)]).toEqual([4, {}]);
  });

  test("1 an instance without a node is skipped", async () => {
    const uuid = await lost();
    bench.store.instances.save(uuid, { host: null, node: null, computeId: null });
    const { rc, stdout } = await bench.heal({ instance: uuid });
    expect(stdout).toContain(`Instance ${uuid} is not on a host.\n`);
    expect(rc).toBe(4);
  });

  test.each([
    ["resources:VGPU", "vGPU resource request"],
    ["accel:device_profile", "Cyborg device profile request"],
  ])("1 %s is code 8", async (spec, what) => {
    const uuid = await lost();
    bench.store.instances.save(uuid, { flavor: { ...FLAVOR, extraSpecs: { [spec]: "1" } } });
    expect(await bench.heal({ instance: uuid, verbose: false })).toEqual({
      rc: 8,
      stdout: `Healing allocation for instance ${uuid} with ${what} is not supported.\n`,
    });
  });

  test("2 uses the instance's flavor, without the root disk of volume-backed instances", async () => {
    const uuid = await lost();
    bench.store.instances.save(uuid, {
      imageRef: "",
      flavor: {
        ...FLAVOR,
        vcpus: 2,
        rootGb: 10,
        ephemeralGb: 3,
        swap: 1500,
        extraSpecs: { "resources:CUSTOM_X": "0" },
      },
    });
    expect((await bench.heal({ instance: uuid })).rc).toBe(0);
    expect(await bench.held(uuid)).toEqual({ devstack2: { VCPU: 2, MEMORY_MB: 512, DISK_GB: 5 } });
  });

  test("2 a missing compute node is code 2", async () => {
    const uuid = await lost();
    for (const { id, host } of bench.store.computeNodes.byHost("devstack2")) {
      bench.store.computeNodes.destroy(id, host);
    }
    expect(await bench.heal({ instance: uuid, verbose: false })).toEqual({
      rc: 2,
      stdout: "Compute host devstack2 could not be found.\n",
    });
  });

  test("3 another project and user are corrected; amounts and other providers do not change", async () => {
    const { uuid } = await bench.evacuated("devstack1", "devstack2");
    bench.store.instances.save(uuid, {});
    const before = await bench.held(uuid);
    const read = async () =>
      (await bench.placement.ask("GET", `/allocations/${uuid}`, "1.28")) as Record<string, unknown>;
    const { allocations, consumer_generation } = await read();
    await bench.placement.ask("PUT", `/allocations/${uuid}`, "1.28", {
      allocations,
      project_id: "other",
      user_id: "user",
      consumer_generation,
    });
    const { rc, stdout } = await bench.heal({ instance: uuid });
    expect(stdout).toContain(`Successfully updated allocations for instance ${uuid}.\n`);
    expect(await read()).toMatchObject({ project_id: "project", user_id: "user" });
    expect([rc, await bench.held(uuid)]).toEqual([0, before]);
  });

  test("4 --force replaces all and reports it; with --dry-run it does not", async () => {
    const { uuid } = await bench.evacuated("devstack1", "devstack2");
    const dry = await bench.heal({ instance: uuid, force: true, dryRun: true });
    expect(dry.stdout).toMatch(/Force flag passed for instance \S+\n\[dry-run\] Update allocations for instance/);
    expect(dry.stdout).toMatch(/"consumer_generation": 2\}\n/);
    expect([dry.rc, Object.keys(await bench.held(uuid))]).toEqual([4, ["devstack2", "devstack1"]]);
    expect((await bench.heal({ instance: uuid, force: true })).rc).toBe(0);
    expect(await bench.held(uuid)).toEqual({ devstack2: NEED });
  });

  test("an instance in VERIFY_RESIZE gets its destination allocations only", async () => {
    const uuid = await lost();
    bench.store.instances.save(uuid, { vmState: "resized" });
    const { uuid: migration } = bench.move(uuid, "migration", "finished", "devstack1", "devstack2");
    expect((await bench.heal()).rc).toBe(0);
    expect([await bench.held(uuid), await bench.held(migration)]).toEqual([{ devstack2: NEED }, {}]);
  });
});
