import type { Faults } from "../../faults/faults.js";
import type { Logger } from "../../runtime/runtime.js";
import type { CancelTimer, Clock, Timers } from "../../runtime/time.js";
import type { IronicNode, NodeChanges, NodeLocks, NodeStore } from "./node-store.js";
import type { PortStore } from "./port-store.js";
import {
  type HardwareDelays,
  type HardwareWork,
  hardwarePoint,
  hasNoTarget,
  nextState,
  WORK_OF_STATE,
} from "./provision-states.js";

export interface HardwareParts {
  readonly nodes: NodeStore;
  readonly ports: PortStore;
  readonly locks: NodeLocks;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly faults: Faults;
  readonly delays: HardwareDelays;
  readonly logger: Logger;
}

/**
 * Simulates hardware operations, which take time and may fail. The node stays locked meanwhile. The end of each operation
 * is stored with the node, so that a new process can continue it.
 */
export class Hardware {
  readonly #parts: HardwareParts;
  readonly #timers = new Map<string, CancelTimer>();
  readonly #stopping = new AbortController();

  constructor(parts: HardwareParts) {
    this.#parts = parts;
  }

  /** Continues operations of an earlier process. */
  resume(): void {
    const { nodes, locks, clock } = this.#parts;
    for (const node of nodes.all()) {
      if (node.work_due !== null && locks.tryAcquire(node.uuid)) {
        this.#wait(node.uuid, Math.max(0, node.work_due - clock.now()));
      }
    }
  }

  stop(): void {
    this.#stopping.abort(new Error("the embedded Ironic stops"));
    for (const cancel of this.#timers.values()) {
      cancel();
    }
    this.#timers.clear();
  }

  /**
   * Starts an operation. The caller has the node's lock, which is released at the end.
   * @param state a state that ends by itself
   */
  begin(uuid: string, state: string, changes: NodeChanges = {}): void {
    const { work, target } = workOf(state);
    const delay = this.#parts.delays[work];
    this.#parts.nodes.save(uuid, {
      last_error: null,
      ...changes,
      provision_state: state,
      target_provision_state: target,
      work_due: this.#parts.clock.now() + delay,
    });
    this.#wait(uuid, delay);
  }

  /** Starts a power change in the same way. @param target `power on` or `power off` */
  beginPower(uuid: string, target: string): void {
    const delay = this.#parts.delays.power;
    this.#parts.nodes.save(uuid, {
      target_power_state: target,
      last_error: null,
      work_due: this.#parts.clock.now() + delay,
    });
    this.#wait(uuid, delay);
  }

  #wait(uuid: string, delay: number): void {
    const cancel = this.#parts.timers.after(delay, () => {
      this.#timers.delete(uuid);
      void this.#end(uuid);
    });
    this.#timers.set(uuid, cancel);
  }

  /** Never rejects. */
  async #end(uuid: string): Promise<void> {
    const { nodes, locks, faults, logger } = this.#parts;
    const { signal } = this.#stopping;
    try {
      const node = nodes.get(uuid);
      const work = node.target_power_state === null ? workOf(node.provision_state).work : "power";
      const failure = await faults.hit(hardwarePoint(work), signal).then(
        () => undefined,
        (error: Error) => error.message,
      );
      if (signal.aborted) {
        return;
      }
      if (this.#finish(node, work, failure)) {
        return;
      }
    } catch (err) {
      logger.error("result of a hardware operation could not be stored; retrying at the next start", {
        err,
        node: uuid,
      });
    }
    locks.release(uuid);
  }

  /** Returns true if another operation follows, which needs the lock. */
  #finish(node: IronicNode, work: HardwareWork, failure: string | undefined): boolean {
    const { nodes, ports } = this.#parts;
    if (work === "power") {
      nodes.save(node.uuid, endOfPower(node, failure));
      return false;
    }
    const isRetired = work === "clean" && node.retired;
    const success = isRetired ? "retire" : workOf(node.provision_state).ends;
    const event = failure === undefined ? success : "fail";
    const state = nextState(node.provision_state, event) ?? node.provision_state;
    const changes = {
      ...(work === "tear-down" ? RELEASED : {}),
      ...(failure === undefined ? AFTER_SUCCESS[work]?.(node) : afterFailure(work, failure)),
    };
    if (work === "tear-down") {
      for (const port of ports.of(node.uuid)) {
        ports.setVif(port.uuid, null);
      }
    }
    if (event === "clean") {
      this.begin(node.uuid, state, changes);
      return true;
    }
    nodes.save(node.uuid, {
      ...changes,
      provision_state: state,
      target_provision_state: hasNoTarget(state) ? null : node.target_provision_state,
      work_due: null,
    });
    return false;
  }
}

function workOf(state: string) {
  const found = WORK_OF_STATE[state];
  if (!found) {
    throw new Error(`no operation ends the state ${state}`);
  }
  return found;
}

function endOfPower(node: IronicNode, failure: string | undefined): NodeChanges {
  return {
    target_power_state: null,
    work_due: null,
    ...(failure === undefined
      ? { power_state: node.target_power_state }
      : { last_error: `Failed to change power state to '${node.target_power_state}': ${failure}` }),
  };
}

/** Verification sets an unknown power state; a deployed node is on, and otherwise off. */
const AFTER_SUCCESS: Partial<Readonly<Record<HardwareWork, (node: IronicNode) => NodeChanges>>> = {
  verify: (node) => ({ power_state: node.power_state ?? "power off" }),
  deploy: () => ({ power_state: "power on" }),
  "tear-down": () => ({ power_state: "power off" }),
  rescue: () => ({ power_state: "power on" }),
  unrescue: () => ({ power_state: "power on" }),
};

/** The instance is removed from the node even if the teardown failed. */
const RELEASED: NodeChanges = { instance_uuid: null, instance_info: {} };

const FAILURES: Readonly<Record<HardwareWork, string>> = {
  verify: "Failed to get power state",
  inspect: "Failed to inspect hardware",
  adopt: "Failed to adopt",
  deploy: "Failed to deploy",
  "tear-down": "Failed to tear down",
  clean: "Failed to clean",
  rescue: "Failed to rescue",
  unrescue: "Failed to unrescue",
  power: "Failed to change power state",
};

/** Returns the changes after a failure. A node whose cleaning failed stays in maintenance until an operator intervenes. */
function afterFailure(work: HardwareWork, failure: string): NodeChanges {
  const last_error = `${FAILURES[work]}: ${failure}`;
  return work === "clean"
    ? { last_error, maintenance: true, maintenance_reason: last_error, fault: "clean failure" }
    : { last_error };
}
