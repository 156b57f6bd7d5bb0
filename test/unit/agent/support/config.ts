import type { NovaConfig } from "../../../../src/config/nova-config.js";

export interface ConfigChanges {
  readonly statePath?: string;
  readonly defaults?: Readonly<Record<string, unknown>>;
  readonly workarounds?: Readonly<Record<string, unknown>>;
  readonly compute?: Readonly<Record<string, unknown>>;
  readonly quirks?: readonly string[];
}

/** The options that an agent reads, at their defaults (spec 4.10) but for what a test changes. */
export const novaConfig = ({ statePath, defaults, workarounds, compute, quirks = [] }: ConfigChanges): NovaConfig =>
  ({
    driver: {},
    defaults: {
      statePath,
      myIp: "127.0.0.1",
      computeDriver: "fake-memory",
      reportInterval: 10,
      serviceDownTime: 60,
      periodicEnable: false,
      periodicFuzzyDelay: 60,
      runningDeletedInstanceAction: "reap",
      runningDeletedInstanceTimeout: 0,
      runningDeletedInstancePollInterval: 1800,
      syncPowerStateInterval: 600,
      updateResourcesInterval: 0,
      instanceDeleteInterval: 300,
      maximumInstanceDeleteAttempts: 5,
      reclaimInstanceInterval: 0,
      instanceBuildTimeout: 0,
      schedulerInstanceSyncInterval: 120,
      resumeGuestsStateOnHostBoot: false,
      enableNewServices: true,
      gracefulShutdownTimeout: 180,
      managerShutdownTimeout: 160,
      reservedHostCpus: 0,
      reservedHostMemoryMb: 512,
      reservedHostDiskMb: 0,
      cpuAllocationRatio: null,
      ramAllocationRatio: null,
      diskAllocationRatio: null,
      initialCpuAllocationRatio: 4,
      initialRamAllocationRatio: 1,
      initialDiskAllocationRatio: 1,
      ...defaults,
    },
    compute: {
      maxDiskDevicesToAttach: -1,
      resourceProviderAssociationRefresh: 300,
      providerConfigLocation: "/etc/provider_config",
      imageTypeExcludeList: [],
      consecutiveBuildServiceDisableThreshold: 10,
      leanTracking: true,
      healMovedAllocations: false,
      ...compute,
    },
    filterScheduler: { trackInstanceChanges: true },
    workarounds: {
      handleVirtLifecycleEvents: true,
      disableComputeServiceCheckForFfu: false,
      upstreamQuirks: new Set(quirks),
      ...workarounds,
    },
  }) as unknown as NovaConfig;
