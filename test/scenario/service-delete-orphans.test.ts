import { afterEach, describe, expect, it } from "vitest";
import { isAtRest, FLAVOR_AMOUNTS as NEED, OrphanHarness } from "../fixtures/orphan-harness.js";

let harness: OrphanHarness;
afterEach(() => harness.cloud.close());

const BOTH = { devstack1: NEED, devstack2: NEED };
const HERE = { devstack2: NEED };

const evacuations = () => harness.migrations("source_compute=devstack1&migration_type=evacuation");

describe("vm1 was evacuated from devstack1 to devstack2, and holds both", () => {
  const evacuated = (name: string, test: () => Promise<void>) =>
    it(name, async () => {
      harness = await OrphanHarness.evacuated();
      await test();
    });

  evacuated("7.7 OA-1: both providers and the consumer tell of both", async () => {
    const server = await harness.cloud.server(harness.vm1);
    expect(server).toMatchObject({ "OS-EXT-SRV-ATTR:host": "devstack2", status: "ACTIVE" });
    for (const host of ["devstack1", "devstack2"]) {
      const { uuid } = await harness.provider(host);
      const { allocations } = (await harness.cloud.placement("GET", `/resource_providers/${uuid}/allocations`)).json;
      expect(allocations).toMatchObject({ [harness.vm1]: { resources: NEED } });
    }
    const { json } = await harness.cloud.placement("GET", `/allocations/${harness.vm1}`, undefined, "1.12");
    expect(json).toMatchObject({ project_id: server?.tenant_id, user_id: server?.user_id });
    expect(await harness.held()).toEqual(BOTH);
  });

  evacuated("7.7 OA-2: one evacuation from devstack1, done, without flavors", async () => {
    expect(await evacuations()).toMatchObject([
      {
        status: "done",
        migration_type: "evacuation",
        source_compute: "devstack1",
        source_node: "devstack1",
        dest_compute: "devstack2",
        dest_node: "devstack2",
        instance_uuid: harness.vm1,
        old_instance_type_id: null,
        new_instance_type_id: null,
      },
    ]);
  });

  evacuated("7.7 OA-3: devstack1's provider cannot be deleted", async () => {
    const { uuid } = await harness.provider("devstack1");
    for (const [version, code] of [
      ["1.22", "409"],
      ["1.23", "placement.resource_provider.inuse"],
    ] as const) {
      const rejected = harness.cloud.placement("DELETE", `/resource_providers/${uuid}`, undefined, version);
      await expect(rejected).rejects.toThrow(new RegExp(`409 .*${code}`, "s"));
    }
    expect(await harness.held()).toEqual(BOTH);
  });

  evacuated(
    "7.7 OA-4, 7.7 OA-6: vm1's allocations are set by hand, then provider and service go; devstack1 is refused",
    async () => {
      const [before1, before2] = [await harness.provider("devstack1"), await harness.provider("devstack2")];
      expect(await harness.set("1.12", ["devstack2"])).toBe(204);
      expect(await harness.held()).toEqual(HERE);
      expect(await harness.provider("devstack1")).toEqual(before1);
      expect(await harness.provider("devstack2")).toEqual({ ...before2, generation: before2.generation + 1 });

      expect((await harness.cloud.placement("DELETE", `/resource_providers/${before1.uuid}`)).status).toBe(204);
      const service = await harness.cloud.serviceId("devstack1");
      expect((await harness.cloud.compute("DELETE", `/os-services/${service}`)).status).toBe(204);
      await expect(harness.start("devstack1")).rejects.toThrow(harness.vm1);
      expect(await harness.guests("devstack1")).toEqual([harness.vm1]);
      expect(await harness.held()).toEqual(HERE);
    },
  );

  evacuated("7.7 OA-5: a stale consumer generation changes nothing", async () => {
    const stale = harness.set("1.28", ["devstack2"], { consumer_generation: 1 });
    await expect(stale).rejects.toThrow(/409 .*placement\.concurrent_update/s);
    expect(await harness.held()).toEqual(BOTH);
  });

  evacuated("7.7 OA-7: deleting vm1's allocations empties both; healing makes devstack2's again", async () => {
    await harness.unset();
    expect([await harness.held(), await harness.usage("devstack1"), await harness.usage("devstack2")]).toMatchObject([
      {},
      { VCPU: 0 },
      { VCPU: 0 },
    ]);
    expect((await harness.heal()).rc).toBe(0);
    expect(await harness.held()).toEqual(HERE);
  });

  evacuated("7.7 OA-8: healing leaves both as they are, with --force it strips devstack1", async () => {
    expect((await harness.heal()).rc).toBe(4);
    expect(await harness.held()).toEqual(BOTH);
    expect((await harness.heal({ force: true })).rc).toBe(0);
    expect(await harness.held()).toEqual(HERE);
  });

  evacuated("7.7 OA-9: auditing devstack1 finds vm1, with --delete it takes devstack1's part only", async () => {
    const { uuid: resourceProvider } = await harness.provider("devstack1");
    expect((await harness.audit({ resourceProvider })).rc).toBe(3);
    expect(await harness.held()).toEqual(BOTH);
    expect((await harness.audit({ resourceProvider, delete: true })).rc).toBe(4);
    expect(await harness.held()).toEqual(HERE);
  });

  evacuated("7.7 OA-10: deleting the service takes provider and vm1's part, the migration stays done", async () => {
    const service = await harness.cloud.serviceId("devstack1");
    expect((await harness.cloud.compute("DELETE", `/os-services/${service}`)).status).toBe(204);
    await expect(harness.provider("devstack1")).rejects.toThrow("no provider");
    expect(await harness.held()).toEqual(HERE);
    expect((await evacuations()).map(({ status }) => status)).toEqual(["done"]);
  });

  for (const wiped of [false, true]) {
    evacuated(
      `7.7 OA-11, 7.7 OA-12: devstack1 comes back${wiped ? ", its hypervisor wiped" : ""}, and may serve only then`,
      async () => {
        await expect(harness.forceDown("devstack1", false)).rejects.toThrow("400");
        if (wiped) {
          await harness.cloud.runtime.files.remove("/hypervisors/devstack1/domains");
        }
        await harness.start("devstack1");
        expect([await harness.guests("devstack1"), await harness.guests("devstack2")]).toEqual([[], [harness.vm1]]);
        expect([await harness.held(), await harness.usage("devstack1")]).toEqual([
          HERE,
          { VCPU: 0, MEMORY_MB: 0, DISK_GB: 0 },
        ]);
        expect((await evacuations()).map(({ status }) => status)).toEqual(["completed"]);
        expect(await harness.forceDown("devstack1", false)).toBe(200);
      },
    );
  }

  evacuated("7.7 OA-13: devstack1 has less to offer by what vm1 holds, until it has come back", async () => {
    const { uuid } = await harness.provider("devstack1");
    const { inventories } = (await harness.cloud.placement("GET", `/resource_providers/${uuid}/inventories`)).json;
    const { total, reserved } = (inventories as Record<string, { total: number; reserved: number }>).DISK_GB ?? {
      total: 0,
      reserved: 0,
    };
    const fits = async (disk: number): Promise<boolean> => {
      const path = `/allocation_candidates?resources=DISK_GB:${disk}&in_tree=${uuid}`;
      return ((await harness.cloud.placement("GET", path)).json.allocation_requests as unknown[]).length > 0;
    };
    const all = total - reserved;
    expect([await fits(all - 1), await fits(all)]).toEqual([true, false]);
    await harness.start("devstack1");
    expect(await fits(all)).toBe(true);
  });

  evacuated(
    "7.7 OA-14: deleting vm1 empties both; devstack1 comes back and destroys what is left with its disks",
    async () => {
      const disks = `/hypervisors/devstack1/instances/${harness.vm1}`;
      const files = harness.cloud.runtime.files;
      expect(await files.list(disks)).not.toEqual([]);
      await harness.cloud.compute("DELETE", `/servers/${harness.vm1}`);
      await harness.cloud.serverIs(harness.vm1, (server) => server === null);
      expect(await harness.held()).toEqual({});
      await harness.start("devstack1");
      expect([await harness.guests("devstack1"), await files.list(disks)]).toEqual([[], []]);
      expect(await harness.statusesEver()).toEqual(["completed"]);
    },
  );
});

