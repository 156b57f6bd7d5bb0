import { beforeEach, describe, expect, test } from "vitest";
import type { Instance } from "../../../../src/records/index.js";
import { ApiWorld, CIRROS, type Reply } from "../../../unit/control-plane/compute/api-world.js";

const ROOT = { boot_index: 0, uuid: CIRROS, source_type: "image", destination_type: "local" };

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open(0, false);
  world.flavor();
  world.host("devstack1");
  const west = world.store.aggregates.create({ name: "west", metadata: { availability_zone: "west" } });
  world.host("devstack2");
  world.store.aggregates.addHost(west.id, "devstack2");
  world.agentReplies.reserve_block_device_name = "/dev/vdb";
});

async function volumeIn(zone: string): Promise<string> {
  const id = await world.volume();
  world.store.database.execute("UPDATE block_storage_volumes SET availability_zone = ? WHERE id = ?", zone, id);
  return id;
}

function create(volumes: readonly string[], availability_zone?: string): Promise<Reply> {
  const data = volumes.map((uuid) => ({ boot_index: -1, uuid, source_type: "volume", destination_type: "volume" }));
  const server = { name: "vm1", flavorRef: "1", imageRef: CIRROS, networks: "none", availability_zone };
  const body = { server: { ...server, block_device_mapping_v2: [ROOT, ...data] } };
  return world.ask({ method: "POST", url: "/compute/v2.1/servers", version: 67, body });
}

const MISMATCH = "The availability zone between the server and its attached volumes do not match";

describe("without cross_az_attach", () => {
  test("a new server is pinned to the zone of its volumes, unless that is the default one", async () => {
    const west = await create([await volumeIn("west")]);
    const zoneOf = (reply: Reply) => world.store.requests.spec(String(reply.json("server", "id")))?.availabilityZone;
    expect(zoneOf(west)).toBe("west");
    expect(zoneOf(await create([await volumeIn("nova")]))).toBeNull();
    expect(zoneOf(await create([await volumeIn("west")], "west"))).toBe("west");
  });

  test("a new server is not created in another zone, nor with volumes of several zones", async () => {
    const [west, nova] = [await volumeIn("west"), await volumeIn("nova")];
    const other = await create([nova], "west");
    expect([other.status, other.message]).toEqual([
      400,
      `${MISMATCH}: Server and volumes are not in the same availability zone. Server is in: west. Volumes are in: nova.`,
    ]);
    expect((await create([west, nova])).message).toBe(
      `${MISMATCH}: Volumes are in different availability zones: west,nova.`,
    );
    expect(await world.volumeStatus(nova)).toBe("available");
  });

  test("a volume of another zone is not attached", async () => {
    const server = world.server("devstack1");
    const volumeId = await volumeIn("west");
    const url = `/compute/v2.1/servers/${server.uuid}/os-volume_attachments`;
    const reply = await world.ask({ method: "POST", url, body: { volumeAttachment: { volumeId } } });
    expect([reply.status, reply.message]).toEqual([
      400,
      `Invalid volume: Instance ${server.uuid} and volume ${volumeId} are not in the same availability_zone. ` +
        "Instance is in nova. Volume is in west",
    ]);
  });

  test("a server is not unshelved in another zone than that of its volumes", async () => {
    const server: Instance = world.server(null, { vmState: "shelved_offloaded" });
    const volumeId = await volumeIn("nova");
    const types = { sourceType: "volume", destinationType: "volume" } as const;
    world.store.blockDevices.create({ instanceUuid: server.uuid, volumeId, ...types });
    const reply = await world.act(server, { unshelve: { availability_zone: "west" } }, 77);
    expect([reply.status, reply.message]).toEqual([
      409,
      `${MISMATCH}: The specified availability zone does not match the volume ${volumeId} attached to the server. ` +
        "Specified availability zone is west. Volume is in nova..",
    ]);
  });
});
