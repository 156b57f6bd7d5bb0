import type { Port, Server } from "../read/records.js";
import type { Finding } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";

/** Returns problems of the ports of servers; none if the cloud has no Network service. */
export function wrongPorts(index: SnapshotIndex, maxShare: number): Finding[] {
  const ports = [...(index.snapshot.ports?.values() ?? [])];
  return [
    ...danglingPorts(index, ports, maxShare),
    ...ports.flatMap((port) => {
      const server = index.snapshot.servers.get(port.device_id);
      return server && index.isAtRest(server) && !isOnBareMetal(index, server)
        ? [...misbound(port, server), ...leftBindings(port, server)]
        : [];
    }),
  ];
}

/** Whether a port's server is a bare-metal node, whose ports are bound by Ironic. */
function isOnBareMetal(index: SnapshotIndex, server: Server): boolean {
  return index.nodeOf(server)?.type === "ironic";
}

/** Reports ports of servers that do not exist. If there are many, the servers were probably not read. */
function danglingPorts(index: SnapshotIndex, ports: readonly Port[], maxShare: number): Finding[] {
  const dangling = ports.filter(({ device_id: device }) => !index.snapshot.servers.has(device));
  const isDoubtful = dangling.length > 1 && dangling.length > ports.length * maxShare;
  return dangling.map((port) => ({
    ...findingOf(port),
    code: "dangling-port",
    explanation: `the port belongs to server ${port.device_id} (${port.device_owner}), which does not exist${at(port)}`,
    remedies: isDoubtful ? [] : [{ kind: "set-port", port: port.id, device_id: "", device_owner: "", host: "" }],
    left: isDoubtful
      ? `${dangling.length} of ${ports.length} ports are of servers that do not exist: more than --max-share`
      : null,
  }));
}

function misbound(port: Port, server: Server): Finding[] {
  const host = server.host ?? "";
  if (port.host === host) {
    return [];
  }
  const where = server.host === null ? "has no host" : `is on host ${host}`;
  const bound = port.host === "" ? "the port is not bound" : `the port is bound to host ${port.host}`;
  const { device_id, device_owner } = port;
  return [
    {
      ...findingOf(port),
      code: "misbound-port",
      explanation: `${bound}, and its server ${server.name} ${where}`,
      remedies: [{ kind: "set-port", port: port.id, device_id, device_owner, host }],
      left: null,
    },
  ];
}

/** Reports inactive bindings of a server that is not migrating. They are read only with `--thorough`. */
function leftBindings(port: Port, server: Server): Finding[] {
  return port.inactive.map((binding) => ({
    ...findingOf(port),
    code: "leftover-binding",
    provider: { uuid: binding.host, name: binding.host },
    explanation: `the port has an inactive binding on host ${binding.host}, and its server ${server.name} is not migrating`,
    remedies: [{ kind: "delete-binding", port: port.id, binding }],
    left: null,
  }));
}

const at = ({ host }: Port): string => (host === "" ? "" : `; it is bound to host ${host}`);

function findingOf({ id, name }: Port): Pick<Finding, "subject" | "provider"> {
  return { subject: { kind: "port", uuid: id, name }, provider: null };
}
