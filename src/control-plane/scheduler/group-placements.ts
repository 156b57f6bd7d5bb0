import { mostMembersOnHost, type ServerGroup } from "../../records/index.js";
import { KeyedLock } from "../../runtime/locks.js";
import type { Store } from "../store/store.js";

/** The server group of what is to be placed, and where its other members are at this moment. */
export interface GroupState {
  readonly policy: ServerGroup["policy"];
  /** Members of an anti-affinity group that a host may have. */
  readonly mostOnHost: number;
  /** Other members by host: there, on their way there, or still able to come back there. */
  readonly others: ReadonlyMap<string, number>;
  /** Hosts that have a member, the one that is placed too: where affinity holds it. */
  readonly hosts: ReadonlySet<string>;
  /** Where the one that is placed is itself. */
  readonly ownHost: string | null;
}

/** Why the group keeps its member from a host, in words that follow a count; null: it does not. */
export function groupRejection(host: string, group: GroupState | null): string | null {
  if (group === null) {
    return null;
  }
  const { policy, mostOnHost, others, hosts, ownHost } = group;
  const isRejected =
    policy === "affinity"
      ? hosts.size > 0 && !hosts.has(host)
      : policy === "anti-affinity" && host !== ownHost && (others.get(host) ?? 0) >= mostOnHost;
  return isRejected ? `refused by the ${policy} of its server group` : null;
}

/**
 * Where members of server groups are and are about to be (spec 6.9). A host that has been chosen stands in no record until its
 * agent has claimed it: it is remembered here, so that many members that are built at once are placed as if one came after the
 * other. What a control plane forgets that ends, the late check on the destination finds.
 */
export class GroupPlacements {
  readonly #store: Store;
  readonly #locks = new KeyedLock<number>();
  /** By instance. */
  readonly #chosen = new Map<string, string>();

  /** Listens to the store for as long as that is open. */
  constructor(store: Store) {
    this.#store = store;
    store.onChange(({ kind, id }) => {
      if (kind === "instance" && this.#chosen.has(String(id)) && !this.#isUnderWay(String(id))) {
        this.#chosen.delete(String(id));
      }
    });
  }

  /** Chooses a host while no other member of the group is given one. */
  async choose<T>(
    instanceUuid: string,
    work: (group: GroupState | null) => Promise<T>,
    hostOf: (chosen: T) => string | undefined,
  ): Promise<T> {
    const id = this.#store.serverGroups.ofInstance(instanceUuid)?.id;
    if (id === undefined) {
      return work(null);
    }
    return this.#locks.run(id, async () => {
      // It may have been deleted meanwhile, and others have been placed.
      const chosen = await work(this.#stateFor(instanceUuid));
      const host = hostOf(chosen);
      if (host !== undefined) {
        this.#chosen.set(instanceUuid, host);
      }
      return chosen;
    });
  }

  /** The instance does not go where it was to go. */
  forget(instanceUuid: string): void {
    this.#chosen.delete(instanceUuid);
  }

  /** One pass over the members, whatever the number of hosts. */
  #stateFor(instanceUuid: string): GroupState | null {
    const group = this.#store.serverGroups.ofInstance(instanceUuid);
    if (group === null) {
      return null;
    }
    const others = new Map<string, number>();
    const hosts = new Set<string>();
    let ownHost: string | null = null;
    for (const member of this.#store.serverGroups.places(group.id)) {
      const isOwn = member.instanceUuid === instanceUuid;
      const chosen = isOwn || !member.underWay ? undefined : this.#chosen.get(member.instanceUuid);
      const here = [member.host ?? chosen].filter((host) => typeof host === "string");
      for (const host of here) {
        hosts.add(host);
      }
      if (isOwn) {
        ownHost = member.host;
        continue;
      }
      for (const host of new Set([...here, ...member.moves, ...(chosen === undefined ? [] : [chosen])])) {
        others.set(host, (others.get(host) ?? 0) + 1);
      }
    }
    return { policy: group.policy, mostOnHost: mostMembersOnHost(group), others, hosts, ownHost };
  }

  /** An instance that is at rest, is deleted or has failed is where its row says. */
  #isUnderWay(instanceUuid: string): boolean {
    const instance = this.#store.instances.get(instanceUuid);
    return instance !== null && (instance.taskState !== null || instance.vmState === "building");
  }
}
