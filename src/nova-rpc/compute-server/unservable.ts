import { isObject } from "../../runtime/collections.js";
import { listedObjects, objectOf } from "../objects/primitive.js";

type Arguments = Readonly<Record<string, unknown>>;

/** What is asked for a new server that the agent cannot give it, and what to do; null: nothing. */
export function unservable(args: Arguments, { ignoreNetworks }: { readonly ignoreNetworks: boolean }): string | null {
  const wants = [
    ...(ignoreNetworks ? [] : networks(args.requested_networks)),
    ...volumes(args.block_device_mapping),
    ...devices(args),
  ];
  return wants.length === 0 ? null : wants.join("; ");
}

/** What a server that is to come from another host has that the agent cannot give it; null: nothing. */
export async function unservableMove(
  args: Arguments,
  { ignoreNetworks, blockDevices }: MoveTools,
): Promise<string | null> {
  const { uuid, info_cache: cache } = objectOf(args.instance, "Instance")["nova_object.data"];
  const mapping = isObject(args.bdms) ? args.bdms : await blockDevices(String(uuid));
  const wants = [...(ignoreNetworks ? [] : ports(cache)), ...attachedVolumes(mapping), ...devices(args)];
  return wants.length === 0 ? null : wants.join("; ");
}

interface MoveTools {
  readonly ignoreNetworks: boolean;
  /** The BlockDeviceMappingList of an instance: not every message has one. */
  blockDevices(instanceUuid: string): Promise<unknown>;
}

function ports(cache: unknown): readonly string[] {
  const { network_info: text } = isObject(cache) ? objectOf(cache)["nova_object.data"] : {};
  const found: unknown = typeof text === "string" ? JSON.parse(text) : [];
  const names = (Array.isArray(found) ? found : []).map((port) => (isObject(port) ? String(port.id) : "?"));
  return names.length === 0
    ? []
    : [
        "this host attaches no networks: detach them, choose another host, or let the host's operator set " +
          `[compute_agent] ignore_networks (it has: ${names.map((name) => `port ${name}`).join(", ")})`,
      ];
}

function attachedVolumes(mapping: unknown): readonly string[] {
  const { length } = volumesIn(mapping);
  return length === 0
    ? []
    : [`this host attaches no volumes, and the server has ${length} of them: detach them, or choose another host`];
}

function networks(requested: unknown): readonly string[] {
  const requestedNetworks = objectsIn(requested, "NetworkRequestList")
    .map(({ network_id: network, port_id: port }) => ({ network, port }))
    .filter(({ network, port }) => network !== "none" || (port ?? null) !== null);
  const names = requestedNetworks.map(({ network, port }) =>
    typeof port === "string" ? `port ${port}` : network === "auto" ? "any network" : `network ${String(network)}`,
  );
  // What to do comes first: the fault of an instance is cut at 255 characters.
  return names.length === 0
    ? []
    : [
        "this host attaches no networks: create the server with --nic none, or let the host's operator set " +
          `[compute_agent] ignore_networks (asked for: ${names.join(", ")})`,
      ];
}

function volumes(mapping: unknown): readonly string[] {
  const requestedVolumes = volumesIn(mapping);
  return requestedVolumes.length === 0
    ? []
    : [
        `this host attaches no volumes, and ${requestedVolumes.length} of them are asked for: boot the server from its image alone`,
      ];
}

function volumesIn(mapping: unknown): readonly unknown[] {
  return objectsIn(mapping, "BlockDeviceMappingList").filter(({ destination_type: type }) => type === "volume");
}

/** All else that a flavor or an image may ask for; what is not loaded in the instance is in what it was scheduled by. */
function devices({ instance, request_spec: spec, accel_uuids: accelerators }: Arguments): readonly string[] {
  const specData = isObject(spec) ? objectOf(spec)["nova_object.data"] : {};
  const { pci_requests: pci, numa_topology: numa } = {
    ...specData,
    ...objectOf(instance, "Instance")["nova_object.data"],
  };
  const requests = isObject(pci) ? objectOf(pci)["nova_object.data"].requests : null;
  const unsupported = [
    ...(Array.isArray(accelerators) && accelerators.length > 0 ? ["accelerators"] : []),
    ...(Array.isArray(requests) && requests.length > 0 ? ["PCI devices"] : []),
    ...(isObject(numa) ? ["NUMA topologies or dedicated processors"] : []),
  ];
  return unsupported.length === 0
    ? []
    : [`this host has no ${unsupported.join(" and no ")}: take a flavor and an image that ask for none`];
}

function objectsIn(list: unknown, name: string): readonly Readonly<Record<string, unknown>>[] {
  return isObject(list) ? listedObjects(list, name).map((each) => each["nova_object.data"]) : [];
}
