import { beforeEach, describe, expect, test } from "vitest";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import type { BlockDevice, Instance, NewBlockDevice } from "../../../../src/records/index.js";
import { ApiWorld, CIRROS, type Reply } from "../../../unit/control-plane/compute/api-world.js";

const UNKNOWN = "5a000000-0000-4000-8000-000000000001";

type Body = Readonly<Record<string, unknown>>;

let world: ApiWorld;
let server: Instance;
let volume: string;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
  server = world.server("devstack1");
  volume = await world.volume();
  world.agentReplies.reserve_block_device_name = "/dev/vdb";
});

interface Options {
  readonly body?: unknown;
  readonly version?: number;
  readonly token?: string;
}

function send(
  method: string,
  path: string,
  { body, version = 89, token }: Options = {},
  { uuid } = server,
): Promise<Reply> {
  const url = `/compute/v2.1/servers/${uuid}/os-volume_attachments${path}`;
  return world.ask({ method, url, version, body: body === undefined ? undefined : { volumeAttachment: body }, token });
}

function attach(requested: Body = {}, options: Options = {}, to = server): Promise<Reply> {
  return send("POST", "", { ...options, body: { volumeId: volume, ...requested } }, to);
}

const devicesOf = ({ uuid }: Instance) => world.store.blockDevices.ofInstance(uuid);
const dataDevices = (of: Instance) => devicesOf(of).filter(({ volumeId }) => volumeId !== null);
const actionsOf = ({ uuid }: Instance) => world.store.actions.list(uuid).map(({ action }) => action);

/** Gives the server a volume in use, as after an attachment by its host. */
function withVolume(volumeId = volume, changes: Partial<NewBlockDevice> = {}, of = server): BlockDevice {
  const { volumes } = world.blockStorage;
  const attachmentId = volumes.reserve(volumeId, of.uuid);
  volumes.complete(attachmentId);
  const types = { sourceType: "volume", destinationType: "volume" } as const;
  const systemMetadata = { ...of.systemMetadata, block_devices: "True" };
  world.store.instances.save(of.uuid, { systemMetadata });
  const device = { instanceUuid: of.uuid, volumeId, attachmentId, deviceName: "/dev/vdb", ...types, ...changes };
  return world.store.blockDevices.create(device);
}

