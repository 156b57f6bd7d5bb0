import { expect, it, test } from "vitest";
import type { Finding } from "../../../../src/audit/checks/finding.js";
import { findingsOf, guest, migration, NEED, NOW, type Parts, server } from "./a-snapshot.js";

/** Checks a server on host-two that has a guest there and another one on host-one. */
function checkLeftGuests(more: Parts = {}): readonly Finding[] {
  return findingsOf({
    servers: [server("vm", "two")],
    held: { vm: { two: NEED } },
    guests: { "host-one": [guest("vm")], "host-two": [guest("vm", "running")] },
    ...more,
  });
}

const BASE = { code: "stale-guest", subject: { kind: "server", uuid: "vm", name: "name-vm" }, remedies: [] };

it("reports a guest on another host than its server, with the command that removes it", () => {
  expect(checkLeftGuests()).toEqual([
    {
      ...BASE,
      provider: { uuid: "one", name: "node-one" },
      explanation:
        "the server is on host host-two, and host host-one has a guest of it (shut off) that no move explains",
      left: "find out what started it before you remove it on the hypervisor of host-one; deleting the server removes it as well",
    },
  ]);
});

test.each<[string, Parts]>([
  ["a resize that an evacuation has ended", { migrations: [migration("vm", "error", { type: "resize" })] }],
  ["a move whose server was reset", { migrations: [migration("vm", "finished")] }],
])("a guest that was left by %s", (_what, more) => {
  expect(checkLeftGuests(more)).toMatchObject([
    {
      ...BASE,
      left: "a resize or a cold migration left it: evacuating the server from its destination, or deleting the server, removes it from host-one",
    },
  ]);
});

it("reports a guest of a server without a host", () => {
  const servers = [server("vm", null, { vmState: "shelved_offloaded" })];
  expect(checkLeftGuests({ servers, held: {}, guests: { "host-one": [guest("vm")] } })).toMatchObject([
    {
      ...BASE,
      explanation: "the server is on no host, and host host-one has a guest of it (shut off) that no move explains",
    },
  ]);
});

it("reports a guest without a server, also on a host without a compute node", () => {
  expect(checkLeftGuests({ guests: { "host-gone": [guest("nobody")] } })).toEqual([
    {
      code: "guest-without-server",
      subject: { kind: "guest", uuid: "nobody", name: "guest-nobody" },
      provider: { uuid: "host-gone", name: "host-gone" },
      explanation: "host host-gone has guest guest-nobody (shut off), and no server has its uuid",
      remedies: [],
      left: "nova-compute on host-gone removes guests of deleted servers by itself (running_deleted_instance_action); any other guest is not Nova's",
    },
  ]);
});

test.each<[string, Parts]>([
  ["the guests were not read", { guests: {} }],
  [
    "the server waits for the confirmation of its move",
    {
      servers: [server("vm", "two", { vmState: "resized" })],
      migrations: [migration("vm", "finished")],
      held: { vm: { two: NEED }, move: { one: NEED } },
    },
  ],
  ["the server is on the move", { servers: [server("vm", "two", { taskState: "migrating" })] }],
  ["its move has just ended", { migrations: [migration("vm", "completed", { changedAt: NOW - 1 })] }],
  [
    "the host has not cleaned up after an evacuation",
    { migrations: [migration("vm", "done", { type: "evacuation" })] },
  ],
])("none while %s", (_what, more) => {
  expect(checkLeftGuests(more)).toEqual([]);
});
