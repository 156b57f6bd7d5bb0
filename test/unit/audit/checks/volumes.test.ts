import { expect, it, test } from "vitest";
import type { Volume, VolumeAttachment } from "../../../../src/audit/read/records.js";
import { findingsOf, migration, NEED, NOW, node, type Parts, server } from "./a-snapshot.js";

/** An attachment of the server `vm` on its host, host-one. */
function attachment(more: Partial<VolumeAttachment> = {}): VolumeAttachment {
  return { id: "use", server: "vm", status: "attached", host: "host-one", isOfDevice: null, ...more };
}

/** A volume of the server `vm`, which nothing has changed for a long time. */
function volume(more: Partial<Volume> = {}): Volume {
  return { id: "disk", name: "data", status: "in-use", changedAt: 0, attachments: [attachment()], ...more };
}

const VM: Parts = { servers: [server("vm", "one", { volumes: ["disk"] })], held: { vm: { one: NEED } } };
const WITHOUT_DEVICE: Parts = { ...VM, servers: [server("vm", "one")] };
const DELETE = { kind: "delete-attachment", volume: "disk", attachment: "use", server: "vm" };

it("reports an attachment of a server that does not exist, and deletes it", () => {
  expect(findingsOf({ volumes: [volume()] })).toEqual([
    {
      code: "orphaned-attachment",
      subject: { kind: "attachment", uuid: "use", name: "" },
      provider: { uuid: "disk", name: "data" },
      explanation: "volume data is attached to server vm, which does not exist; it is attached on host host-one",
      remedies: [DELETE],
      left: null,
    },
  ]);
});

it("leaves attachments of missing servers alone if they are more than --max-share", () => {
  const volumes = [volume(), volume({ id: "second", attachments: [attachment({ id: "other" })] })];
  expect(findingsOf({ volumes }, 0.5).map(({ code, remedies, left }) => [code, remedies.length, left])).toEqual(
    volumes.map(() => [
      "orphaned-attachment",
      0,
      "2 of 2 attachments are of servers that do not exist: more than --max-share",
    ]),
  );
});

it("reports an attachment whose server does not have the volume, and deletes it", () => {
  expect(findingsOf({ ...WITHOUT_DEVICE, volumes: [volume()] })).toMatchObject([
    {
      code: "leftover-attachment",
      explanation:
        "volume data is attached to server name-vm on host host-one, and the server does not have the volume",
      remedies: [DELETE],
    },
  ]);
});

it("reports the attachment on another host if the server has one on its own", () => {
  const attachments = [attachment(), attachment({ id: "source", host: "host-two" })];
  expect(findingsOf({ ...VM, volumes: [volume({ attachments })] })).toMatchObject([
    {
      code: "leftover-attachment",
      subject: { uuid: "source" },
      explanation:
        "volume data is attached to server name-vm on host host-two, and the server has the volume by another attachment",
      remedies: [{ ...DELETE, attachment: "source" }],
    },
  ]);
});

it("deletes the attachment that the block device does not have, whatever its host", () => {
  const attachments = [attachment({ isOfDevice: false }), attachment({ id: "second", isOfDevice: true })];
  expect(findingsOf({ ...VM, volumes: [volume({ attachments })] })).toMatchObject([
    { code: "leftover-attachment", subject: { uuid: "use" }, remedies: [DELETE] },
  ]);
});

it("leaves the only attachment alone if the block device has one that does not exist", () => {
  expect(findingsOf({ ...VM, volumes: [volume({ attachments: [attachment({ isOfDevice: false })] })] })).toMatchObject([
    {
      code: "leftover-attachment",
      remedies: [],
      left:
        "the guest may use it, though the server's block device has another attachment: stop the server, and run " +
        "nova-manage volume_attachment refresh",
    },
  ]);
});

it("reports an attachment on another host than the server's, which no API corrects", () => {
  expect(findingsOf({ ...VM, volumes: [volume({ attachments: [attachment({ host: "host-two" })] })] })).toEqual([
    {
      code: "misplaced-attachment",
      subject: { kind: "attachment", uuid: "use", name: "" },
      provider: { uuid: "disk", name: "data" },
      explanation: "volume data is attached on host host-two, and its server name-vm is on host host-one",
      remedies: [],
      left: "only the server's host can connect the volume: stop the server, and run nova-manage volume_attachment refresh",
    },
  ]);
});

test.each<[string, Volume[], string]>([
  [
    "has no attachment",
    [volume({ status: "available", attachments: [] })],
    "the server has volume data, which is available and has no attachment to it",
  ],
  ["does not exist", [], "the server has volume disk, which does not exist"],
])("reports a server whose volume %s", (_, volumes, explanation) => {
  expect(findingsOf({ ...VM, volumes })).toMatchObject([
    { code: "missing-attachment", subject: { kind: "server", uuid: "vm" }, provider: { uuid: "disk" }, explanation },
  ]);
});

