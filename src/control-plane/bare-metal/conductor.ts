import type { Timers } from "../../runtime/time.js";
import { badRequest, conflict } from "../http/http-error.js";
import type { Hardware } from "./hardware.js";
import { inMaintenance, invalidState, nodeAssociated, nodeProtected } from "./ironic-error.js";
import type { IronicNode, NodeChanges, NodeLocks, NodeStore } from "./node-store.js";
import type { IronicPort, PortChanges, PortStore } from "./port-store.js";
import { DELETE_ALLOWED, nextState, RECLASS_ALLOWED } from "./provision-states.js";

export interface ConductorParts {
  readonly nodes: NodeStore;
  readonly ports: PortStore;
  readonly locks: NodeLocks;
  readonly hardware: Hardware;
  readonly timers: Timers;
}

/** Milliseconds for which a change of a node's record locks the node, so that concurrent changes can conflict. */
const UPDATE_TIME = 20;

/** Attributes of a port's connection, and the node states that permit changes of them. */
const CONNECTIVITY = ["portgroup_id", "pxe_enabled", "local_link_connection", "physical_network"];
const CONNECTABLE = ["enroll", "inspecting", "inspect wait", "manageable"];

/**
 * Validates changes of `protected`, `retired` and their reasons.
 * @returns nulls for the reasons of removed marks
 * @throws {HttpError} 400, 409
 */
function checkMarks(node: IronicNode, changes: NodeChanges): NodeChanges {
  const { uuid, provision_state: state } = node;
  if (changes.protected === true && !["active", "rescue"].includes(state)) {
    throw conflict(
      `Node ${uuid} can only be made protected in provision states 'active' or 'rescue', the current state is '${state}'`,
    );
  }
  assertReasonHasMark("protected", node, changes);
  if (changes.retired === true && state === "available") {
    throw conflict(
      `Node ${uuid} can not have 'retired' set in provision state 'available', the current state is '${state}'`,
    );
  }
  assertReasonHasMark("retired", node, changes);
  return {
    ...(changes.protected === false ? { protected_reason: null } : {}),
    ...(changes.retired === false ? { retired_reason: null } : {}),
  };
}

function assertReasonHasMark(mark: "protected" | "retired", node: IronicNode, changes: NodeChanges): void {
  // Removing the mark removes the reason, including one in the same request.
  if (changes[`${mark}_reason`] && changes[mark] === undefined && !node[mark]) {
    throw badRequest(`The ${mark}_reason field can only be set when ${mark} is True`);
  }
}

/** Changes nodes under their locks, which it tries to acquire as often as Ironic does. @throws {HttpError} */
export class IronicConductor {
  readonly #parts: ConductorParts;

  constructor(parts: ConductorParts) {
    this.#parts = parts;
  }

