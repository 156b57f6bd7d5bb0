import { expect, test } from "vitest";
import { type MigrationStatus, type MigrationType, POWER_STATES, type VmState } from "../../../../src/records/index.js";
import { wrongGuests } from "../../../chaos/oracle/guests.js";
import { addInstance, addNode, addService, memoryStore, uuidOf } from "../../control-plane/store/support.js";

const SERVER = uuidOf(1);
const { running, paused, shutdown, suspended } = POWER_STATES;
const STATES = { [running]: "running", [paused]: "paused", [shutdown]: "shutoff", [suspended]: "suspended" } as const;

/** How much is wrong of a server that is off, after a move from its host. */
async function wrongAfter(
  { migrationType, status }: { readonly migrationType: MigrationType; readonly status: MigrationStatus },
  { vmState, leftBehind }: { readonly vmState: VmState; readonly leftBehind: boolean },
): Promise<number> {
  const { store } = await memoryStore();
  const { host, hypervisorHostname: node, id: computeId } = addNode(store, addService(store));
  addInstance(store, SERVER, { host, node, computeId, vmState, powerState: shutdown });
  const changes = { sourceCompute: host, sourceNode: node };
  store.migrations.create({ instanceUuid: SERVER, migrationType, status, changes });
  const guest = { host, uuid: SERVER, state: "shutoff", power: shutdown, leftBehind } as const;
  return wrongGuests({ store, now: 0, guests: [guest], held: new Map(), providers: new Map() }).length;
}

test.each([
  ["rescued", "failed", 0],
  ["active", "failed", 1],
  ["rescued", "done", 1],
] as const)("%s, and off since an evacuation that is %s now: %i wrong", async (vmState, status, wrong) => {
  expect(await wrongAfter({ migrationType: "evacuation", status }, { vmState, leftBehind: false })).toBe(wrong);
});

test.each([
  ["stopped", "error", 0],
  ["active", "error", 1],
  ["stopped", "reverted", 1],
] as const)("%s, and set aside by a resize that is %s now: %i wrong", async (vmState, status, wrong) => {
  expect(await wrongAfter({ migrationType: "resize", status }, { vmState, leftBehind: true })).toBe(wrong);
});

test.each([
  ["suspended", shutdown, "suspend, shelve!", "right"],
  ["suspended", shutdown, "suspend, shelve", "wrong"],
  ["suspended", shutdown, "shelve!, suspend", "wrong"],
  ["suspended", running, "suspend, resume!, shelve!", "right"],
  ["suspended", running, "suspend, shelve!", "wrong"],
  ["active", paused, "create, pause!, lock", "right"],
  ["active", paused, "create, pause!, reboot", "wrong"],
  ["active", paused, "create, pause?, evacuate!", "right"],
  // Its destination died in it: what the conductor did of it went well.
  ["active", paused, "create, pause?, evacuate", "right"],
  ["active", paused, "create, pause, evacuate!", "wrong"],
  ["paused", running, "pause, unpause!", "right"],
  ["shelved", running, "shelve, unshelve!", "right"],
  ["shelved", running, "shelve", "wrong"],
  // These are what _sync_power_states puts right.
  ["active", shutdown, "create, stop!", "wrong"],
  ["active", suspended, "create, suspend!", "wrong"],
] as const)("%s, power %i, after %s: %s", async (vmState, powerState, done, expected) => {
  const { store } = await memoryStore();
  const { host, hypervisorHostname: node, id: computeId } = addNode(store, addService(store));
  addInstance(store, SERVER, { host, node, computeId, vmState, powerState });
  for (const step of done.split(", ")) {
    const action = step.replace(/[!?]/, "");
    const request = { instanceUuid: SERVER, requestId: `req-${action}` };
    store.actions.start({ action, ...request, userId: null, projectId: null });
    const event = store.actions.startEvent({ ...request, event: "any", host: null });
    if (!step.endsWith("?")) {
      store.actions.finishEvent(event ?? expect.unreachable(), { result: step === action ? "Success" : "Error" });
    }
  }
  const guest = { host, uuid: SERVER, state: STATES[powerState], power: powerState, leftBehind: false };
  const found = wrongGuests({ store, now: 0, guests: [guest], held: new Map(), providers: new Map() });
  expect(found).toHaveLength(expected === "right" ? 0 : 1);
});
