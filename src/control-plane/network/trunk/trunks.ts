import type { Json } from "../../http/json.js";
import type { Behaviour, NetworkContext } from "../engine/network-context.js";
import { invalidOperation, networkError } from "../engine/network-errors.js";
import type { NetworkInput, NetworkResource } from "../engine/network-resource.js";
import { unexpectedType } from "../engine/python-values.js";
import { findRecord, viewsOf } from "../engine/records.js";
import { VALIDATORS } from "../engine/validators.js";
import { renderView } from "../engine/views.js";
import { PORTS } from "../resources/ports.js";
import { type SubPort, TRUNKS, type TrunkRecord } from "../resources/trunks.js";
import { followParentPort, releaseSubPort } from "./parent-port.js";
import { assertCanBeParent, completeSubPorts, isBound, type RequestedSubPort } from "./port-rules.js";
import { insertSubPorts, subPortsOf } from "./subports.js";

type Input = NetworkInput<typeof TRUNKS>;
type Body = Readonly<Record<string, unknown>>;

export const TRUNK_BEHAVIOUR: Behaviour<typeof TRUNKS.attributes> = {
  prepareCreate: (context, { port_id: portId = "" }) => {
    assertCanBeParent(context, portId);
    return { status: "DOWN" };
  },
  afterCreate: (context, trunk, input) => addRequested(context, trunk, requestedOf(input)),
  beforeDelete: (context, trunk) => {
    assertEnabled(trunk);
    // The port may belong to a project whose ports the owner of the trunk does not see.
    findRecord(context, PORTS, trunk.port_id);
    if (isBound(context, trunk.port_id)) {
      throw networkError(409, "TrunkInUse", `Trunk ${trunk.id} is currently in use.`);
    }
  },
  compute: (context, trunks) => {
    const subPorts = subPortsOf(
      context,
      trunks.map(({ id }) => id),
    );
    return trunks.map(({ id }) => ({ sub_ports: subPorts.get(id) ?? [] }));
  },
  actions: { add_subports: addSubPorts, remove_subports: removeSubPorts, get_subports: getSubPorts },
};

/** The validator leaves details of subports to the rules of trunks. */
const requestedOf = ({ sub_ports: subPorts = [] }: Input): readonly RequestedSubPort[] => subPorts;

function addRequested(context: NetworkContext, trunk: TrunkRecord, requested: readonly RequestedSubPort[]): void {
  insertSubPorts(context, trunk.id, completeSubPorts(context, trunk.port_id, requested));
}

function addSubPorts(context: NetworkContext, trunk: TrunkRecord, body: Body): Json {
  const complete = completeSubPorts(context, trunk.port_id, readSubPorts(body));
  assertEnabled(trunk);
  insertSubPorts(context, trunk.id, complete);
  return onSubPortsChange(context, trunk);
}

function removeSubPorts(context: NetworkContext, trunk: TrunkRecord, body: Body): Json {
  if (body.sub_ports === undefined) {
    throw unexpectedType();
  }
  assertEnabled(trunk);
  const existing = new Set(getSubPorts(context, trunk).sub_ports.map(({ port_id: id }) => id));
  for (const { port_id: id } of readSubPorts(body)) {
    if (!existing.has(id)) {
      throw networkError(404, "SubPortNotFound", `SubPort ${id} on trunk ${trunk.id} could not be found.`);
    }
    context.sql.execute("DELETE FROM network_subports WHERE port_id = ?", id);
    releaseSubPort(context, id);
  }
  return onSubPortsChange(context, trunk);
}

function getSubPorts(context: NetworkContext, { id }: TrunkRecord): { sub_ports: SubPort[] } {
  return { sub_ports: subPortsOf(context, [id]).get(id) ?? [] };
}

/** @throws {HttpError} 400 */
function readSubPorts({ sub_ports: subPorts }: Body): readonly RequestedSubPort[] {
  if (subPorts === undefined) {
    throw unexpectedType();
  }
  const failure = VALIDATORS["type:subports"]?.(subPorts, null);
  if (failure !== undefined) {
    throw invalidOperation(failure);
  }
  return subPorts as readonly RequestedSubPort[];
}

/** @throws {HttpError} 409 */
function assertEnabled({ id, admin_state_up: isUp }: TrunkRecord): void {
  if (!isUp) {
    throw networkError(409, "TrunkDisabled", `Trunk ${id} is currently disabled.`);
  }
}

function onSubPortsChange(context: NetworkContext, { id, port_id: portId }: TrunkRecord): Json {
  context.touch(TRUNKS, id);
  followParentPort(context, portId);
  const trunk = context.table(TRUNKS).get(id);
  const resource = TRUNKS as unknown as NetworkResource;
  const [view = {}] = trunk ? viewsOf(context, resource, [trunk]) : [];
  return renderView(context, resource, view);
}
