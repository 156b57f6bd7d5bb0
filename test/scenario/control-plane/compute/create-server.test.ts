import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld, CIRROS, type Reply } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
  world.host("devstack2");
});

function create(server: Record<string, unknown> = {}, version = 37, token?: string): Promise<Reply> {
  return world.ask({
    method: "POST",
    url: "/compute/v2.1/servers",
    version,
    token,
    body: {
      server: {
        name: "vm1",
        flavorRef: "1",
        imageRef: CIRROS,
        ...(version >= 37 ? { networks: "none" } : {}),
        ...server,
      },
    },
  });
}

const tasks = () => world.store.tasks.pending().map(({ task }) => task);

describe("create", () => {
  test("6.1 row 1: an acknowledged server is stored", async () => {
    const reply = await create();
    expect(reply.status).toBe(202);
    const uuid = String(reply.json("server", "id"));
    expect(reply.headers.location).toBe(`http://127.0.0.1:8774/compute/v2.1/servers/${uuid}`);
    expect(world.store.requests.buildRequest(uuid)?.instance).toMatchObject({
      displayName: "vm1",
      displayDescription: null,
      hostname: "vm1",
      vmState: "building",
      taskState: "scheduling",
      host: null,
    });
    expect(world.store.requests.spec(uuid)).toMatchObject({ numInstances: 1, imageRef: CIRROS, isBfv: false });
    expect(world.store.mappings.instance(uuid)).toEqual({ cell: null, queuedForDelete: false });
    expect(tasks()).toEqual([
      { kind: "build_instances", instanceUuid: uuid, requestId: reply.headers["x-compute-request-id"] },
    ]);
    expect(world.wakes).toBe(1);
    const serverReply = await world.ask({ url: `/compute/v2.1/servers/${uuid}`, version: 37 });
    expect(serverReply.json("server", "status")).toBe("BUILD");
  });

  test("stores tags sorted and without duplicates", async () => {
    await create({ tags: ["b", "c", "a", "b"] }, 52);
    expect(world.store.requests.buildRequests()[0]?.instance.tags).toEqual(["a", "b", "c"]);
  });

  test("several servers are named in order and stored in one transaction", async () => {
    const reply = await create({ min_count: "2", max_count: 3, return_reservation_id: true });
    const stored = world.store.requests.buildRequests().map(({ instance }) => instance);
    expect(stored.map(({ displayName }) => displayName).sort()).toEqual(["vm1-1", "vm1-2", "vm1-3"]);
    expect(new Set(stored.map(({ reservationId }) => reservationId))).toEqual(new Set([reply.json("reservation_id")]));
    expect(tasks()).toHaveLength(3);
  });

  test("stores nothing if a part cannot be stored", async () => {
    world.store.tasks.add = () => {
      throw new Error("disk full");
    };
    const reply = await create({ max_count: 2 });
    expect(reply.status).toBe(500);
    expect(world.store.requests.buildRequests()).toEqual([]);
    expect(world.wakes).toBe(0);
  });

  test.each([
    ["nova", {}, "nova"],
    ["nova:devstack1", { forcedHost: "devstack1" }, "nova"],
    ["nova:devstack1:node", { forcedHost: "devstack1", forcedNode: "node" }, "nova"],
    ["nova::node", { forcedNode: "node" }, "nova"],
    ["bogus:devstack1", { forcedHost: "devstack1" }, null],
    ["bogus:devstack1:node", { forcedHost: "devstack1", forcedNode: "node" }, null],
    ["bogus::node", { forcedNode: "node" }, null],
    [":devstack1", { forcedHost: "devstack1" }, null],
  ])("availability zone %s", async (zone, forced, stored) => {
    const reply = await create({ availability_zone: zone });
    expect(reply.status).toBe(202);
    const {
      kind: _kind,
      instanceUuid,
      requestId: _requestId,
      ...rest
    } = tasks()[0] ?? { instanceUuid: "", requestId: "" };
    expect(rest).toEqual(forced);
    expect(world.store.requests.spec(instanceUuid)?.availabilityZone).toBe(stored);
  });

  test.each([
    [{ host: "devstack2" }, { requestedHost: "devstack2" }],
    [{ hypervisor_hostname: "devstack2" }, { requestedNode: "devstack2" }],
    [
      { host: "devstack2", hypervisor_hostname: "devstack2" },
      { requestedHost: "devstack2", requestedNode: "devstack2" },
    ],
  ])("2.74 destination %j", async (destination, expected) => {
    expect((await create(destination, 74)).status).toBe(202);
    expect(tasks()[0]).toMatchObject(expected);
    expect((await create(destination, 73)).message).toMatch(/Additional properties are not allowed/);
  });

  test.each<[string, Record<string, unknown>, number, number, string]>([
    ["unknown flavor", { flavorRef: "9" }, 37, 400, "Flavor 9 could not be found."],
    ["no image", { imageRef: "" }, 37, 400, "Missing imageRef attribute"],
    ["unknown image", { imageRef: "c0ffee00-0000-4000-8000-000000000009" }, 37, 400, "Can not find requested image"],
    ["counts", { min_count: 2, max_count: 1 }, 37, 400, "min_count must be <= max_count"],
    ["zone", { availability_zone: "mars" }, 37, 400, "The requested availability zone is not available"],
    ["zone format", { availability_zone: "a:b:c:d" }, 37, 400, "Unable to parse availability_zone"],
    ["volume", { block_device_mapping_v2: [{ boot_index: 0 }] }, 37, 400, "Missing device UUID."],
    ["key", { key_name: "mine" }, 37, 400, "Invalid key_name provided."],
    ["network", { networks: [{ uuid: CIRROS }] }, 37, 400, `Network ${CIRROS} could not be found.`],
    ["port", { networks: [{ port: CIRROS }] }, 37, 400, `Port id ${CIRROS} could not be found.`],
    ["host", { host: "mars" }, 74, 400, "Compute host mars could not be found."],
    [
      "both destinations",
      { host: "devstack1", availability_zone: "nova:devstack1" },
      74,
      400,
      "are mutually exclusive",
    ],
    ["certificates", { trusted_image_certificates: ["c1", "c2", "c1"] }, 63, 400, "has non-unique elements"],
    ["no networks", { networks: undefined }, 37, 400, "'networks' is a required property"],
    [
      "networks text",
      { networks: "some" },
      37,
      400,
      "Invalid input for field/attribute networks. Value: some. 'some' is not valid under any of the given schemas",
    ],
    ["name", { name: " x" }, 37, 400, "An invalid 'name' value was provided. The name must be: printable characters."],
    [
      "a format character",
      { name: "a\u{604}b" },
      37,
      400,
      "An invalid 'name' value was provided. The name must be: printable",
    ],
    ["an emoji", { name: "a\u{1f600}b" }, 37, 400, "An invalid 'name' value was provided. The name must be: printable"],
    [
      "a description's tab",
      { description: "a\tb" },
      37,
      400,
      "Invalid input for field/attribute description. Value: a\tb.",
    ],
    ["a description's format character", { description: "\u{200d}" }, 37, 400, "Invalid input for field/attribute"],
    ["name type", { name: 5 }, 37, 400, "Invalid input for field/attribute name. Value: 5. 5 is not of type 'string'"],
    ["long name", { name: "x".repeat(256) }, 37, 400, "is too long"],
    [
      "count text",
      { min_count: "none" },
      37,
      400,
      "Invalid input for field/attribute min_count. Value: none. 'none' does not match '^0*[1-9][0-9]*$'",
    ],
    ["zero", { min_count: 0 }, 37, 400, "0 is less than the minimum of 1"],
    [
      "metadata",
      { metadata: { k: 1 } },
      37,
      400,
      "Invalid input for field/attribute k. Value: 1. 1 is not of type 'string'",
    ],
    ["tags before 2.52", { tags: ["a"] }, 51, 400, "Additional properties are not allowed ('tags' was unexpected)"],
    ["hostname for two", { hostname: "host", max_count: 2 }, 90, 400, "Unable to allocate a single hostname"],
    ["fqdn before 2.94", { hostname: "a.example.org" }, 93, 400, "does not match"],
  ])("rejects: %s", async (_name, server, version, status, message) => {
    const reply = await create(server, version);
    expect(reply.message).toContain(message);
    expect(reply.status).toBe(status);
    expect(world.store.requests.buildRequests()).toEqual([]);
    expect(tasks()).toEqual([]);
  });

  const ROOT = { source_type: "image", destination_type: "local", boot_index: 0, uuid: CIRROS };

  test.each([[[ROOT]], [[{ ...ROOT, boot_index: "0", delete_on_termination: true }]], [[]]])(
    "accepts the image's root disk as a block device: %o",
    async (block_device_mapping_v2) => {
      expect((await create({ block_device_mapping_v2 })).status).toBe(202);
    },
  );

  const BLANK = { source_type: "blank", destination_type: "local", boot_index: -1 };
  const SWAP = { ...BLANK, guest_format: "swap" };
  const EPHEMERAL_SIZE = "Ephemeral disks requested are larger than the instance type allows.";

  test.each([
    [[ROOT, BLANK], "disks"],
    [[ROOT, { ...BLANK, volume_size: "3" }, { ...BLANK, volume_size: 2, delete_on_termination: true }], "ephemeral"],
    [[ROOT, { ...SWAP, volume_size: 512 }, BLANK], "disks"],
    [[ROOT, BLANK], "1"],
  ])("accepts local disks that the flavor allows: %o with %s", async (block_device_mapping_v2, flavorRef) => {
    world.flavor({ flavorid: "disks", name: "disks", ephemeralGb: 5, swap: 512 });
    world.flavor({ flavorid: "ephemeral", name: "ephemeral", ephemeralGb: 5 });
    const reply = await create({ block_device_mapping_v2, flavorRef });
    expect(reply.status, reply.body).toBe(202);
  });

  test.each([
    [[{ ...ROOT, boot_index: 1 }], "Mapping image to local is not supported."],
    [
      [{ ...ROOT, uuid: "5a000000-0000-4000-8000-000000000001" }],
      "failed to get image 5a000000-0000-4000-8000-000000000001.",
    ],
    [[ROOT, ROOT], "Boot sequence for the instance and image/block device mapping combination is not valid."],
    [[BLANK], "Boot sequence for the instance and image/block device mapping combination is not valid."],
    [[ROOT, { ...BLANK, volume_size: 1 }], EPHEMERAL_SIZE],
    [[ROOT, { ...SWAP, volume_size: 1 }], "Swap drive requested is larger than instance type allows."],
    [[ROOT, SWAP, SWAP], "Block Device Mapping is Invalid: More than one swap drive requested."],
    [[ROOT, BLANK, BLANK, BLANK], "You specified more local devices than the limit allows"],
    [[ROOT, { ...BLANK, uuid: CIRROS }], "Block Device Mapping is Invalid: Invalid device UUID."],
    [[ROOT, { ...BLANK, destination_type: "volume" }], "Blank volumes (source: 'blank', dest: 'volume') need to have"],
    [[{ ...ROOT, destination_type: "volume" }], "Images with destination_type 'volume' need to have a non-zero size"],
  ])("rejects other block devices: %o", async (block_device_mapping_v2, message) => {
    const reply = await create({ block_device_mapping_v2 });
    expect([reply.status, reply.message]).toEqual([400, expect.stringContaining(message)]);
  });

  test.each([
    [1, {}, "vm1"],
    [19, {}, null],
    [19, { description: "mine" }, "mine"],
  ])("2.%i description of %j", async (version, server, description) => {
    await create(server, version);
    expect(world.store.requests.buildRequests()[0]?.instance.displayDescription).toBe(description);
  });

  test.each([
    ["hostname", 90],
    ["hostname", 94],
    ["user_data", 37],
    ["name", 37],
    ["description", 37],
    ["availability_zone", 37],
    ["config_drive", 37],
    ["flavorRef", 37],
  ])("a long %s is validated in linear time", async (member, version) => {
    const reply = await create({ [member]: `${"a".repeat(50_000)}${" ".repeat(50_000)}!` }, version);
    expect(reply.status).toBe(400);
  });

  test("only administrators may choose a host", async () => {
    const demo = await world.token("demo");
    const reply = await create({ availability_zone: "nova:devstack1" }, 37, demo);
    expect(reply.status).toBe(403);
    expect(reply.message).toBe("Policy doesn't allow os_compute_api:servers:create:forced_host to be performed.");
    const other = await create({ host: "devstack1" }, 74, demo);
    expect(other.message).toBe("Policy doesn't allow compute:servers:create:requested_destination to be performed.");
  });
});