describe("attach", () => {
  test("the host names the device, then the volume is reserved, then the host attaches it", async () => {
    const reply = await attach({ tag: "data", delete_on_termination: true, device: "/dev/vdx" }, { version: 79 });
    expect([reply.status, reply.json()]).toEqual([
      200,
      {
        volumeAttachment: {
          id: volume,
          serverId: server.uuid,
          volumeId: volume,
          device: "/dev/vdb",
          tag: "data",
          delete_on_termination: true,
        },
      },
    ]);
    const [device] = dataDevices(server);
    expect(device).toMatchObject({
      ...{ volumeId: volume, volumeSize: 1, sourceType: "volume", destinationType: "volume", bootIndex: null },
      ...{ tag: "data", deleteOnTermination: true, deviceName: "/dev/vdx" },
    });
    const requestId = reply.headers["x-compute-request-id"];
    const params = { instanceUuid: server.uuid, blockDeviceUuid: device?.uuid, requestId };
    expect(world.calls).toEqual([{ host: "devstack1", method: "reserve_block_device_name", params }]);
    expect(world.casts).toEqual([{ host: "devstack1", method: "attach_volume", params }]);
    expect(await world.volumeStatus(volume)).toBe("reserved");
    expect(actionsOf(server)).toEqual(["attach_volume"]);
  });

  test("the first volume comes with the records of the server's own disks", async () => {
    const flavor = world.flavor({ flavorid: "disks", name: "disks", ephemeralGb: 5, swap: 512 });
    const other = world.server("devstack1", { flavor });
    await attach({}, {}, other);
    expect(
      devicesOf(other).map(({ sourceType, destinationType, bootIndex, imageId }) => [
        sourceType,
        destinationType,
        bootIndex,
        imageId,
      ]),
    ).toEqual([
      ["image", "local", 0, CIRROS],
      ["blank", "local", -1, null],
      ["blank", "local", -1, null],
      ["volume", "volume", null, null],
    ]);
    expect(world.store.instances.get(other.uuid)?.systemMetadata).toMatchObject({ block_devices: "True" });
    volume = await world.volume();
    await attach({}, {}, other);
    expect(devicesOf(other)).toHaveLength(5);
  });

  test.each([
    ["DevicePathInUse", 409],
    ["TooManyDiskDevices", 403],
    ["VolumeTaggedAttachNotSupported", 400],
    ["MultiattachNotSupportedByVirtDriver", 400],
  ])("leaves nothing behind if the host cannot take it: %s", async (code, status) => {
    const message = "The supplied device path (/dev/vdb) is in use.";
    world.agentReplies.reserve_block_device_name = new ConductorError(code as "DevicePathInUse", message);
    const reply = await attach();
    expect([reply.status, reply.message]).toEqual([status, message]);
    expect(dataDevices(server)).toEqual([]);
    expect(await world.volumeStatus(volume)).toBe("available");
    expect(actionsOf(server)).toEqual([]);
  });

  test("leaves nothing behind if the server is deleted while its host names the device", async () => {
    const uuid = server.uuid;
    Object.defineProperty(world.agentReplies, "reserve_block_device_name", {
      get: () => {
        world.store.instances.destroy(uuid);
        return "/dev/vdb";
      },
    });
    expect((await attach()).status).toBe(404);
    expect(devicesOf(server)).toEqual([]);
    expect(await world.volumeStatus(volume)).toBe("available");
    expect(world.casts).toEqual([]);
  });

  test("rejects a volume that is not free", async () => {
    await world.volumeRequest("POST", `/volumes/${volume}/action`, { "os-reserve": null });
    const reply = await attach();
    expect([reply.status, reply.message]).toEqual([
      400,
      `Invalid input received: Invalid volume: Volume ${volume} status must be available or downloading to reserve, but the current ` +
        `status is attaching. (HTTP 400) (Request-ID: ${reply.headers["x-compute-request-id"]})`,
    ]);
    expect(dataDevices(server)).toEqual([]);
  });

  test("rejects a volume of another server, and a volume that the server has", async () => {
    withVolume();
    const other = world.server("devstack1");
    const reply = await attach({}, {}, other);
    expect([reply.status, reply.message]).toEqual([
      400,
      `Invalid volume: volume ${volume} is already attached to instances: ${server.uuid}`,
    ]);
    await world.volumeRequest("POST", "/types", {
      volume_type: { name: "shared", extra_specs: { multiattach: "<is> True" } },
    });
    volume = await world.volume({ volume_type: "shared" });
    withVolume();
    expect((await attach()).message).toBe(`Invalid volume: volume ${volume} already attached`);
    expect((await attach({}, { version: 59 }, other)).message).toBe(
      "Multiattach volumes are only supported starting with compute API version 2.60.",
    );
    expect((await attach({}, { version: 60 }, other)).status).toBe(200);
  });

  test("rejects an unknown volume, and one of another project", async () => {
    const demo = await world.token("demo");
    expect((await attach({ volumeId: UNKNOWN })).message).toBe(`Volume ${UNKNOWN} could not be found.`);
    const own = world.server("devstack1", { projectId: world.projectId("demo") });
    const reply = await attach({}, { token: demo }, own);
    expect([reply.status, reply.message]).toEqual([404, `Volume ${volume} could not be found.`]);
  });

  test("rejects a locked server, and one that cannot take it", async () => {
    const projectId = world.projectId("demo");
    const own = world.server("devstack1", { projectId, locked: true });
    expect((await attach({}, { token: await world.token("demo") }, own)).message).toBe(
      `Instance ${own.uuid} is locked`,
    );
    const suspended = world.server("devstack1", { vmState: "suspended" });
    const reply = await attach({}, {}, suspended);
    expect([reply.status, reply.message]).toEqual([
      409,
      `Cannot 'attach_volume' instance ${suspended.uuid} while it is in vm_state suspended`,
    ]);
  });

  describe("to a shelved server that no host has", () => {
    beforeEach(() => {
      server = world.server(null, { vmState: "shelved_offloaded" });
    });

    test("the volume is in use at once, without a device's name", async () => {
      const reply = await attach({ device: "/dev/vdb", delete_on_termination: true });
      expect([reply.status, reply.json("volumeAttachment", "device")]).toEqual([200, null]);
      expect(dataDevices(server)).toMatchObject([{ volumeId: volume, deviceName: null, deleteOnTermination: true }]);
      expect(await world.volumeStatus(volume)).toBe("in-use");
      expect(world.casts).toEqual([]);
      expect(actionsOf(server)).toEqual(["attach_volume"]);
    });

    test("not before 2.20, and without tags", async () => {
      expect((await attach({}, { version: 19 })).message).toBe(
        `Cannot 'attach_volume' instance ${server.uuid} while it is in vm_state shelved_offloaded`,
      );
      expect((await attach({ tag: "data" })).message).toBe(
        "Tagged volume attachment is not supported for shelved-offloaded instances.",
      );
    });

    test("is detached at once, and deleted if it goes with the server", async () => {
      await attach({ delete_on_termination: true });
      expect((await send("DELETE", `/${volume}`)).status).toBe(202);
      await world.runVolumeWork();
      expect(dataDevices(server)).toEqual([]);
      expect((await world.volumeRequest("GET", `/volumes/${volume}`)).status).toBe(404);
      expect(world.casts).toEqual([]);
    });
  });
});

