import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { type Domain, type DomainState, powerStateOf } from "../../../drivers/fake-libvirt/domain.js";
import { DomainStore, type DomainStoreDeps } from "../../../drivers/fake-libvirt/domain-store.js";
import { HypervisorFolder } from "../../../drivers/fake-libvirt/hypervisor.js";
import { openStore } from "../../../src/control-plane/store/open-store.js";
import type { Store } from "../../../src/control-plane/store/store.js";
import type { PowerState } from "../../../src/records/index.js";
import type { World } from "../world.js";

/** A guest according to its hypervisor. */
export interface Guest {
  readonly host: string;
  readonly uuid: string;
  readonly state: DomainState;
  readonly power: PowerState;
  /** Its disks were set aside for another host. */
  readonly leftBehind: boolean;
}

/** Amounts by resource class. */
export type Amounts = Readonly<Record<string, number>>;

/** The state of the cluster at one moment. */
export interface Snapshot {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** A copy of the database. */
  readonly store: Store;
  readonly guests: readonly Guest[];
  /** Amounts by consumer and provider uuid. */
  readonly held: ReadonlyMap<string, Readonly<Record<string, Amounts>>>;
  /** Names of root providers by uuid. */
  readonly providers: ReadonlyMap<string, string>;
}

/** Passes a snapshot to `check`; afterwards, the copy of the database is deleted. */
export async function withSnapshot<T>(world: World, check: (snapshot: Snapshot) => T): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "compute-agent-chaos-look-"));
  try {
    const path = join(folder, "state.sqlite");
    copyDatabase(world.directory.database, path);
    const store = await openStore({ path, runtime: world.runtime });
    try {
      const guests = (await Promise.all(world.hosts.map(({ name }) => guestsOf(world, name)))).flat();
      return check(snapshotOf(store, guests, world.runtime.clock.now()));
    } finally {
      store.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Copies a consistent state, even while the control plane writes. */
function copyDatabase(from: string, to: string): void {
  const database = new Database(from, { readonly: true });
  try {
    database.exec(`VACUUM INTO '${to}'`);
  } finally {
    database.close();
  }
}

async function guestsOf({ directory, runtime }: World, host: string): Promise<readonly Guest[]> {
  return guestsIn(new HypervisorFolder(directory.hypervisor(host)), host, runtime);
}

/** Returns the guests of a hypervisor. */
export async function guestsIn(
  folder: HypervisorFolder,
  host: string,
  deps: DomainStoreDeps,
): Promise<readonly Guest[]> {
  const domains = new DomainStore(folder, deps);
  const known = new Map((await domains.all()).map((domain): [string, Domain] => [domain.uuid, domain]));
  return [...(await domains.states())].map(([uuid, state]) => ({
    host,
    uuid,
    state,
    power: powerStateOf(state),
    leftBehind: known.get(uuid)?.leftBehind === true,
  }));
}

export function snapshotOf(store: Store, guests: readonly Guest[], now: number): Snapshot {
  return { now, store, guests, held: readHeld(store), providers: readProviders(store) };
}

function readHeld({ database }: Store): Snapshot["held"] {
  const held = new Map<string, Record<string, Record<string, number>>>();
  const rows = database.all(
    `SELECT c.uuid, p.uuid, r.name, a.used FROM placement_allocations a
     JOIN placement_consumers c ON c.id = a.consumer_id JOIN placement_resource_providers p ON p.id = a.provider_id
     JOIN placement_resource_classes r ON r.id = a.class_id ORDER BY c.uuid, p.uuid, r.name`,
  );
  for (const [consumer, provider, resourceClass, used] of rows) {
    const byProvider = held.get(String(consumer)) ?? {};
    held.set(String(consumer), byProvider);
    const amounts = byProvider[String(provider)] ?? {};
    byProvider[String(provider)] = amounts;
    amounts[String(resourceClass)] = Number(used);
  }
  return held;
}

function readProviders({ database }: Store): Snapshot["providers"] {
  const rows = database.all("SELECT uuid, name FROM placement_resource_providers WHERE id = root_id");
  return new Map(rows.map(([uuid, name]) => [String(uuid), String(name)]));
}