describe("vm1 was migrated from devstack3, and what the migration held is deleted by hand", () => {
  const migrated = async (): Promise<void> => {
    harness = await OrphanHarness.open("devstack3");
    await harness.cloud.compute("POST", `/servers/${harness.vm1}/action`, { migrate: { host: "devstack2" } });
    await harness.cloud.serverIs(harness.vm1, (server) => server?.status === "VERIFY_RESIZE");
    const [migration] = await harness.migrations(`instance_uuid=${harness.vm1}`);
    await harness.unset(String(migration?.uuid));
    expect((await harness.heal()).rc).toBe(4);
    expect([await harness.held(), await harness.held(String(migration?.uuid))]).toEqual([HERE, {}]);
    expect((await harness.usage("devstack3")).VCPU).toBe(0);
  };

  it("7.7 OA-15: confirming succeeds", async () => {
    await migrated();
    await harness.cloud.compute("POST", `/servers/${harness.vm1}/action`, { confirmResize: null });
    await harness.cloud.serverIs(harness.vm1, isAtRest);
    expect(await harness.held()).toEqual(HERE);
  });

  it("7.7 OA-15: reverting leaves vm1's allocation on devstack2, until it is healed by force", async () => {
    await migrated();
    await harness.cloud.compute("POST", `/servers/${harness.vm1}/action`, { revertResize: null });
    await harness.cloud.serverIs(
      harness.vm1,
      (server) => server?.["OS-EXT-SRV-ATTR:host"] === "devstack3" && isAtRest(server),
    );
    expect(await harness.held()).toEqual(HERE);
    expect((await harness.heal({ force: true })).rc).toBe(0);
    expect(await harness.held()).toEqual({ devstack3: NEED });
  });
});

