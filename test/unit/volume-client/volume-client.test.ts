import { beforeEach, describe, expect, test } from "vitest";
import { PlacementError } from "../../../src/placement-client/errors.js";
import { HttpConnectFailure } from "../../../src/runtime/http.js";
import { ClientException } from "../../../src/volume-client/errors.js";
import { VolumeClient } from "../../../src/volume-client/volume-client.js";
import { VolumeClientHarness } from "./volume-client-harness.js";

const SERVER = "33333333-3333-4333-8333-333333333333";
const UNKNOWN = "44444444-4444-4444-8444-444444444444";
const CONNECTOR = { host: "devstack1", initiator: "iqn.1994-05.com.redhat:1", mountpoint: "/dev/vdb" };
const BLANK = { size: 2, name: "data", imageId: null, snapshotId: null, volumeType: null };

let harness: VolumeClientHarness;
let storage: VolumeClientHarness["storage"];
let client: VolumeClient;

beforeEach(() => {
  harness = new VolumeClientHarness();
  ({ storage, client } = harness);
});

describe("Block Storage as an agent uses it", () => {
  test("an attachment is reserved, connected, completed and removed", async () => {
    const volumeId = await storage.volume();
    const reserved = await client.createAttachment(volumeId, SERVER, null);
    expect(reserved).toMatchObject({ volumeId, status: "reserved", connectionInfo: null });
    const connected = await client.updateAttachment(reserved.id, CONNECTOR);
    expect(connected.connectionInfo).toMatchObject({
      driver_volume_type: "iscsi",
      data: { access_mode: "rw" },
      instance: SERVER,
      volume_id: volumeId,
      serial: volumeId,
    });
    await client.completeAttachment(reserved.id);
    expect(await client.getVolume(volumeId)).toMatchObject({
      status: "in-use",
      size: 1,
      uses: [{ attachmentId: reserved.id, instanceUuid: SERVER, host: "devstack1" }],
    });
    expect(await client.listAttachments(SERVER)).toMatchObject([{ id: reserved.id, status: "attached" }]);
    await client.deleteAttachment(reserved.id);
    await client.deleteAttachment(reserved.id);
    expect((await client.getVolume(volumeId)).status).toBe("available");
  });

  test("requests have the microversions of Nova's, and a service token", async () => {
    const volumeId = await storage.volume();
    const { id } = await client.createAttachment(volumeId, SERVER, null);
    await client.getVolume(volumeId);
    await client.deleteAttachment(id);
    expect(harness.requests.map(({ headers }) => headers?.["openstack-api-version"])).toEqual([
      "volume 3.44",
      "volume 3.48",
      "volume 3.44",
    ]);
    expect(harness.requests.every(({ headers }) => headers?.["x-service-token"] === "nova")).toBe(true);
  });

  test("a new volume belongs to the project of the server, and is awaited", async () => {
    storage.isPaused = true;
    const { id } = await client.createVolume(BLANK, SERVER);
    expect(harness.requests[0]?.headers).toMatchObject({ "x-auth-token": "member", "x-service-token": "nova" });
    harness.intercept = () => {
      storage.isPaused = false;
      return undefined;
    };
    expect(await client.untilAvailable(id)).toMatchObject({ id, status: "available", size: 2 });
    expect(harness.waited).toEqual([3000]);
  });

  test("a volume that is not created in time, or ends in error, is reported in Nova's words", async () => {
    storage.isPaused = true;
    const slow = await client.createVolume(BLANK, SERVER);
    await expect(client.untilAvailable(slow.id)).rejects.toMatchObject({
      name: "VolumeNotCreated",
      message:
        `Volume ${slow.id} did not finish being created even after we waited 6 seconds or 3 attempts. ` +
        "And its status is creating.",
    });
    storage.fault("volume.create=fail");
    await storage.runWork();
    await expect(client.untilAvailable(slow.id)).rejects.toThrow("0 seconds or 1 attempts. And its status is error.");
  });

  test("a volume is deleted once; a missing one is no error", async () => {
    const { id } = await client.createVolume(BLANK, SERVER);
    await client.deleteVolume(id);
    await client.deleteVolume(id);
    await expect(client.getVolume(id)).rejects.toMatchObject({
      name: "VolumeNotFound",
      message: `Volume ${id} could not be found.`,
    });
  });

  test("detaching can be taken back", async () => {
    const volumeId = await storage.volume();
    const { id } = await client.createAttachment(volumeId, SERVER, CONNECTOR);
    await client.completeAttachment(id);
    await storage.get("POST", `/volumes/${volumeId}/action`, { "os-begin_detaching": null });
    await client.rollDetaching(volumeId);
    expect((await client.getVolume(volumeId)).status).toBe("in-use");
  });

  test("errors have Cinder's text under Nova's names", async () => {
    const volumeId = await storage.volume();
    await client.createAttachment(volumeId, UNKNOWN, null);
    await expect(client.createAttachment(volumeId, SERVER, null)).rejects.toMatchObject({
      name: "InvalidInput",
      message: expect.stringContaining("status must be available or downloading to reserve"),
    });
    await expect(client.updateAttachment(UNKNOWN, CONNECTOR)).rejects.toMatchObject({
      name: "VolumeAttachmentNotFound",
      message: `Volume attachment ${UNKNOWN} could not be found.`,
    });
    await expect(client.getSnapshot(UNKNOWN)).rejects.toMatchObject({ name: "SnapshotNotFound" });
  });

  test("an unreachable service is tried four times", async () => {
    harness.intercept = ({ url }) => {
      throw new HttpConnectFailure(url, "ECONNREFUSED");
    };
    await expect(client.getVolume(UNKNOWN)).rejects.toMatchObject({
      name: "CinderConnectionFailed",
      message: expect.stringMatching(/^Connection to cinder host failed: no response from http:\/\/cinder/),
    });
    expect(harness.requests).toHaveLength(4);
    expect(harness.waited).toEqual([500, 1000, 2000]);
  });

  test("an attachment that Block Storage fails to remove is tried five times, any other request once", async () => {
    harness.intercept = () => ({
      status: 500,
      body: '{"computeFault": {"code": 500, "message": "The server has erred"}}',
    });
    await expect(client.deleteAttachment(UNKNOWN)).rejects.toThrow(ClientException);
    expect(harness.requests).toHaveLength(5);
    await expect(client.completeAttachment(UNKNOWN)).rejects.toThrow("The server has erred (HTTP 500)");
    expect(harness.requests).toHaveLength(6);
  });

  test("without a service there is no request", async () => {
    const missing = new PlacementError("EndpointNotFound", "no Block Storage");
    const access = { credentials: () => Promise.reject(missing), expire: () => {} };
    const none = new VolumeClient({
      http: { request: () => Promise.reject(new Error("nothing is sent")), close: async () => {} },
      clock: { now: () => 0, monotonic: () => 0 },
      timers: { sleep: async () => {}, after: () => () => {} },
      access,
      accessOf: () => access,
      allocateRetries: 0,
      allocateInterval: 0,
    });
    await expect(none.getVolume(UNKNOWN)).rejects.toMatchObject({ name: "EndpointNotFound" });
  });

  test("a rejected token is renewed once", async () => {
    let rejected = 0;
    harness.intercept = () => {
      rejected += 1;
      return rejected === 1 ? { status: 401, body: "" } : undefined;
    };
    await expect(client.getVolume(UNKNOWN)).rejects.toMatchObject({ name: "VolumeNotFound" });
    harness.intercept = () => ({ status: 401, body: "" });
    await expect(client.getVolume(UNKNOWN)).rejects.toMatchObject({ name: "ClientException", status: 401 });
    expect(harness.requests).toHaveLength(4);
  });
});
