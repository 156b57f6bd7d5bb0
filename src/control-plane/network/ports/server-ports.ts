import { type Condition, isOneOf, where } from "../../resources/condition.js";
import { setBridges } from "../agents/agents.js";
import type { NetworkContext } from "../engine/network-context.js";
import type { NetworkResource } from "../engine/network-resource.js";
import { quotaLimit, quotaUsed } from "../engine/quota.js";
import { updateRecord } from "../engine/records.js";
import { PORTS, type PortRecord } from "../resources/ports.js";
import type { ServerPort, ServerPorts } from "../server-ports.js";
import { activeBindingOf } from "./host-bindings.js";
import { allocatedResources, forgetAllocations, saveAllocations } from "./port-allocations.js";
import { requestingPorts, resourceRequestsOf } from "./resource-requests.js";
import { addAddress, attachPorts, detachPort, removeAddress } from "./server-attachments.js";
import { isAddressOfNetwork, networkOfServer, networksOfProject } from "./server-networks.js";
import {
  activateOn,
  addInactive,
  bindPort,
  plugPort,
  removeInactiveOn,
  unbindPort,
  unplugPort,
} from "./server-port-moves.js";
import { readServerPorts } from "./server-port-records.js";

const PORT_QUOTA = { name: "port", default: 500 } as const;

/** Creates the access of Compute to the ports of the embedded service. */
export function createServerPorts({ internal: context }: NetworkContext): ServerPorts {
  const { sql } = context;

  return {
    onHost: (uuid, host) =>
      sql
        .all(
          `SELECT port.id, mac_address, network_id, is_plugged, vif_type FROM network_ports AS port
            LEFT JOIN network_port_bindings AS binding ON port_id = port.id AND host = ?
            WHERE device_id = ? ORDER BY port.rowid`,
          host,
          uuid,
        )
        .map(([id, mac, network, isPlugged, vifType]) => ({
          id: String(id),
          macAddress: String(mac),
          networkId: String(network),
          isPlugged: isPlugged === 1,
          vifType: vifType === null ? "unbound" : String(vifType),
        })),
    ofServer,
    ofServers,
    get: readOne,
    withAddress: (networkId, address) => {
      const [portId] =
        sql.get(
          "SELECT port_id FROM network_ip_allocations WHERE address = ? AND network_id = ?",
          address,
          networkId,
        ) ?? [];
      return typeof portId === "string" ? readOne(portId) : undefined;
    },
    isAddressOf: (networkId, address) => isAddressOfNetwork(context, networkId, address),
    serversWithAddress: (text, version) =>
      sql.strings(
        `SELECT DISTINCT port.device_id FROM network_ip_allocations AS ip
          JOIN network_ports AS port ON port.id = ip.port_id
          WHERE instr(ip.address, ?) > 0 AND (instr(ip.address, ':') > 0) = ? AND port.device_owner LIKE 'compute:%'`,
        text,
        version === 6 ? 1 : 0,
      ),
    networksFor: (projectId) => networksOfProject(context, projectId),
    network: (networkId, caller) => networkOfServer(context, networkId, caller),
    resourceRequests: (uuid, portIds = []) => resourceRequestsOf(context, requestingPorts(context, uuid, portIds)),
    allocatedResources: (uuid, portIds = []) => allocatedResources(context, requestingPorts(context, uuid, portIds)),
    saveAllocations: (uuid, host, mappings, portId) =>
      sql.transaction(() => saveAllocations(context, { uuid, host, portId }, mappings)),
    attach: (server, requested, securityGroupIds) =>
      sql.transaction(() => attachPorts(context, server, requested, securityGroupIds)),
    detach: (portId) => {
      const port = context.table(PORTS).get(portId);
      if (port) {
        sql.transaction(() => detach(port));
      }
    },
    release: (uuid) => change(uuid, detach),
    setSecurityGroups: (portId, ids) => {
      sql.transaction(() => updateRecord(context, PORTS, portId, { security_groups: ids }));
    },
    addFixedIp: (uuid, networkId) => {
      const port = recordsOf(uuid).find(({ network_id: id }) => id === networkId);
      if (port === undefined) {
        return undefined;
      }
      addAddress(context, port);
      return readOne(port.id);
    },
    removeFixedIp: (uuid, address) => {
      const owner = ofServer(uuid).find(({ fixedIps }) => fixedIps.some((ip) => ip.address === address));
      const port = owner && context.table(PORTS).get(owner.id);
      if (port === undefined) {
        return undefined;
      }
      sql.transaction(() => removeAddress(context, port, address));
      return readOne(port.id);
    },
    bind: (uuid, host) => change(uuid, (port) => bindPort(context, port, host)),
    addBinding: (uuid, host) => change(uuid, (port) => addInactive(context, port, host)),
    activateBinding: (uuid, host) => change(uuid, (port) => activateOn(context, port, host)),
    removeBinding: (uuid, host) => change(uuid, (port) => removeInactiveOn(context, port, host)),
    unbind: (uuid) => change(uuid, (port) => unbindPort(context, port)),
    plugged: (uuid, host, portIds) =>
      sql.transaction(() => {
        const plugged = recordsOf(uuid).filter(({ id }) => portIds.includes(id));
        return plugged.filter((port) => plugPort(context, port, host)).map(({ id }) => id);
      }),
    setBridges: (host, bridgeMappings) => setBridges(context, host, bridgeMappings),
    unplugged: (uuid, host) => change(uuid, (port) => unplugPort(context, port, host)),
    portLimit: (projectId) => ({
      limit: quotaLimit(context, projectId, PORTS.quota ?? PORT_QUOTA),
      used: quotaUsed(context, projectId, PORTS as unknown as NetworkResource),
    }),
  };

  function ofServer(uuid: string): readonly ServerPort[] {
    return read(where`device_id = ${uuid}`);
  }

  function ofServers(uuids: readonly string[]): ReadonlyMap<string, readonly ServerPort[]> {
    const ports = new Map<string, ServerPort[]>();
    for (const port of read(isOneOf("device_id", uuids))) {
      const list = ports.get(port.deviceId) ?? [];
      list.push(port);
      ports.set(port.deviceId, list);
    }
    return ports;
  }

  function readOne(portId: string): ServerPort | undefined {
    return read(where`id = ${portId}`)[0];
  }

  function read(condition: Condition): readonly ServerPort[] {
    return readServerPorts(context, condition);
  }

  function recordsOf(uuid: string): readonly PortRecord[] {
    return context.table(PORTS).find(where`device_id = ${uuid}`);
  }

  function detach(port: PortRecord): void {
    forgetAllocations(context, port.id);
    detachPort(context, port, activeBindingOf(context, port.id)?.profile ?? {});
  }

  /** Changes all ports of a server, or none. */
  function change(uuid: string, changePort: (port: PortRecord) => void): void {
    sql.transaction(() => {
      for (const port of recordsOf(uuid)) {
        changePort(port);
      }
    });
  }
}
