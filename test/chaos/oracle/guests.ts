import { type Instance, POWER_STATES, type PowerState, type VmState } from "../../../src/records/index.js";
import type { Violation } from "../violation.js";
import { isMetal } from "./bare-metal.js";
import { endedWell } from "./last-words.js";
import type { Guest, Snapshot } from "./snapshot.js";

const { running, paused, shutdown, suspended } = POWER_STATES;

/** What a guest does while its server is in a state; absent: it may be anything, or missing. */
const POWER: Partial<Readonly<Record<VmState, readonly PowerState[]>>> = {
  active: [running],
  paused: [paused],
  suspended: [suspended],
  stopped: [shutdown],
  rescued: [running],
  resized: [running, shutdown],
  shelved: [shutdown],
};

/**
 * Every server has its guest, on its host, as its state says; and nobody else has one of it (spec 9.1). `powerLoss`: a rescued guest
 * may be shut off, since nobody looks after its power (as Nova's `_sync_instance_power_state`). `reset`: of servers whose state an
 * operator has set nobody knows what their guests do, nor whether there is one.
 */
export function wrongGuests(
  snapshot: Snapshot,
  { powerLoss = false, reset = new Set() }: { readonly powerLoss?: boolean; readonly reset?: ReadonlySet<string> } = {},
): Violation[] {
  const { store, guests } = snapshot;
  const expected = powerLoss ? { ...POWER, rescued: [running, shutdown] } : POWER;
  const misplaced = guests.flatMap((guest) => checkGuestLocation(snapshot, guest));
  const libvirts = store.instances
    .list({ deleted: false })
    .filter(({ uuid, flavor }) => !(isMetal(flavor) || reset.has(uuid)));
  const wrong = libvirts.flatMap((instance) =>
    wrongGuest(
      store,
      instance,
      powersOf(store, instance, expected),
      guests.find(({ uuid, host }) => uuid === instance.uuid && host === instance.host),
    ),
  );
  return [...misplaced, ...wrong];
}

/**
 * An action that has failed, or whose agent died, after its driver had done its work keeps the vm_state. What its guest then does, nothing puts right where
 * `_sync_power_states` only warns, or does not look (spec 4.10).
 */
function powersOf(
  store: Snapshot["store"],
  { uuid, vmState, host }: Instance,
  expected: typeof POWER,
): (typeof POWER)[VmState] {
  const powerActions = store.actions.list(uuid).filter(({ action }) => !POWER_NEUTRAL_ACTIONS.test(action));
  const settled = powerActions.findIndex((action) => endedWell(store, action));
  const left = (settled === -1 ? powerActions : powerActions.slice(0, settled)).map(({ action }) => LEFT[action]);
  const powers = expected[vmState];
  if (isStoppedByEvacuation(store, uuid, host)) {
    left.push(shutdown);
  }
  return powers && [...powers, ...(UNHEEDED[vmState] ?? []).filter((power) => left.includes(power))];
}

/** Its host has stopped the guest for an evacuation that then came to nothing (spec 3.3 GAP-c). */
function isStoppedByEvacuation({ migrations }: Snapshot["store"], instanceUuid: string, host: string | null): boolean {
  const from = { instanceUuid, migrationTypes: ["evacuation"], statuses: ["failed", "error"] } as const;
  return host !== null && migrations.byFilters({ ...from, sourceCompute: host }).length > 0;
}

const POWER_NEUTRAL_ACTIONS =
  /^(lock|unlock|createImage|createBackup|live-migration|live_migration_cancel|live_migration_force_complete)$/;

const LEFT: Readonly<Record<string, PowerState>> = {
  pause: paused,
  unpause: running,
  resume: running,
  shelve: shutdown,
  stop: shutdown,
  unshelve: running,
};

const UNHEEDED: typeof POWER = {
  active: [paused],
  paused: [running],
  suspended: [running, shutdown],
  rescued: [shutdown],
  shelved: [running],
};

function checkGuestLocation({ store }: Snapshot, { host, uuid, state, leftBehind }: Guest): Violation[] {
  const guest = `its guest (${state}${leftBehind ? ", left behind" : ""}) is on ${host}`;
  const instance = store.instances.get(uuid, { readDeleted: true });
  if (instance === null) {
    return [{ subject: uuid, what: `${guest}; there is no such server` }];
  }
  if (instance.deleted !== 0) {
    return [{ subject: uuid, what: `${guest}; the server is deleted` }];
  }
  if (instance.host === host) {
    return [];
  }
  if (leftBehind && waitsAtSource(store, instance, host)) {
    return [];
  }
  return [{ subject: uuid, what: `${guest}; the server is ${instance.vmState} on ${instance.host}` }];
}

/**
 * What a source set aside waits there for the confirmation. Where the destination failed after it had got the instance, nobody
 * confirms: it is removed with the server (spec 6.3 row 7, 3.5).
 */
function waitsAtSource(store: Snapshot["store"], { uuid, vmState }: Instance, host: string): boolean {
  return store.migrations
    .byFilters({ instanceUuid: uuid, sourceCompute: host, migrationTypes: ["migration", "resize"] })
    .some(({ status }) => status === "error" || (status === "finished" && vmState === "resized"));
}

/** A server in error may be stopped: what the revert has not brought back is the guest again when it is started (spec 6.2). */
function hasFailedToComeBack(store: Snapshot["store"], instanceUuid: string, host: string | null): boolean {
  const back = { instanceUuid, migrationTypes: ["migration", "resize"], statuses: ["error"] } as const;
  return host !== null && store.migrations.byFilters({ ...back, sourceCompute: host }).length > 0;
}

function wrongGuest(
  store: Snapshot["store"],
  { uuid, host, vmState, powerState }: Instance,
  powers: readonly PowerState[] | undefined,
  guest: Guest | undefined,
): Violation[] {
  if (powers === undefined) {
    return [];
  }
  if (guest === undefined) {
    return [{ subject: uuid, what: `it is ${vmState} on ${host}, and has no guest there` }];
  }
  if (guest.leftBehind && !(vmState === "stopped" && hasFailedToComeBack(store, uuid, host))) {
    return [{ subject: uuid, what: `it is ${vmState} on ${host}, where its guest is left behind` }];
  }
  if (powers.includes(guest.power) && powerState === guest.power) {
    return [];
  }
  return [
    { subject: uuid, what: `it is ${vmState} on ${host} with power state ${powerState}; its guest is ${guest.state}` },
  ];
}
