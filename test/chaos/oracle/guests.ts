import { type Instance, POWER_STATES, type PowerState, type VmState } from "../../../src/records/index.js";
import type { Violation } from "../violation.js";
import { isMetal } from "./bare-metal.js";
import { endedWell } from "./last-words.js";
import type { Guest, Snapshot } from "./snapshot.js";

const { running, paused, shutdown, suspended } = POWER_STATES;

/** Permitted power states of a guest by its server's state; without an entry, it may have any state or be missing. */
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
 * Checks that every server has its guest, on its host and in its state, and that there are no other guests (spec 9.1).
 * `powerLoss`: a rescued guest may be shut off, since its power is not synced (as in Nova's
 * `_sync_instance_power_state`). `reset`: servers whose state an operator has set; their guests may have any state or be
 * missing.
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
 * Returns the permitted power states. If an action failed, or its agent died, after the driver's work, the vm_state is
 * unchanged. The guest's state is then not corrected where `_sync_power_states` only warns, or skips the server (spec
 * 4.10).
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

/** Returns true if the host has stopped the guest for an evacuation that failed (spec 3.3 GAP-c). */
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
 * Returns true if a guest on the source awaits confirmation. If the destination failed after it had the instance, no
 * confirmation follows, and the guest is removed with the server (spec 6.3 row 7, 3.5).
 */
function waitsAtSource(store: Snapshot["store"], { uuid, vmState }: Instance, host: string): boolean {
  return store.migrations
    .byFilters({ instanceUuid: uuid, sourceCompute: host, migrationTypes: ["migration", "resize"] })
    .some(({ status }) => status === "error" || (status === "finished" && vmState === "resized"));
}

/** Returns true after a failed revert: the server is in error and stopped, and starting it recreates the guest (spec 6.2). */
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