test.each(["in-use", "reserved", "attaching", "detaching"])(
  "sets a volume that is %s by nobody to available",
  (status) => {
    expect(findingsOf({ volumes: [volume({ status, attachments: [] })] })).toEqual([
      {
        code: "stuck-volume",
        subject: { kind: "volume", uuid: "disk", name: "data" },
        provider: null,
        explanation: `volume data is ${status}, has no attachment, and no server has it`,
        remedies: [{ kind: "set-volume", volume: "disk", status: "available" }],
        left: null,
      },
    ]);
  },
);

it("does not free a volume while a cell does not respond, since its servers may have it", () => {
  const unknown = server("other", null, { status: "UNKNOWN", volumes: null });
  expect(findingsOf({ servers: [unknown], volumes: [volume({ attachments: [] })] })).toMatchObject([
    { code: "stuck-volume", remedies: [], left: "a cell does not respond, and its servers may have the volume" },
  ]);
});

it("reports a detachment without progress, and sets the volume to in-use, so that it can be detached", () => {
  const changedAt = NOW - 301_000;
  expect(findingsOf({ ...VM, volumes: [volume({ status: "detaching", changedAt })] })).toMatchObject([
    {
      code: "stuck-volume",
      explanation: "volume data has been detaching for 301 s, and is still attached to server name-vm",
      remedies: [{ kind: "set-volume", volume: "disk", status: "in-use" }],
    },
  ]);
});

test.each(["attaching", "reserved"])("reports a volume that is %s without progress", (status) => {
  const attachments = [attachment({ status, host: null })];
  expect(findingsOf({ ...VM, volumes: [volume({ status, attachments })] })).toMatchObject([
    {
      code: "stuck-volume",
      explanation: `volume data has been ${status} for 10000 s by server name-vm; the attachment was interrupted`,
      remedies: [],
      left: expect.stringMatching(/^restart nova-compute of the server's host/),
    },
  ]);
});

const elsewhere = attachment({ host: "host-two" });
const reserved = volume({ status: "reserved", attachments: [attachment({ status: "reserved", host: null })] });
const moving = migration("vm", "running", { type: "live-migration", changedAt: NOW });
const failed = { vmState: "error", status: "ERROR", volumes: ["disk"] };

test.each<[string, Parts]>([
  ["a volume on its server's host", { ...VM, volumes: [volume()] }],
  ["a volume that nobody uses", { volumes: [volume({ status: "available", attachments: [] })] }],
  [
    "a volume that a host uses without a server",
    { volumes: [volume({ attachments: [attachment({ server: null })] })] },
  ],
  ["a volume of a missing server that has just changed", { volumes: [volume({ changedAt: NOW - 60_000 })] }],
  [
    "a volume by nobody that has just changed",
    { volumes: [volume({ attachments: [], status: "reserved", changedAt: NOW - 60_000 })] },
  ],
  [
    "both attachments of a live migration",
    { ...VM, migrations: [moving], volumes: [volume({ attachments: [attachment(), { ...elsewhere, id: "dest" }] })] },
  ],
  ["an attachment that has just begun", { ...VM, volumes: [{ ...reserved, changedAt: NOW - 299_000 }] }],
  ["a detachment that has just begun", { ...VM, volumes: [volume({ status: "detaching", changedAt: NOW - 299_000 })] }],
  [
    "a volume that a shelved server has reserved",
    {
      servers: [server("vm", null, { vmState: "shelved_offloaded", status: "SHELVED_OFFLOADED", volumes: ["disk"] })],
      volumes: [reserved],
    },
  ],
  [
    "a failed server without attachments",
    { ...VM, servers: [server("vm", "one", failed)], volumes: [volume({ status: "available", attachments: [] })] },
  ],
  [
    "a volume of a bare-metal node",
    { ...VM, nodes: [node("one", { type: "ironic" }), node("two")], volumes: [volume({ attachments: [elsewhere] })] },
  ],
  [
    "a server whose volumes Compute does not return",
    { servers: [server("vm", "one", { volumes: null })], volumes: [volume()], held: { vm: { one: NEED } } },
  ],
  ["a cloud without Block Storage", VM],
])("reports nothing of %s", (_, parts) => {
  expect(findingsOf(parts)).toEqual([]);
});

it("expects of a server that boots from a volume the disk of its flavor without the root disk", () => {
  const flavor = { vcpus: 1, memoryMb: 512, rootGb: 20, ephemeralGb: 2, swap: 0, extraSpecs: {} };
  const servers = [server("vm", "one", { flavor, volumeBacked: true })];
  const held = (amount: number) => ({ vm: { one: { ...NEED, DISK_GB: amount } } });
  expect(findingsOf({ servers, held: held(2) })).toEqual([]);
  expect(findingsOf({ servers, held: held(22) })).toMatchObject([
    {
      code: "wrong-amounts",
      remedies: [{ kind: "hold", consumer: "vm", provider: "one", amounts: { DISK_GB: 2 } }],
    },
  ]);
});