describe("hints for the scheduler", () => {
  async function withHints(hints: unknown, member = "os:scheduler_hints") {
    const server = { name: "vm1", flavorRef: "1", imageRef: CIRROS };
    return world.ask({ method: "POST", url: "/compute/v2.1/servers", body: { server, [member]: hints } });
  }

  test.each(["os:scheduler_hints", "OS-SCH-HNT:scheduler_hints"])(
    "%s: those that filters use are saved",
    async (member) => {
      const [one, two] = [world.server("devstack1").uuid, world.server("devstack2").uuid];
      const hints = { same_host: one, different_host: [one, two], build_near_host_ip: "192.0.2.1", own: 7 };
      const uuid = String((await withHints(hints, member)).json("server", "id"));
      expect(world.store.requests.spec(uuid)?.schedulerHints).toEqual({ same_host: [one], different_host: [one, two] });
    },
  );

  test.each([
    { different_host: "not a uuid" },
    { different_host: ["not a uuid"] },
    { same_host: ["not a uuid"] },
    { group: ["c0ffee00-0000-4000-8000-000000000001"] },
    { build_near_host_ip: "everywhere" },
    { cidr: "24" },
    { query: [] },
  ])("%j is rejected", async (hints) => {
    expect((await withHints(hints)).status).toBe(400);
  });
});