describe("detach", () => {
  test("the volume is detaching until the host has removed the device", async () => {
    const device = withVolume();
    const reply = await send("DELETE", `/${volume}`);
    expect(reply.status).toBe(202);
    const requestId = reply.headers["x-compute-request-id"];
    const params = { instanceUuid: server.uuid, blockDeviceUuid: device.uuid, requestId };
    expect(world.casts).toEqual([{ host: "devstack1", method: "detach_volume", params }]);
    expect(await world.volumeStatus(volume)).toBe("detaching");
    expect(actionsOf(server)).toEqual(["detach_volume"]);
    const again = await send("DELETE", `/${volume}`);
    expect([again.status, again.message]).toEqual([
      400,
      "Invalid volume: Invalid input received: Invalid volume: Unable to detach volume. Volume status must be 'in-use' and attach_status " +
        `must be 'attached' to detach. (HTTP 400) (Request-ID: ${again.headers["x-compute-request-id"]})`,
    ]);
  });

  test("rejects the root device, a volume of no server, and a host that is down", async () => {
    expect((await send("DELETE", `/${UNKNOWN}`)).message).toBe(`Volume ${UNKNOWN} could not be found.`);
    expect((await send("DELETE", `/${volume}`)).message).toBe(
      `Instance ${server.uuid} is not attached to volume ${volume}`,
    );
    withVolume(volume, { bootIndex: 0 });
    const root = await send("DELETE", `/${volume}`);
    expect([root.status, root.message]).toEqual([400, "Cannot detach a root device volume"]);
    const data = await world.volume();
    withVolume(data);
    world.fence("devstack1");
    const down = await send("DELETE", `/${data}`);
    expect([down.status, down.message]).toEqual([409, "Service is unavailable at this time."]);
  });
});

describe("list and show", () => {
  test.each<[number, Body]>([
    [1, {}],
    [70, { tag: "data" }],
    [79, { tag: "data", delete_on_termination: false }],
  ])("2.%i", async (version, more) => {
    withVolume(volume, { tag: "data" });
    const expected = { id: volume, volumeId: volume, serverId: server.uuid, device: "/dev/vdb", ...more };
    expect((await send("GET", "", { version })).json()).toEqual({ volumeAttachments: [expected] });
    expect((await send("GET", `/${volume}`, { version })).json()).toEqual({ volumeAttachment: expected });
  });

  test("2.89 has the ids of attachment and device in place of the volume's", async () => {
    const { uuid, attachmentId } = withVolume();
    expect((await send("GET", `/${volume}`)).json("volumeAttachment")).toEqual({
      ...{ volumeId: volume, serverId: server.uuid, device: "/dev/vdb", tag: null },
      ...{ delete_on_termination: false, attachment_id: attachmentId, bdm_uuid: uuid },
    });
  });

  test("pages", async () => {
    const volumes = [volume, await world.volume(), await world.volume()];
    for (const id of volumes) {
      withVolume(id);
    }
    const idsOf = async (query: string) =>
      ((await send("GET", query)).json("volumeAttachments") as readonly Body[]).map(({ volumeId }) => volumeId);
    expect(await idsOf("?limit=2")).toEqual(volumes.slice(0, 2));
    expect(await idsOf("?limit=1&offset=2")).toEqual([volumes[2]]);
    expect((await send("GET", "?limit=-1")).status).toBe(400);
    expect((await send("GET", "?shape=round", { version: 75 })).status).toBe(400);
    expect((await send("GET", "?shape=round", { version: 74 })).status).toBe(200);
  });

  test("an unknown one is not found", async () => {
    const reply = await send("GET", `/${UNKNOWN}`);
    expect([reply.status, reply.message]).toEqual([
      404,
      `Instance ${server.uuid} is not attached to volume ${UNKNOWN}`,
    ]);
  });

  test.each<[number, Body]>([
    [1, {}],
    [3, { delete_on_termination: true }],
  ])("servers show their volumes in 2.%i", async (version, more) => {
    withVolume(volume, { deleteOnTermination: true });
    const property = "os-extended-volumes:volumes_attached";
    const one = await world.ask({ url: `/compute/v2.1/servers/${server.uuid}`, version });
    expect(one.json("server", property)).toEqual([{ id: volume, ...more }]);
    const all = await world.ask({ url: "/compute/v2.1/servers/detail", version });
    expect(all.json("servers", 0, property)).toEqual([{ id: volume, ...more }]);
  });
});

