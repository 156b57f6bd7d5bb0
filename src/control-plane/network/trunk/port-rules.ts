import { and, isOneOf, where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { invalidOperation, networkError } from "../engine/network-errors.js";
import type { NetworkResource } from "../engine/network-resource.js";
import { parseInteger, str } from "../engine/python-values.js";
import { findRecord } from "../engine/records.js";
import { visibleTo } from "../engine/sharing.js";
import { NETWORKS } from "../resources/networks.js";
import { PORT_BINDINGS, PORTS } from "../resources/ports.js";
import { SEGMENTS } from "../resources/segments.js";
import { type SubPort, TRUNKS } from "../resources/trunks.js";
import { trunkOfSubPort } from "./subports.js";

/** A subport of a request, before its segmentation is known to be complete. */
export type RequestedSubPort = Readonly<Record<string, unknown>> & { readonly port_id: string };

const MAX_VLAN_ID = 4094n;

/** Checks that a port can become the parent of a trunk. @throws {HttpError} 404, 409 */
export function assertCanBeParent(context: NetworkContext, portId: string): void {
  assertInNoTrunk(context, portId);
  findRecord(context, PORTS, portId);
  if (isBound(context, portId) || context.table(TRUNKS).has(where`port_id = ${portId}`)) {
    throw parentInUse(portId);
  }
}

/** Returns whether a port has a host, which makes the driver reject changes of its trunk. */
export function isBound(context: NetworkContext, portId: string): boolean {
  return context
    .table(PORT_BINDINGS)
    .has(where`port_id = ${portId} AND status = 'ACTIVE' AND host IS NOT NULL AND host <> ''`);
}

/** Rejects a port that a trunk of the caller, or any trunk as a subport, has. @throws {HttpError} 409 */
function assertInNoTrunk(context: NetworkContext, portId: string): void {
  if (trunkOfSubPort(context, portId) !== undefined) {
    throw networkError(409, "TrunkPortInUse", `Port ${portId} is in use by another trunk.`);
  }
  const visible = visibleTo(context, TRUNKS as unknown as NetworkResource);
  if (context.table(TRUNKS).has(and(where`port_id = ${portId}`, visible))) {
    throw parentInUse(portId);
  }
}

function parentInUse(portId: string) {
  return networkError(
    409,
    "ParentPortInUse",
    `Port ${portId} is currently in use and is not eligible for use as a parent port.`,
  );
}

/**
 * Checks the subports of a trunk; returns them with those segmentations that they inherit.
 * @throws {HttpError} 400, 404, 409
 */
export function completeSubPorts(
  context: NetworkContext,
  parentId: string,
  requested: readonly RequestedSubPort[],
): readonly SubPort[] {
  const networks = networksOfPorts(context, [parentId, ...requested.map(({ port_id: id }) => id)]);
  const maxMtu = networks.get(parentId)?.mtu;
  return requested.map((subPort) => {
    const { port_id: id } = subPort;
    const network = networks.get(id);
    if (id === parentId) {
      throw parentInUse(id);
    }
    if (maxMtu && network && network.mtu > maxMtu) {
      throw networkError(
        409,
        "SubPortMtuGreaterThanTrunkPortMtu",
        `MTU ${network.mtu} of subport ${id} cannot be greater than MTU ${maxMtu} of trunk ${parentId}.`,
      );
    }
    const complete = completeSegmentation(subPort, network);
    assertInNoTrunk(context, id);
    assertHasNoDevice(context, id);
    return complete;
  });
}

/** A port's network, as far as trunks depend on it. */
interface NetworkOfPort {
  readonly mtu: number;
  readonly segmentation_type: string | null;
  readonly segmentation_id: number | null;
}

/** Returns the networks of those ports that the caller sees. */
function networksOfPorts(context: NetworkContext, portIds: readonly string[]): ReadonlyMap<string, NetworkOfPort> {
  const visible = visibleTo(context, PORTS as unknown as NetworkResource);
  const ports = context.table(PORTS).find(and(isOneOf("network_ports.id", portIds), visible));
  const ids = [...new Set(ports.map(({ network_id: id }) => id))];
  const segments = context.table(SEGMENTS).find(isOneOf("network_id", ids), "ORDER BY segment_index DESC");
  const first = new Map(segments.map((segment) => [segment.network_id, segment]));
  const networks = new Map(
    context
      .table(NETWORKS)
      .withIds(ids)
      .map(({ id, mtu }) => [
        id,
        {
          mtu,
          segmentation_type: first.get(id)?.network_type ?? null,
          segmentation_id: first.get(id)?.segmentation_id ?? null,
        },
      ]),
  );
  return new Map(
    ports.flatMap(({ id, network_id: networkId }) => {
      const network = networks.get(networkId);
      return network ? [[id, network] as const] : [];
    }),
  );
}

function completeSegmentation(subPort: RequestedSubPort, network: NetworkOfPort | undefined): SubPort {
  const { port_id } = subPort;
  const inherits = subPort.segmentation_type === "inherit" && network !== undefined;
  const { segmentation_type: type, segmentation_id: id } = inherits ? network : subPort;
  if (type === undefined || id === undefined) {
    throw invalidOperation(
      `Invalid subport details '${str(subPort)}': missing segmentation information. Must specify both segmentation_id and segmentation_type`,
    );
  }
  const number = parseInteger(id);
  if (number === undefined) {
    throw invalidOperation(`Invalid subport details: segmentation_id '${str(id)}' is not an integer`);
  }
  if (type !== "vlan") {
    throw invalidOperation(`Unknown segmentation_type '${str(type)}'`);
  }
  if (number < 1n || number > MAX_VLAN_ID) {
    throw invalidOperation(`Segmentation ID '${number}' is not in range`);
  }
  return { port_id, segmentation_type: type, segmentation_id: Number(number) };
}

/** @throws {HttpError} 404, 409 */
function assertHasNoDevice(context: NetworkContext, portId: string): void {
  const { network_id: networkId, device_id: device } = findRecord(context, PORTS, portId);
  if (device !== "") {
    throw networkError(
      409,
      "PortInUse",
      `Unable to complete operation on port ${portId} for network ${networkId}. Port already has an attached device ${device}.`,
    );
  }
}
