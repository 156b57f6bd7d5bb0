import { mapConcurrently } from "../../runtime/task-queue.js";
import type { ServiceClient } from "../cloud/service-client.js";
import { CONCURRENCY, mapWithProgress } from "./read-placement.js";
import type { Amounts, Held, OnProgress, Port, PortBinding } from "./records.js";
import { asArray, asRecord, asString, asStringOrNull, listAll } from "./response-fields.js";

type Entry = Readonly<Record<string, unknown>>;

const FIELDS = ["id", "name", "device_id", "device_owner", "binding:host_id", "binding:profile", "resource_request"];

/** Device owners begin with this if the device is a server, or a container of Zun. */
const COMPUTE = "compute:";

const ZUN = "compute:kuryr";

/**
 * Reads the ports of servers. @param withBindings also reads all bindings, with a request per port
 * @throws {AuditError}
 */
export async function readPorts(
  network: ServiceClient,
  { onProgress, withBindings }: { readonly onProgress: OnProgress; readonly withBindings: boolean },
): Promise<Map<string, Port>> {
  const query = FIELDS.map((field) => `fields=${encodeURIComponent(field)}`).join("&");
  const list = { path: `/v2.0/ports?${query}`, key: "ports", what: "ports" };
  const entries = await listAll(network, { ...list, markerOf: ({ id }) => asString(id) }, onProgress);
  const ports = entries.map(portOf).filter(isOfServer);
  const read = withBindings
    ? await mapWithProgress(ports, "bindings of ports", onProgress, (port) => addBindings(network, port))
    : ports;
  return new Map(read.map((port) => [port.id, port]));
}

/** Reads some ports again; without those that no longer exist. @throws {AuditError} */
export async function readPortsAgain(network: ServiceClient, uuids: readonly string[]): Promise<Map<string, Port>> {
  const read = await mapConcurrently(uuids, CONCURRENCY, async (uuid) => {
    const port = await findPort(network, uuid);
    return port && isOfServer(port) ? [[uuid, await addBindings(network, port)] as const] : [];
  });
  return new Map(read.flat());
}

/** Returns undefined if there is no such port. @throws {AuditError} */
export async function findPort(network: ServiceClient, uuid: string): Promise<Port | undefined> {
  const body = await network.find(`/v2.0/ports/${encodeURIComponent(uuid)}`);
  return body && portOf(asRecord(body.port));
}

/** Returns the inactive bindings; none if the cloud lacks the API of bindings. @throws {AuditError} */
export async function readInactiveBindings(network: ServiceClient, port: string): Promise<PortBinding[]> {
  const body = await network.find(`/v2.0/ports/${encodeURIComponent(port)}/bindings`);
  return asArray(body?.bindings ?? [])
    .map(asRecord)
    .filter(({ status }) => status === "INACTIVE")
    .map(({ host, vnic_type, profile }) => ({
      host: asString(host),
      vnic_type: asStringOrNull(vnic_type) ?? "normal",
      profile: asRecord(profile ?? {}),
    }));
}

async function addBindings(network: ServiceClient, port: Port): Promise<Port> {
  return { ...port, inactive: await readInactiveBindings(network, port.id) };
}

function portOf(entry: Entry): Port {
  return {
    id: asString(entry.id),
    name: asStringOrNull(entry.name) ?? "",
    device_id: asStringOrNull(entry.device_id) ?? "",
    device_owner: asStringOrNull(entry.device_owner) ?? "",
    host: asStringOrNull(entry["binding:host_id"] ?? null) ?? "",
    allocated: allocatedTo(entry),
    inactive: [],
  };
}

/**
 * Returns the resources that a port has in the allocations of its server. A Neutron without request groups has one group, and
 * one provider in the profile.
 */
function allocatedTo(entry: Entry): Held {
  const request = asRecord(entry.resource_request ?? {});
  const { allocation } = asRecord(entry["binding:profile"] ?? {});
  const single = [{ id: "", ...request }];
  const groups = request.request_groups === undefined ? single : asArray(request.request_groups).map(asRecord);
  const providers = typeof allocation === "string" ? { "": allocation } : asRecord(allocation ?? {});
  const held: Record<string, Amounts> = {};
  for (const { id, resources } of groups as readonly Entry[]) {
    const provider = providers[asString(id)];
    if (typeof provider === "string") {
      held[provider] = { ...held[provider], ...(asRecord(resources) as Amounts) };
    }
  }
  return held;
}

function isOfServer({ device_id: device, device_owner: owner }: Port): boolean {
  return owner.startsWith(COMPUTE) && owner !== ZUN && device !== "";
}