describe("update", () => {
  test("2.85 changes whether the volume is deleted with its server", async () => {
    const { uuid } = withVolume();
    const body = { volumeId: volume, delete_on_termination: true, serverId: server.uuid, device: "/dev/vdb" };
    expect((await send("PUT", `/${volume}`, { body, version: 85 })).status).toBe(202);
    expect(world.store.blockDevices.get(uuid)?.deleteOnTermination).toBe(true);
    expect(world.casts).toEqual([]);
  });

  test.each<[string, unknown]>([
    ["id", UNKNOWN],
    ["serverId", UNKNOWN],
    ["device", "/dev/vdc"],
    ["tag", "other"],
  ])("does not change %s", async (name, value) => {
    withVolume();
    const reply = await send("PUT", `/${volume}`, { body: { volumeId: volume, [name]: value } });
    expect([reply.status, reply.message]).toEqual([400, `The ${name} property is not mutable`]);
  });

  test("of a volume that the server does not have is not found", async () => {
    const reply = await send("PUT", `/${volume}`, { body: { volumeId: volume } });
    expect([reply.status, reply.message]).toEqual([404, `No volume Block Device Mapping with id ${volume}.`]);
  });
});

describe("swap", () => {
  test.each([1, 85])("2.%i: the host replaces the volume by the new one, which is reserved", async (version) => {
    const device = withVolume();
    const other = await world.volume({ size: 2 });
    const reply = await send("PUT", `/${volume}`, { body: { volumeId: other }, version });
    expect([reply.status, reply.body]).toEqual([202, ""]);
    const [cast] = world.casts;
    expect(cast).toMatchObject({
      host: "devstack1",
      method: "swap_volume",
      params: { instanceUuid: server.uuid, blockDeviceUuid: device.uuid, newVolumeId: other },
    });
    const { newAttachmentId } = (cast?.params ?? {}) as { readonly newAttachmentId?: string };
    const attachment = await world.volumeRequest("GET", `/attachments/${newAttachmentId}`);
    expect(attachment.json("attachment", "volume_id")).toBe(other);
    expect([await world.volumeStatus(volume), await world.volumeStatus(other)]).toEqual(["detaching", "reserved"]);
    expect(actionsOf(server)).toEqual(["swap_volume"]);
  });

  test("is for administrators", async () => {
    const own = world.server("devstack1", { projectId: world.projectId("demo") });
    const reply = await send(
      "PUT",
      `/${volume}`,
      { body: { volumeId: UNKNOWN }, token: await world.token("demo") },
      own,
    );
    expect([reply.status, reply.message]).toEqual([
      403,
      "Policy doesn't allow os_compute_api:os-volumes-attachments:swap to be performed.",
    ]);
  });

  test("rejects volumes that cannot take the place, and leaves all as it was", async () => {
    const old = await world.volume({ size: 2 });
    withVolume(old);
    const swap = async (volumeId: string) => {
      const reply = await send("PUT", `/${old}`, { body: { volumeId }, version: 1 });
      return [reply.status, reply.message];
    };
    expect(await swap(UNKNOWN)).toEqual([400, `Volume ${UNKNOWN} could not be found.`]);
    expect(await swap(volume)).toEqual([400, "Invalid volume: New volume must be the same size or larger."]);
    withVolume(volume, {}, world.server("devstack1"));
    expect(await swap(volume)).toEqual([400, "Invalid volume: New volume must be detached in order to swap."]);
    const reserved = await world.volume({ size: 2 });
    await world.volumeRequest("POST", `/volumes/${reserved}/action`, { "os-reserve": null });
    expect((await swap(reserved))[0]).toBe(400);
    expect(await world.volumeStatus(old)).toBe("in-use");
    expect(world.casts).toEqual([]);
  });
});
