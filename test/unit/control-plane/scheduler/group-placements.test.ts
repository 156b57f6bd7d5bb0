import { expect, test } from "vitest";
import {
  GroupPlacements,
  type GroupState,
  groupRejection,
} from "../../../../src/control-plane/scheduler/group-placements.js";
import type { ComputeNode, Instance } from "../../../../src/records/index.js";
import { addInstance, addNode, addService, memoryStore, uuidOf } from "../store/support.js";

const at = ({ id, host, hypervisorHostname: node }: ComputeNode): Partial<Instance> => ({
  host,
  node,
  computeId: id,
  vmState: "active",
  taskState: null,
});

test.each([
  ["anti-affinity", { devstack1: false, devstack2: true, devstack3: false }],
  ["affinity", { devstack1: false, devstack2: false, devstack3: true }],
] as const)("a member that is placed anew is none of the others of its %s group", async (policy, rejectedByHost) => {
  const { store } = await memoryStore();
  const owner = { projectId: "project", userId: "user" };
  const group = store.serverGroups.create({ ...owner, name: "group", policy, maxServerPerHost: 0 });
  for (const [id, host] of [
    [1, "devstack1"],
    [2, "devstack2"],
  ] as const) {
    const member = addInstance(store, uuidOf(id), at(addNode(store, addService(store, host))));
    store.serverGroups.addMember(group.id, member.uuid, "user");
  }
  const state = await new GroupPlacements(store).choose<GroupState | null>(
    uuidOf(1),
    async (found) => found,
    () => undefined,
  );
  expect(state).toMatchObject({ ownHost: "devstack1", others: new Map([["devstack2", 1]]) });
  expect(
    Object.fromEntries(Object.keys(rejectedByHost).map((host) => [host, groupRejection(host, state) !== null])),
    "it may stay where it is",
  ).toEqual(rejectedByHost);
});
