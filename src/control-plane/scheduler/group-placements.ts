import { mostMembersOnHost, type ServerGroup } from "../../records/index.js";
import { KeyedLock } from "../../runtime/locks.js";
import type { Store } from "../store/store.js";

/** The server group of an instance that is being scheduled, with the current hosts of its members. */
export interface GroupState {
  readonly policy: ServerGroup["policy"];
  /** Max members per host of an anti-affinity group. */
  readonly mostOnHost: number;
  /** Number of other members by host: on it, moving to it, or still able to return to it. */
  readonly others: ReadonlyMap<string, number>;
  /** Hosts with a member, including the scheduled instance; affinity permits only these. */
  readonly hosts: ReadonlySet<string>;
  /** Current host of the scheduled instance. */
  readonly ownHost: string | null;
}

/** Returns why the group's policy rejects the host, worded to follow a count; null if it does not. */
export function groupRejection(host: string, group: GroupState | null): string | null {
  if (group === null) {
    return null;
  }
  const { policy, mostOnHost, others, hosts, ownHost } = group;
  const isRejected =
    policy === "affinity"
      ? hosts.size > 0 && !hosts.has(host)
      : policy === "anti-affinity" && host !== ownHost && (others.get(host) ?? 0) >= mostOnHost;
  return isRejected ? `rejected by the ${policy} policy of its server group` : null;
}

/**
 * Current and upcoming hosts of server group members (spec 6.9). No record names a selected host until its agent has
 * claimed, so selections are stored here. Members that are built in parallel are thus placed as if one after the other.
 * Selections are lost when the control plane ends; the late check on the destination covers that.
 */
export class GroupPlacements {
  readonly #store: Store;
  readonly #locks = new KeyedLock<number>();
  /** Selected hosts by instance. */
  readonly #chosen = new Map<string, string>();

  /** Subscribes to the store's changes; there is no unsubscribe. */
  constructor(store: Store) {
    this.#store = store;
    store.onChange(({ kind, id }) => {
      if (kind === "instance" && this.#chosen.has(String(id)) && !this.#isUnderWay(String(id))) {
        this.#chosen.delete(String(id));
      }
    });
  }

  /** Selects a host while no other member of the group is being scheduled. */
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
      // Read after the wait: the instance may have been deleted, and other members placed.
      const chosen = await work(this.#stateFor(instanceUuid));
      const host = hostOf(chosen);
      if (host !== undefined) {
        this.#chosen.set(instanceUuid, host);
      }
      return chosen;
    });
  }

  /** Drops an instance's selection when it does not go to the selected host. */
  forget(instanceUuid: string): void {
    this.#chosen.delete(instanceUuid);
  }

  /** Reads the members once, regardless of the number of hosts. */
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

  /** Returns false if the instance's record has its final host: it is idle, deleted, or failed. */
  #isUnderWay(instanceUuid: string): boolean {
    const instance = this.#store.instances.get(instanceUuid);
    return instance !== null && (instance.taskState !== null || instance.vmState === "building");
  }
}
