import { COMPUTE_NODE_CHANGES, type ComputeNode, type ComputeNodeChanges } from "../../records/index.js";
import { EqualValues } from "../../runtime/equal-values.js";
import type { ProviderTree } from "../../virt/provider-tree.js";
import { NodeAccount } from "./node-account.js";

const SAVED = Object.keys(COMPUTE_NODE_CHANGES) as readonly (keyof ComputeNodeChanges)[];

/** All that the tracker knows of one node; forgotten as a whole together with the node (bugs 1784705, 1784874). */
export class TrackedNode {
  readonly account = new NodeAccount();
  /** Nova's counts in memory, too: a restart starts again, and with it a host that the scheduler has put last. */
  failedBuilds = 0;
  driverStats: Readonly<Record<string, string>> = {};
  /** The tree as it was last written to Placement. */
  tree: ProviderTree | null = null;
  #row: ComputeNode;
  #persisted: ComputeNode;

  /** @param row as the conductor has it. */
  constructor(row: ComputeNode) {
    this.#row = withSharedValues(row);
    this.#persisted = this.#row;
  }

  /** As it is now; may be ahead of the conductor's. */
  get row(): ComputeNode {
    return this.#row;
  }

  /** Values that are as they were keep the row as it is: most passes over most nodes find nothing new. */
  set(columns: ComputeNodeChanges): void {
    const columnNames = Object.keys(columns) as readonly (keyof ComputeNodeChanges)[];
    if (columnNames.some((column) => !sameValue(this.#row[column], columns[column]))) {
      this.#row = { ...this.#row, ...columns };
    }
  }

  /** What differs from the last persisted row; null: nothing does. */
  changes(): ComputeNodeChanges | null {
    if (this.#row === this.#persisted) {
      return null;
    }
    const changed = SAVED.filter((column) => !sameValue(this.#row[column], this.#persisted[column]));
    if (changed.length === 0) {
      return null;
    }
    return Object.fromEntries(changed.map((column) => [column, this.#row[column]]));
  }

  /** To be called only after the conductor took it: a save that failed is tried again next pass (bug 1834712). */
  persisted(row: ComputeNode): void {
    this.#row = withSharedValues(row);
    this.#persisted = this.#row;
  }
}

/** What says most about a node is the same of many: texts, and lists of texts. */
const CPU_INFOS = new EqualValues<string>();
const HV_SPECS = new EqualValues<ComputeNode["supportedHvSpecs"]>();

function withSharedValues(row: ComputeNode): ComputeNode {
  const { cpuInfo, supportedHvSpecs } = row;
  return { ...row, cpuInfo: CPU_INFOS.shared(cpuInfo), supportedHvSpecs: HV_SPECS.shared(supportedHvSpecs) };
}

function sameValue(left: unknown, right: unknown): boolean {
  return (
    left === right ||
    (typeof left === "object" && typeof right === "object" && JSON.stringify(left) === JSON.stringify(right))
  );
}
