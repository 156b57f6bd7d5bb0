import type { Method } from "./method.js";

/** Consumers that `consumers_under_way` takes at a time. */
export const MOST_CONSUMERS = 5_000;

/** What `compute-cluster manage` asks besides: what nova-manage reads and writes in Nova's databases (spec 7.3 to 7.6). */
export interface OperatorMethods {
  /** The cell of an instance, also of a deleted one; null: it is mapped to none. */
  instance_mapping: Method<{ uuid: string }, "cell0" | "cell1" | null>;
  /** Uuids of those that are not deleted and in cell1, oldest first. */
  instances_of_cell: Method<Record<string, never>, string[]>;
  /**
   * Which of these consumers are instances that are being built, moved or changed, or migrations that run or have just ended:
   * what they hold is about to fit (7.4 OPT). At most {@link MOST_CONSUMERS} a time.
   */
  consumers_under_way: Method<{ uuids: readonly string[] }, string[]>;
  host_aggregates: Method<Record<string, never>, HostAggregate[]>;
  /** Whether the host is mapped to a cell. */
  host_mapping: Method<{ host: string }, boolean>;
  /** Gives a node, and its instance, to another service (7.6). @throws ComputeHostNotFound, ServiceNotFound, ConductorError */
  ironic_compute_node_move: Method<{ node: string; host: string }, null>;
}

export interface HostAggregate {
  readonly uuid: string;
  readonly name: string;
  readonly hosts: readonly string[];
}
