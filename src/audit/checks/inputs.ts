import { append } from "../../runtime/collections.js";
import {
  type Consumer,
  type ConsumerRecord,
  type Held,
  type Hypervisor,
  hasEnded,
  type Migration,
  type Port,
  type Provider,
  type Server,
  type Snapshot,
} from "../read/records.js";

/** Timeouts of moves, in milliseconds. */
export interface MoveTimeouts {
  /** Time after a migration's last change during which its server still counts as moving. */
  readonly settles: number;
  /** Time without progress after which a move counts as stuck. */
  readonly stuck: number;
}

export const DEFAULT_MOVE_TIMEOUTS: MoveTimeouts = { settles: 60_000, stuck: 300_000 };

/** The role of a provider for Nova, by the root of its tree. */
export type ProviderKind = "compute" | "nodeless" | "sharing" | "foreign";

/** A snapshot with the lookups that checks need. */
export class SnapshotIndex {
  readonly snapshot: Snapshot;
  readonly moveTimeouts: MoveTimeouts;
  readonly #nodes: ReadonlyMap<string, Hypervisor>;
  readonly #nodesByHost: ReadonlyMap<string, Hypervisor>;
  readonly #trees = new Map<string, string[]>();
  readonly #sharing: readonly Provider[];
  readonly #sharers = new Map<string, readonly string[]>();
  readonly #migrations = new Map<string, Migration>();
  readonly #moves = new Map<string, Migration[]>();
  readonly #holders = new Map<string, Consumer[]>();
  readonly #ports = new Map<string, Port[]>();

  constructor(snapshot: Snapshot, moveTimeouts: MoveTimeouts = DEFAULT_MOVE_TIMEOUTS) {
    this.snapshot = snapshot;
    this.moveTimeouts = moveTimeouts;
    this.#nodes = new Map(snapshot.hypervisors.map((node) => [node.uuid, node]));
    this.#nodesByHost = new Map(snapshot.hypervisors.map((node) => [`${node.host} ${node.name}`, node]));
    for (const { uuid, root } of snapshot.providers.values()) {
      append(this.#trees, root, uuid);
    }
    this.#sharing = [...snapshot.providers.values()].filter(({ sharedWith }) => sharedWith !== undefined);
    for (const migration of snapshot.migrations) {
      if (migration.uuid !== null) {
        this.#migrations.set(migration.uuid, migration);
      }
      append(this.#moves, migration.server, migration);
    }
    for (const consumer of snapshot.consumers.values()) {
      for (const uuid of Object.keys(consumer.held)) {
        append(this.#holders, uuid, consumer);
      }
    }
    for (const port of snapshot.ports?.values() ?? []) {
      append(this.#ports, port.device_id, port);
    }
  }

  node(uuid: string): Hypervisor | undefined {
    return this.#nodes.get(uuid);
  }

  /**
   * Returns the compute node named by the server's record, or undefined if the server is unplaced or os-hypervisors
   * does not list the node.
   */
  nodeOf({ host, node }: Pick<Server, "host" | "node">): Hypervisor | undefined {
    return this.#nodesByHost.get(`${host} ${node}`);
  }

  portsOf(server: Server): readonly Port[] {
    return this.#ports.get(server.id) ?? [];
  }

  sourceOf({ sourceHost, sourceNode }: Migration): Hypervisor | undefined {
    return this.#nodesByHost.get(`${sourceHost} ${sourceNode}`);
  }

  provider(uuid: string): Provider | undefined {
    return this.snapshot.providers.get(uuid);
  }

  /** Returns a provider's name for messages. */
  name(uuid: string): string {
    return this.provider(uuid)?.name ?? uuid;
  }

  rootOf(uuid: string): string {
    return this.provider(uuid)?.root ?? uuid;
  }

  /** Returns the providers of a tree including its root, or none if there is no such tree. */
  treeOf(root: string): readonly string[] {
    return this.#trees.get(root) ?? [];
  }

  /** Returns the providers that share resources with a member of the tree. */
  sharersOf(root: string): readonly string[] {
    const known = this.#sharers.get(root);
    if (known) {
      return known;
    }
    const tree = this.treeOf(root);
    const found = this.#sharing
      .filter(({ uuid, sharedWith }) => !tree.includes(uuid) && tree.some((member) => sharedWith?.has(member)))
      .map(({ uuid }) => uuid);
    this.#sharers.set(root, found);
    return found;
  }

  kindOf(uuid: string): ProviderKind {
    const root = this.rootOf(uuid);
    if (this.#nodes.has(root)) {
      return "compute";
    }
    const top = this.provider(root);
    if (this.provider(uuid)?.sharedWith || top?.sharedWith) {
      return "sharing";
    }
    const counts = ["VCPU", "PCPU", "MEMORY_MB"].some((name) => name in (top?.inventories ?? {}));
    return top && (top.isNovas || counts) ? "nodeless" : "foreign";
  }

  /** Returns the consumers with allocations on the provider. */
  holders(uuid: string): readonly Consumer[] {
    return this.#holders.get(uuid) ?? [];
  }

  /** Returns each consumer with allocations in the tree once. */
  holdersIn(root: string): readonly Consumer[] {
    return [...new Set(this.treeOf(root).flatMap((uuid) => this.holders(uuid)))];
  }

  heldBy(consumer: string): Held {
    return this.snapshot.consumers.get(consumer)?.held ?? {};
  }

  record(consumer: string): ConsumerRecord | undefined {
    return this.snapshot.records.get(consumer);
  }

  migration(uuid: string): Migration | undefined {
    return this.#migrations.get(uuid);
  }

  movesOf({ id }: Pick<Server, "id">): readonly Migration[] {
    return this.#moves.get(id) ?? [];
  }

  /**
   * Returns the move that the server's owner must confirm or revert. The server is at rest although its migration has
   * not ended.
   */
  unconfirmed(server: Server): Migration | undefined {
    return server.vmState === "resized" ? this.movesOf(server).find(({ status }) => status === "finished") : undefined;
  }

  /**
   * Returns whether a move waits for a confirmation that the API no longer accepts. An operator has reset the state of
   * its server, which is therefore not `resized`, so the API accepts neither a confirmation nor a revert.
   */
  isAbandoned(move: Migration, { vmState, taskState, status }: Server): boolean {
    const isReset = vmState !== "resized" && vmState !== "building" && taskState === null && status !== "UNKNOWN";
    return move.status === "finished" && isReset && this.snapshot.now - move.changedAt > this.moveTimeouts.stuck;
  }

  /** Returns whether a server can be checked: no task builds, moves or deletes it, and its cell responds. */
  isAtRest(server: Server): boolean {
    if (server.taskState !== null || server.status === "UNKNOWN" || server.vmState === "building") {
      return false;
    }
    const resting = this.unconfirmed(server);
    return this.movesOf(server).every(
      (move) =>
        (hasEnded(move) || move === resting || this.isAbandoned(move, server)) &&
        this.snapshot.now - move.changedAt > this.moveTimeouts.settles,
    );
  }
}