  /** @param changes relative to the node as the client read it; later changes of other fields remain, as in Ironic */
  update(uuid: string, changes: NodeChanges): Promise<IronicNode> {
    return this.#locked(uuid, async () => {
      await this.#parts.timers.sleep(UPDATE_TIME);
      const node = this.#parts.nodes.get(uuid);
      const reasons = checkMarks(node, changes);
      if (changes.instance_uuid && node.instance_uuid !== null) {
        throw nodeAssociated(uuid, node.instance_uuid);
      }
      if (
        changes.resource_class !== undefined &&
        node.resource_class !== null &&
        !RECLASS_ALLOWED.includes(node.provision_state)
      ) {
        const states = RECLASS_ALLOWED.join(", ");
        throw conflict(
          `Node ${uuid} can not have resource_class updated unless it is in one of allowed (${states}) states.`,
        );
      }
      const cleared = changes.maintenance === false ? { maintenance_reason: null, fault: null } : {};
      return this.#parts.nodes.save(uuid, { ...changes, ...cleared, ...reasons });
    });
  }

  destroy(uuid: string): Promise<void> {
    const { nodes, ports } = this.#parts;
    return this.#locked(uuid, (node) => {
      if (!node.maintenance && node.instance_uuid !== null) {
        throw nodeAssociated(uuid, node.instance_uuid);
      }
      if (node.protected) {
        throw nodeProtected(uuid);
      }
      if (!node.maintenance && !DELETE_ALLOWED.includes(node.provision_state)) {
        const states = DELETE_ALLOWED.map((state) => `'${state}'`).join(", ");
        throw conflict(
          `Can not delete node "${uuid}" while it is in provision state "${node.provision_state}". Valid provision states to perform deletion are: "(${states})", or set the node into maintenance mode`,
        );
      }
      nodes.remove(uuid);
      ports.forgetNode(uuid);
    });
  }

  /** @param change returns the new traits */
  setTraits(uuid: string, change: (before: readonly string[]) => readonly string[]): Promise<IronicNode> {
    return this.#locked(uuid, (node) => this.#parts.nodes.save(uuid, { traits: [...change(node.traits)].sort() }));
  }

  /** Starts a power change; the node stays locked until it ends. @param target value from the client */
  async setPower(uuid: string, target: string): Promise<void> {
    const on = ["power on", "rebooting", "soft rebooting"].includes(target);
    await this.#begin(uuid, () => {
      this.#parts.hardware.beginPower(uuid, on ? "power on" : "power off");
      return true;
    });
  }

  /** Applies an event of the state machine to a node. @param event see `CLIENT_EVENTS` @param changes for deploy events */
  async provision(uuid: string, event: string, changes: NodeChanges = {}): Promise<void> {
    const { nodes, hardware } = this.#parts;
    await this.#begin(uuid, (node) => {
      if (["deploy", "rebuild"].includes(event) && node.maintenance) {
        throw inMaintenance("provisioning", uuid);
      }
      if (event === "provide" && node.maintenance) {
        throw inMaintenance("providing", uuid);
      }
      if (event === "provide" && node.retired) {
        throw badRequest(`The providing operation can't be performed on node ${uuid} because it is retired.`);
      }
      if (["delete", "rebuild"].includes(event) && node.protected) {
        throw nodeProtected(uuid);
      }
      const state = nextState(node.provision_state, event);
      if (state === undefined) {
        throw invalidState(event, uuid, node.provision_state);
      }
      if (state === "manageable") {
        nodes.save(uuid, { provision_state: state, target_provision_state: null });
        return false;
      }
      hardware.begin(uuid, state, changes);
      return true;
    });
  }

  /** @throws {HttpError} 409 */
  createPort(nodeUuid: string, attributes: Pick<IronicPort, "uuid" | "address"> & PortChanges): Promise<IronicPort> {
    const { nodes, ports } = this.#parts;
    return this.#locked(nodeUuid, (node) => {
      const port = ports.create(attributes, node);
      // Updates the node's time of change, as Ironic's lock does.
      nodes.save(nodeUuid, {});
      return port;
    });
  }

  /** @param changes a `node_uuid` moves the port to that node @throws {HttpError} 404, 409 */
  updatePort(uuid: string, changes: PortChanges): Promise<IronicPort> {
    const { nodes, ports } = this.#parts;
    return this.#lockedPort(uuid, changes.node_uuid, (node) => {
      const isUsed = node.provision_state === "active" || node.instance_uuid !== null;
      if (isUsed && changes.address !== undefined && !node.maintenance) {
        throw conflict(
          `Cannot update hardware address for port ${uuid} as node ${node.uuid} is active or has instance UUID assigned`,
        );
      }
      const changesConnection = CONNECTIVITY.some((name) => Object.hasOwn(changes, name));
      if (changesConnection && !CONNECTABLE.includes(node.provision_state) && !node.maintenance) {
        throw conflict(
          `Port ${uuid} can not have any connectivity attributes (${CONNECTIVITY.join(", ")}) updated unless node ` +
            `${node.uuid} is in a ${CONNECTABLE.join(", ")} state or in maintenance mode. ` +
            `The current state is ${node.provision_state}.`,
        );
      }
      if (Object.keys(changes).length === 0) {
        return ports.get(uuid);
      }
      const port = ports.save(uuid, changes, node);
      nodes.save(node.uuid, {});
      return port;
    });
  }

  /** @throws {HttpError} 404, 409 */
  destroyPort(uuid: string): Promise<void> {
    const { nodes, ports } = this.#parts;
    return this.#lockedPort(uuid, undefined, (node) => {
      const { vif } = ports.get(uuid);
      if (vif !== null && !node.maintenance) {
        throw conflict(`Cannot delete the port ${uuid} as it is bound to VIF ${vif} for tenant use.`);
      }
      ports.remove(uuid);
      nodes.save(node.uuid, {});
    });
  }

  attachVif(uuid: string, vif: string): Promise<void> {
    const { ports } = this.#parts;
    return this.#locked(uuid, () => {
      const own = ports.of(uuid);
      const taken = own.find((port) => port.vif === vif);
      if (taken) {
        throw conflict(`Unable to attach VIF because VIF ${vif} is already attached to Ironic Port ${taken.uuid}`);
      }
      const free = own.find((port) => port.vif === null);
      if (!free) {
        throw badRequest(`Unable to attach VIF ${vif}, not enough free physical ports.`);
      }
      ports.setVif(free.uuid, vif);
    });
  }

  detachVif(uuid: string, vif: string): Promise<void> {
    const { ports } = this.#parts;
    return this.#locked(uuid, () => {
      const found = ports.of(uuid).find((port) => port.vif === vif);
      if (!found) {
        throw badRequest(`Unable to detach VIF ${vif} from node ${uuid} because it is not attached to it.`);
      }
      ports.setVif(found.uuid, null);
    });
  }

  /** Sends an NMI, which has no effect that API clients could observe. */
  injectNmi(uuid: string): Promise<void> {
    return this.#locked(uuid, () => undefined);
  }

  /** Locks a port's node, or the node that it moves to. Retries if the port moved while waiting for the lock. */
  async #lockedPort<T>(uuid: string, newNode: string | undefined, work: (node: IronicNode) => T): Promise<T> {
    const { ports } = this.#parts;
    const { node_uuid: nodeUuid } = ports.get(uuid);
    const done = await this.#locked(newNode ?? nodeUuid, (node) =>
      ports.get(uuid).node_uuid === nodeUuid ? { result: work(node) } : undefined,
    );
    return done ? done.result : this.#lockedPort(uuid, newNode, work);
  }

  async #locked<T>(uuid: string, work: (node: IronicNode) => T | Promise<T>): Promise<T> {
    const { locks, nodes } = this.#parts;
    await locks.acquire(uuid);
    try {
      return await work(nodes.get(uuid));
    } finally {
      locks.release(uuid);
    }
  }

  /** @param work returns true if the hardware retains the lock until it has finished */
  async #begin(uuid: string, work: (node: IronicNode) => boolean): Promise<void> {
    const { locks, nodes } = this.#parts;
    await locks.acquire(uuid);
    let isLockRetained = false;
    try {
      isLockRetained = work(nodes.get(uuid));
    } finally {
      if (!isLockRetained) {
        locks.release(uuid);
      }
    }
  }
}