it("7.7 OA-16: an evacuation that failed on devstack2 leaves vm1 on devstack1, which destroys nothing when it comes back", async () => {
  harness = await OrphanHarness.open();
  await harness.fence("devstack1");
  const { files } = harness.cloud.runtime;
  const domain = await files.read(`/hypervisors/devstack1/domains/${harness.vm1}.xml`);
  // A guest with that uuid exists already: the destination must not touch it.
  await files.write(`/hypervisors/devstack2/domains/${harness.vm1}.xml`, domain);
  await harness.evacuate();
  for (let seconds = 0; (await evacuations())[0]?.status !== "failed" && seconds < 60; seconds += 1) {
    await harness.cloud.world.advance(1_000);
  }
  expect((await evacuations()).map(({ status }) => status)).toEqual(["failed"]);
  expect(await harness.held()).toEqual({ devstack1: NEED });
  await harness.start("devstack1");
  expect(await harness.guests("devstack1")).toEqual([harness.vm1]);
  expect(await harness.held()).toEqual({ devstack1: NEED });
});

/** Audits with --delete and heals, repeatedly, until the server is at rest. @returns the number of rounds */
async function meddleUntil(
  there: (server: Record<string, unknown> | null) => boolean,
  codes: number[] = [0],
): Promise<number> {
  let rounds = 0;
  while (!there(await harness.cloud.server(harness.vm1))) {
    expect((await harness.audit({ delete: true })).rc).toBeOneOf(codes);
    expect((await harness.heal()).rc).toBe(4);
    rounds += 1;
    if (rounds > 500) {
      throw new Error(JSON.stringify(await harness.cloud.server(harness.vm1)));
    }
  }
  return rounds;
}

const actOn = (body: object) => harness.cloud.compute("POST", `/servers/${harness.vm1}/action`, body);
function restsOn(host: string) {
  return (server: Record<string, unknown> | null) => server?.["OS-EXT-SRV-ATTR:host"] === host && isAtRest(server);
}

it("7.3, 7.4: audit --delete and heal_allocations break nothing beside a build, migrations, a resize and an evacuation", async () => {
  harness = await OrphanHarness.open();
  const server = {
    name: "vm2",
    flavorRef: "1",
    imageRef: await harness.cloud.image(),
    networks: "none",
    host: "devstack1",
  };
  const created = (await harness.cloud.compute("POST", "/servers", { server })).json.server as { id: string };
  harness.vm1 = created.id;
  const rounds = [await meddleUntil(restsOn("devstack1"))];
  expect(await harness.held()).toEqual({ devstack1: NEED });

  await actOn({ migrate: { host: "devstack2" } });
  rounds.push(await meddleUntil((found) => found?.status === "VERIFY_RESIZE"));
  await actOn({ revertResize: null });
  rounds.push(await meddleUntil(restsOn("devstack1")));
  expect(await harness.held()).toEqual({ devstack1: NEED });

  const third = `/os-services/${await harness.cloud.serviceId("devstack3")}`;
  await harness.cloud.compute("PUT", third, { status: "disabled" });
  await actOn({ resize: { flavorRef: "2" } });
  rounds.push(await meddleUntil((found) => found?.status === "VERIFY_RESIZE"));
  await actOn({ confirmResize: null });
  rounds.push(await meddleUntil(isAtRest));
  expect(await harness.held()).toEqual({ devstack2: { VCPU: 1, MEMORY_MB: 2048, DISK_GB: 20 } });
  await harness.cloud.compute("PUT", third, { status: "enabled" });

  await actOn({ "os-migrateLive": { host: "devstack3", block_migration: "auto" } });
  rounds.push(await meddleUntil(restsOn("devstack3")));
  expect(Object.keys(await harness.held())).toEqual(["devstack3"]);

  await harness.fence("devstack3");
  await harness.evacuate();
  // Once the evacuation is done, the source's leftovers are orphaned.
  rounds.push(await meddleUntil(restsOn("devstack2"), [0, 4]));
  expect((await harness.audit({ delete: true })).rc).toBeOneOf([0, 4]);
  expect(Object.keys(await harness.held())).toEqual(["devstack2"]);
  expect(rounds.filter((count) => count === 0)).toEqual([]);
});

it("7.3: heal_allocations killed at any request is ended by the next one", async () => {
  harness = await OrphanHarness.open("devstack2", ["devstack2"]);
  const codes: [killed: boolean, rc: number][] = [];
  for (const request of [0, 1, 2]) {
    for (const afterResponse of [false, true]) {
      await harness.unset();
      const killed = !(await harness.healKilledAt(request, afterResponse));
      codes.push([killed, (await harness.heal()).rc]);
      expect(await harness.held()).toEqual(HERE);
    }
  }
  const [read, written, done] = [codes.slice(0, 2), codes.slice(2, 4), codes.slice(4)];
  expect([read, written, done]).toEqual([
    [
      [true, 0],
      [true, 0],
    ],
    [
      [true, 0],
      [true, 4],
    ],
    [
      [false, 4],
      [false, 4],
    ],
  ]);
});
