import { RELEASES, type Release } from "../../records/index.js";

/** Versions of Nova's objects that can be part of a message, in Zed (26), the oldest supported release. */
const ZED_OBJECTS: Readonly<Record<string, string>> = {
  Aggregate: "1.3",
  AggregateList: "1.3",
  BlockDeviceMapping: "1.21",
  BlockDeviceMappingList: "1.18",
  BuildRequest: "1.3",
  BuildRequestList: "1.0",
  CellMapping: "1.1",
  CellMappingList: "1.1",
  ComputeNode: "1.19",
  ComputeNodeList: "1.17",
  ConsoleAuthToken: "1.1",
  CpuDiagnostics: "1.0",
  Destination: "1.4",
  DeviceBus: "1.0",
  DeviceMetadata: "1.0",
  Diagnostics: "1.0",
  DiskDiagnostics: "1.0",
  DiskMetadata: "1.0",
  EC2Ids: "1.0",
  EC2InstanceMapping: "1.0",
  Flavor: "1.2",
  FlavorList: "1.1",
  HVSpec: "1.2",
  HostMapping: "1.0",
  HostMappingList: "1.1",
  HyperVLiveMigrateData: "1.4",
  IDEDeviceBus: "1.0",
  ImageMeta: "1.8",
  ImageMetaProps: "1.34",
  Instance: "2.7",
  InstanceAction: "1.2",
  InstanceActionEvent: "1.4",
  InstanceActionEventList: "1.1",
  InstanceActionList: "1.1",
  InstanceDeviceMetadata: "1.0",
  InstanceExternalEvent: "1.5",
  InstanceFault: "1.2",
  InstanceFaultList: "1.2",
  InstanceGroup: "1.11",
  InstanceGroupList: "1.8",
  InstanceInfoCache: "1.5",
  InstanceList: "2.6",
  InstanceMapping: "1.2",
  InstanceMappingList: "1.3",
  InstanceNUMACell: "1.6",
  InstanceNUMATopology: "1.3",
  InstancePCIRequest: "1.4",
  InstancePCIRequests: "1.1",
  KeyPair: "1.4",
  KeyPairList: "1.3",
  LibvirtLiveMigrateBDMInfo: "1.1",
  LibvirtLiveMigrateData: "1.10",
  LibvirtLiveMigrateNUMAInfo: "1.0",
  LibvirtVPMEMDevice: "1.0",
  MemoryDiagnostics: "1.0",
  Migration: "1.7",
  MigrationContext: "1.2",
  MigrationList: "1.5",
  MonitorMetric: "1.1",
  MonitorMetricList: "1.1",
  NUMACell: "1.5",
  NUMAPagesTopology: "1.1",
  NUMATopology: "1.2",
  NUMATopologyLimits: "1.1",
  NetworkInterfaceMetadata: "1.2",
  NetworkMetadata: "1.0",
  NetworkRequest: "1.3",
  NetworkRequestList: "1.1",
  NicDiagnostics: "1.0",
  PCIDeviceBus: "1.0",
  PciDevice: "1.7",
  PciDeviceList: "1.3",
  PciDevicePool: "1.1",
  PciDevicePoolList: "1.1",
  Quotas: "1.3",
  QuotasNoOp: "1.3",
  RequestGroup: "1.3",
  RequestLevelParams: "1.1",
  RequestSpec: "1.14",
  Resource: "1.0",
  ResourceList: "1.0",
  ResourceMetadata: "1.0",
  S3ImageMapping: "1.0",
  SCSIDeviceBus: "1.0",
  SchedulerLimits: "1.0",
  SchedulerRetries: "1.1",
  SecurityGroup: "1.2",
  SecurityGroupList: "1.1",
  Selection: "1.1",
  Service: "1.22",
  ServiceList: "1.19",
  Tag: "1.1",
  TagList: "1.1",
  TaskLog: "1.0",
  TaskLogList: "1.0",
  TrustedCerts: "1.0",
  USBDeviceBus: "1.0",
  VIFMigrateData: "1.0",
  VMwareLiveMigrateData: "1.0",
  VirtCPUFeature: "1.0",
  VirtCPUModel: "1.0",
  VirtCPUTopology: "1.0",
  VirtualInterface: "1.3",
  VirtualInterfaceList: "1.0",
  VolumeUsage: "1.0",
  XenDeviceBus: "1.0",
};