describe("a request for more servers than one batch", () => {
  /** Returns the reply, and the number of servers at each event-loop tick that the request yielded. */
  async function createMany(count: Record<string, unknown>, betweenBatches: () => void = () => {}) {
    const { sleep } = world.runtime.timers;
    const observedCounts: number[] = [];
    const requests = () => world.store.requests.buildRequests().length;
    world.runtime.timers.sleep = (...args) => {
      observedCounts.push(requests());
      betweenBatches();
      return sleep.apply(world.runtime.timers, args);
    };
    const reply = await world.world.runUntil(create(count));
    return { reply, observedCounts: observedCounts, left: requests() };
  }

  test("stores all of them, and yields to other requests between batches", async () => {
    const { reply, observedCounts, left } = await createMany({ min_count: 250 });
    expect(reply.status, reply.body).toBe(202);
    expect({ observedCounts, left }).toEqual({ observedCounts: [100, 200], left: 250 });
    const names = world.store.requests.buildRequests().map(({ instance }) => instance.displayName);
    expect(new Set(names)).toEqual(new Set(Array.from({ length: 250 }, (_, index) => `vm1-${index + 1}`)));
    expect(tasks()).toHaveLength(250);
  });

  test("creates as many servers as the quotas allow", async () => {
    world.quota.defaults.instances = 180;
    expect((await createMany({ max_count: 500, min_count: 1 })).left).toBe(180);
  });

  test("is rejected with Nova's message if the quota is too small", async () => {
    world.quota.defaults.instances = 10;
    const { reply, left } = await createMany({ min_count: 300 });
    expect([reply.status, reply.message]).toEqual([
      403,
      "Quota exceeded for instances: Requested 300, but already used 0 of 10 instances",
    ]);
    expect(left).toBe(0);
  });

  test("deletes the servers stored so far if another request exhausts the quota", async () => {
    const { reply, observedCounts, left } = await createMany({ min_count: 250 }, () => {
      world.quota.defaults.instances = 150;
    });
    expect([reply.status, reply.message]).toEqual([
      403,
      "Quota exceeded for instances: Requested 100, but already used 100 of 150 instances",
    ]);
    expect({ observedCounts, left }).toEqual({ observedCounts: [100], left: 0 });
  });
});
