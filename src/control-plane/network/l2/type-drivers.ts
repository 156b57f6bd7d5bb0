import type { NetworkContext } from "../engine/network-context.js";
import { invalidOperation, networkError } from "../engine/network-errors.js";
import type { NetworkOptions } from "../network-options.js";
import { findFreeId, isIdInUse, vlanNetworks } from "./segment-ids.js";

/** Type, physical network and id of a segment; null if the request does not name them. */
export interface SegmentSpec {
  readonly network_type: string;
  readonly physical_network: string | null;
  readonly segmentation_id: number | null;
}

/** Validates and reserves the segments of a network type, as a type driver of ML2. */
interface TypeDriver {
  /** @throws {HttpError} 400 */
  validate(context: NetworkContext, segment: SegmentSpec): void;
  /** Chooses the id, and the physical network, that the request leaves open. @throws {HttpError} 409, 503 */
  reserve(context: NetworkContext, segment: SegmentSpec, projectId: string): SegmentSpec;
  /** The max MTU of the type; undefined: no limit. */
  maxMtu(options: NetworkOptions): number | undefined;
}

const MAX_VLAN = 4094;

/** Bytes that each packet of a tunnel needs for the outer headers, the IP header of 20 bytes included. */
const TUNNEL_OVERHEAD = { vxlan: 50, gre: 42, geneve: 50 } as const;

const FLAT: TypeDriver = {
  validate({ services }, { physical_network: name, segmentation_id: id }) {
    const { flatNetworks } = services.options;
    if (!name) {
      throw invalidOperation("physical_network required for flat provider network");
    }
    if (flatNetworks.length === 0) {
      throw invalidOperation("Flat provider networks are disabled");
    }
    if (!flatNetworks.includes("*") && !flatNetworks.includes(name)) {
      throw invalidOperation(`physical_network '${name}' unknown for flat provider network`);
    }
    if (id) {
      throw invalidOperation("segmentation_id prohibited for flat provider network");
    }
  },
  reserve(context, { physical_network: name }) {
    if (isIdInUse(context, { networkType: "flat", physicalNetwork: name }, null)) {
      throw networkError(
        409,
        "FlatNetworkInUse",
        `Unable to create the flat network. Physical network ${name} is in use.`,
      );
    }
    return { network_type: "flat", physical_network: name, segmentation_id: null };
  },
  maxMtu: ({ mtu }) => mtu,
};

const LOCAL: TypeDriver = {
  validate(_context, segment) {
    for (const name of ["physical_network", "segmentation_id"] as const) {
      if (segment[name]) {
        throw invalidOperation(`${name} prohibited for local provider network`);
      }
    }
  },
  reserve: () => ({ network_type: "local", physical_network: null, segmentation_id: null }),
  maxMtu: () => undefined,
};

const VLAN: TypeDriver = {
  validate(context, { physical_network: name, segmentation_id: id }) {
    if (name && !vlanNetworks(context).includes(name)) {
      throw invalidOperation(`physical_network '${name}' unknown for VLAN provider network`);
    }
    if (!name && id !== null) {
      throw invalidOperation("segmentation_id requires physical_network for VLAN provider network");
    }
    if (id !== null && (id < 1 || id > MAX_VLAN)) {
      throw invalidOperation(`segmentation_id out of range (1 through ${MAX_VLAN})`);
    }
  },
  reserve(context, { physical_network: name, segmentation_id: id }, projectId) {
    if (id !== null) {
      if (isIdInUse(context, { networkType: "vlan", physicalNetwork: name }, id)) {
        throw networkError(
          409,
          "VlanIdInUse",
          `Unable to create the network. The VLAN ${id} on physical network ${name} is in use.`,
        );
      }
      return { network_type: "vlan", physical_network: name, segmentation_id: id };
    }
    for (const physicalNetwork of name ? [name] : vlanNetworks(context)) {
      const free = findFreeId(context, { networkType: "vlan", physicalNetwork }, projectId);
      if (free !== undefined) {
        return { network_type: "vlan", physical_network: physicalNetwork, segmentation_id: free };
      }
    }
    throw noNetworkAvailable();
  },
  maxMtu: ({ mtu }) => mtu,
};

function createTunnelDriver(type: keyof typeof TUNNEL_OVERHEAD): TypeDriver {
  const pool = { networkType: type, physicalNetwork: null };
  return {
    validate(_context, { physical_network: name }) {
      if (name) {
        throw invalidOperation(`provider:physical_network specified for ${type} network`);
      }
    },
    reserve(context, { segmentation_id: id }, projectId) {
      if (id !== null && isIdInUse(context, pool, id)) {
        throw networkError(409, "TunnelIdInUse", `Unable to create the network. The tunnel ID ${id} is in use.`);
      }
      const free = id ?? findFreeId(context, pool, projectId);
      if (free === undefined) {
        throw noNetworkAvailable();
      }
      return { network_type: type, physical_network: null, segmentation_id: free };
    },
    maxMtu: ({ mtu }) => mtu - TUNNEL_OVERHEAD[type],
  };
}

const DRIVERS: Readonly<Record<string, TypeDriver>> = {
  flat: FLAT,
  local: LOCAL,
  vlan: VLAN,
  vxlan: createTunnelDriver("vxlan"),
  gre: createTunnelDriver("gre"),
  geneve: createTunnelDriver("geneve"),
};

/** The type of networks whose request names none (Neutron's `tenant_network_types`). */
export const TENANT_NETWORK_TYPE = "vxlan";

/** @throws {HttpError} 400 for a type that does not exist */
function driverOf(type: string): TypeDriver {
  const driver = Object.hasOwn(DRIVERS, type) ? DRIVERS[type] : undefined;
  if (driver === undefined) {
    throw invalidOperation(`network_type value '${type}' not supported`);
  }
  return driver;
}

/** @throws {HttpError} 400 */
export function validateSegment(context: NetworkContext, segment: SegmentSpec): void {
  driverOf(segment.network_type).validate(context, segment);
}

/** Returns the segment with an id that no other segment has. @throws {HttpError} 409, 503 */
export function reserveSegment(context: NetworkContext, segment: SegmentSpec, projectId: string): SegmentSpec {
  return driverOf(segment.network_type).reserve(context, segment, projectId);
}

/** Whether the service chooses the id of the segment. */
export function isPartial({ network_type: type, segmentation_id: id }: SegmentSpec): boolean {
  return id === null && type !== "flat" && type !== "local";
}

/** Returns the max MTU of a network with these segments. */
export function maxMtuOf({ services }: NetworkContext, segments: readonly SegmentSpec[]): number {
  const limits = segments.flatMap(({ network_type: type }) => driverOf(type).maxMtu(services.options) ?? []);
  return limits.length === 0 ? services.options.mtu : Math.min(...limits);
}

function noNetworkAvailable(): Error {
  return networkError(
    503,
    "NoNetworkAvailable",
    "Unable to create the network. No tenant network is available for allocation.",
  );
}
