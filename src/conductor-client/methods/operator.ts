import { hostName, listOf, name } from "../../records/field.js";
import { nothing, reads, trusted, writes } from "./method.js";

/** Consumers that `consumers_under_way` takes at a time. */
export const MAX_CONSUMERS = 5_000;

/** What `compute-cluster manage` asks besides: what nova-manage reads and writes in Nova's databases (spec 7.3 to 7.6). */
export const OPERATOR_METHODS = {
  /** The cell of an instance, also of a deleted one; null: it is mapped to none. */
  instance_mapping: reads({ uuid: name }, trusted<"cell0" | "cell1" | null>()),
  /** Uuids of those that are not deleted and in cell1, oldest first. */
  instances_of_cell: reads({}, trusted<string[]>()),
  /**
   * Which of these consumers are instances that are being built, moved or changed, or migrations that run or have just ended:
   * what they hold is about to fit (7.4 OPT).
   */
  consumers_under_way: reads({ uuids: listOf(name, MAX_CONSUMERS) }, trusted<string[]>()),
  host_aggregates: reads({}, trusted<HostAggregate[]>()),
  /** Whether the host is mapped to a cell. */
  host_mapping: reads({ host: hostName }, trusted<boolean>()),
  /** Gives a node, and its instance, to another service (7.6). @throws ComputeHostNotFound, ServiceNotFound, ConductorError */
  ironic_compute_node_move: writes({ node: name, host: hostName }, nothing),
};

export interface HostAggregate {
  readonly uuid: string;
  readonly name: string;
  readonly hosts: readonly string[];
}
