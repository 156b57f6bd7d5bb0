import type { ReleaseProfile } from "../objects/profile.js";

const SERVICE = ["Service", "ComputeNode", "HVSpec", "PciDevicePoolList", "PciDevicePool"];
const COMPUTE_NODE = ["ComputeNode", "HVSpec", "PciDevicePoolList", "PciDevicePool"];
const MIGRATION = ["Migration"];
const INSTANCE = [
  "Instance",
  "ServiceList",
  ...SERVICE,
  "InstanceInfoCache",
  "SecurityGroupList",
  "SecurityGroup",
  "InstanceFault",
  "PciDeviceList",
  "PciDevice",
  "InstanceNUMATopology",
  "InstanceNUMACell",
  "VirtCPUTopology",
  "InstancePCIRequests",
  "InstancePCIRequest",
  "InstanceDeviceMetadata",
  "DeviceMetadata",
  "DeviceBus",
  "TagList",
  "Tag",
  "Flavor",
  "VirtCPUModel",
  "VirtCPUFeature",
  "EC2Ids",
  "MigrationContext",
  "ResourceList",
  "Resource",
  "ResourceMetadata",
  "KeyPairList",
  "KeyPair",
  "TrustedCerts",
];

/** What an answer can have in it, by the object that is asked. */
const NESTED: Readonly<Record<string, readonly string[]>> = {
  Service: SERVICE,
  ServiceList: ["ServiceList", ...SERVICE],
  ComputeNode: COMPUTE_NODE,
  ComputeNodeList: ["ComputeNodeList", ...COMPUTE_NODE],
  Migration: MIGRATION,
  MigrationList: ["MigrationList", ...MIGRATION],
  Instance: INSTANCE,
  BlockDeviceMappingList: ["BlockDeviceMappingList", "BlockDeviceMapping"],
  InstanceList: ["InstanceList", ...INSTANCE],
};

/** Which versions an answer may have, as `object_versions` says it to a conductor, which backports to them. */
export function manifest(name: string, profile: ReleaseProfile): Readonly<Record<string, string>> {
  const entries = (NESTED[name] ?? [name]).flatMap((nested) => {
    const version = profile.objects.get(nested);
    return version === undefined ? [] : [[nested, version] as const];
  });
  return Object.fromEntries(entries);
}
