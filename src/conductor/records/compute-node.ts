/** A row of `compute_nodes` (spec 1.3). The provider in Placement has this uuid, and `hypervisorHostname` as its name. */
export interface ComputeNode extends ComputeNodeResources {
  readonly id: number;
  readonly uuid: string;
  readonly host: string;
  readonly serviceId: number | null;
  readonly hypervisorHostname: string;
  readonly mapped: number;
  /** 0 while alive, else the row's id. */
  readonly deleted: number;
  readonly createdAt: number;
  readonly updatedAt: number | null;
}

export interface ComputeNodeResources {
  readonly hostIp: string | null;
  readonly vcpus: number;
  readonly memoryMb: number;
  readonly localGb: number;
  readonly vcpusUsed: number;
  readonly memoryMbUsed: number;
  readonly localGbUsed: number;
  /** May be negative. */
  readonly freeRamMb: number;
  /** May be negative. */
  readonly freeDiskGb: number;
  readonly runningVms: number;
  readonly currentWorkload: number;
  readonly diskAvailableLeast: number | null;
  readonly hypervisorType: string;
  readonly hypervisorVersion: number;
  /** JSON, or the empty string. */
  readonly cpuInfo: string;
  readonly supportedHvSpecs: readonly (readonly [arch: string, hypervisor: string, vmMode: string])[];
  /** Never 0: reading a row with 0 or NULL rewrites it with the configured or initial ratio. */
  readonly cpuAllocationRatio: number;
  readonly ramAllocationRatio: number;
  readonly diskAllocationRatio: number;
  readonly stats: Readonly<Record<string, string>>;
  /** JSON list of monitor metrics. */
  readonly metrics: string;
  readonly numaTopology: string | null;
  readonly pciDevicePools: readonly Readonly<Record<string, unknown>>[];
}
