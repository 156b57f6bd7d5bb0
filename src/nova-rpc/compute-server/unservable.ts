import { isRecord, listedObjects, objectOf } from "../objects/primitive.js";

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

function networks(requested: unknown): readonly string[] {
  const asked = objectsIn(requested, "NetworkRequestList")
    .map(({ network_id: network, port_id: port }) => ({ network, port }))
    .filter(({ network, port }) => network !== "none" || (port ?? null) !== null);
  const names = asked.map(({ network, port }) =>
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
  const asked = objectsIn(mapping, "BlockDeviceMappingList").filter(({ destination_type: type }) => type === "volume");
  return asked.length === 0
    ? []
    : [
        `this host attaches no volumes, and ${asked.length} of them are asked for: boot the server from its image alone`,
      ];
}

/** All else that a flavor or an image may ask for. */
function devices({ instance, accel_uuids: accelerators }: Arguments): readonly string[] {
  const { pci_requests: pci, numa_topology: numa } = objectOf(instance, "Instance")["nova_object.data"];
  const requests = isRecord(pci) ? objectOf(pci)["nova_object.data"].requests : null;
  const wanted = [
    ...(Array.isArray(accelerators) && accelerators.length > 0 ? ["accelerators"] : []),
    ...(Array.isArray(requests) && requests.length > 0 ? ["PCI devices"] : []),
    ...(isRecord(numa) ? ["NUMA topologies or dedicated processors"] : []),
  ];
  return wanted.length === 0
    ? []
    : [`this host has no ${wanted.join(" and no ")}: take a flavor and an image that ask for none`];
}

function objectsIn(list: unknown, name: string): readonly Readonly<Record<string, unknown>>[] {
  return isRecord(list) ? listedObjects(list, name).map((each) => each["nova_object.data"]) : [];
}