/** The properties of one release of the control plane, and its requirements for a nova-compute. */
export interface ReleaseProfile {
  readonly release: Release;
  /** SERVICE_VERSION of the release, which an agent under it reports. */
  readonly serviceVersion: number;
  /** Minimum version of a nova-compute; with an older one, services of the release do not start. */
  readonly oldestServiceVersion: number;
  /** Minor version of compute RPC 6. */
  readonly computeRpcMinor: number;
  /** The newest readable version of each object. */
  readonly objects: ReadonlyMap<string, string>;
}

interface Step {
  readonly release: Release;
  readonly oldest: number;
  readonly computeRpcMinor: number;
  /** Objects with a newer version than in the previous release. */
  readonly newer: Readonly<Record<string, string>>;
}

/** From Nova's own test of object hashes (nova/tests/unit/objects/test_objects.py) at the tags 26.2.2 to 34.0.0. */
const STEPS: readonly Step[] = [
  { release: "zed", oldest: 61, computeRpcMinor: 1, newer: ZED_OBJECTS },
  { release: "antelope", oldest: 61, computeRpcMinor: 2, newer: {} },
  { release: "bobcat", oldest: 66, computeRpcMinor: 2, newer: { Instance: "2.8", Migration: "1.8" } },
  {
    release: "caracal",
    oldest: 66,
    computeRpcMinor: 3,
    newer: {
      ConsoleAuthToken: "1.2",
      ImageMetaProps: "1.37",
      LibvirtLiveMigrateData: "1.11",
      RequestSpec: "1.15",
      ShareMapping: "1.0",
      ShareMappingList: "1.0",
    },
  },
  {
    release: "dalmatian",
    oldest: 66,
    computeRpcMinor: 3,
    newer: { ImageMetaProps: "1.38", LibvirtLiveMigrateData: "1.12" },
  },
  {
    release: "epoxy",
    oldest: 66,
    computeRpcMinor: 4,
    newer: {
      ConsoleAuthToken: "1.3",
      HyperVLiveMigrateData: "1.5",
      ImageMetaProps: "1.39",
      LibvirtLiveMigrateData: "1.13",
      ShareMapping: "1.2",
      ShareMetadata: "1.0",
      VMwareLiveMigrateData: "1.1",
    },
  },
  { release: "flamingo", oldest: 68, computeRpcMinor: 4, newer: { ImageMetaProps: "1.42" } },
  { release: "gazpacho", oldest: 68, computeRpcMinor: 5, newer: { LibvirtLiveMigrateData: "1.14" } },
  { release: "hibiscus", oldest: 72, computeRpcMinor: 5, newer: { ImageMetaProps: "1.44", ShareMappingList: "1.1" } },
];

/**
 * Release profiles, oldest first.
 * @internal for tests
 */
export const PROFILES: readonly ReleaseProfile[] = STEPS.map(({ release, oldest, computeRpcMinor }, at) => ({
  release,
  serviceVersion: RELEASES[release],
  oldestServiceVersion: oldest,
  computeRpcMinor,
  objects: new Map(STEPS.slice(0, at + 1).flatMap(({ newer }) => Object.entries(newer))),
}));

/** The profile that every conductor understands; used until a conductor has reported its version. */
export const OLDEST_PROFILE: ReleaseProfile = profileOf(0);

/** The newest known release. */
export const NEWEST_PROFILE: ReleaseProfile = profileOf(Number.MAX_SAFE_INTEGER);

/**
 * Returns the newest release that is not newer than `serviceVersion`. Two releases have version 66, and two have 67: the
 * older one is returned, whose format the newer one fully understands. For an unknown older version, the first one is
 * returned.
 */
export function profileOf(serviceVersion: number): ReleaseProfile {
  const reached = PROFILES.filter((profile) => profile.serviceVersion <= serviceVersion);
  const newest = Math.max(...reached.map((profile) => profile.serviceVersion));
  const found = reached.find((profile) => profile.serviceVersion === newest) ?? PROFILES[0];
  if (found === undefined) {
    throw new Error("there is no profile");
  }
  return found;
}
