import { hostname } from "node:os";
import { resolve } from "node:path";
import { effectiveDownTime } from "../../conductor-client/liveness.js";
import { type CommandLineValue, readConfigSources } from "../../config/config-sources.js";
import { compileNovaConfig, type NovaConfig, unusedOptions } from "../../config/nova-config.js";
import { type QuotaConfig, quotaConfig } from "../../control-plane/compute/quotas/resources.js";
import { taskOptions } from "../../control-plane/conductor/tasks/task-deps.js";
import type { ControlPlaneOptions } from "../../control-plane/control-plane.js";
import { configuredPlacementAccess } from "../../placement-client/access/configured-access.js";
import { OLDEST_SUPPORTED_SERVICE_VERSION } from "../../records/index.js";
import type { Runtime } from "../../runtime/runtime.js";

/** Options of nova.conf for the control plane; flags override files. */
export interface ControlPlaneFlags {
  readonly configFile: readonly string[];
  readonly serviceDownTime?: string;
  readonly allowResizeToSameHost?: true;
  readonly reclaimInstanceInterval?: string;
  readonly serviceDeletePolicy?: string;
  readonly disableComputeServiceCheckForFfu?: true;
}

type ControlPlaneConfig = ReturnType<typeof controlPlaneOptions> & Pick<ControlPlaneOptions, "placement">;

/**
 * Reads the options. `[placement] auth_type` names a Placement that runs elsewhere; unset, the embedded one is used. Ignores
 * the options of agents and drivers, since the agents check them.
 * @throws {ConfigError}
 */
export async function controlPlaneConfig(
  flags: ControlPlaneFlags,
  place: { readonly runtime: Runtime; readonly cwd: string; readonly stateDir: string },
): Promise<ControlPlaneConfig> {
  const sources = await readConfigSources(place.runtime.files, {
    configFiles: flags.configFile.map((path) => resolve(place.cwd, path)),
    environment: process.env,
    commandLine: commandLine(flags),
  });
  const compiled = compileNovaConfig(sources, { stateDir: place.stateDir, hostname: hostname() });
  for (const { message } of unusedOptions(compiled.config.placement.authType, compiled.values)) {
    place.runtime.logger.warn(message);
  }
  const placement = configuredPlacementAccess(compiled.config, place.runtime);
  return { ...(placement === null ? {} : { placement }), ...controlPlaneOptions(compiled.config) };
}

/** Reads the options that decide what a cloud starts with, as the control plane will. @throws {ConfigError} */
export async function readStartOptions(
  configFiles: readonly string[],
  { runtime, stateDir }: { readonly runtime: Pick<Runtime, "files">; readonly stateDir: string },
): Promise<{ readonly networkStart: NovaConfig["network"]["start"] } & Pick<ControlPlaneConfig, "blockStorage">> {
  const sources = await readConfigSources(runtime.files, { configFiles, environment: process.env, commandLine: [] });
  const { config } = compileNovaConfig(sources, { stateDir, hostname: hostname() });
  return { networkStart: config.network.start, blockStorage: blockStorageOptions(config.blockStorage) };
}

/**
 * Returns the options of a control plane with an embedded Placement.
 * @internal for tests
 */
export function controlPlaneOptions({
  defaults,
  scheduler,
  filterScheduler,
  api,
  network,
  blockStorage,
  cinder,
  quota,
  workarounds,
}: NovaConfig) {
  return {
    serviceDownTime: effectiveDownTime(defaults.serviceDownTime, defaults.reportInterval),
    reportInterval: defaults.reportInterval,
    scheduler: {
      maxAttempts: scheduler.maxAttempts,
      maxPlacementResults: scheduler.maxPlacementResults,
      aggregates: {
        limitTenants: scheduler.limitTenantsToPlacementAggregate,
        aggregateRequired: scheduler.placementAggregateRequiredForTenants,
        isolate: scheduler.enableIsolatedAggregateFiltering,
      },
      filters: filterScheduler.enabledFilters,
      multipliers: {
        ram: filterScheduler.ramWeightMultiplier,
        cpu: filterScheduler.cpuWeightMultiplier,
        disk: filterScheduler.diskWeightMultiplier,
        ioOps: filterScheduler.ioOpsWeightMultiplier,
        softAffinity: filterScheduler.softAffinityWeightMultiplier,
        softAntiAffinity: filterScheduler.softAntiAffinityWeightMultiplier,
        buildFailure: filterScheduler.buildFailureWeightMultiplier,
      },
    },
    ...taskOptions(defaults),
    reclaimInstanceInterval: defaults.reclaimInstanceInterval,
    serviceDeletePolicy: api.serviceDeletePolicy,
    quota: quotaConfig(quota),
    network: { ...network, quotas: portQuota(quotaConfig(quota)) },
    blockStorage: blockStorageOptions(blockStorage),
    auditPeriod: defaults.instanceUsageAuditPeriod,
    crossAzAttach: cinder.crossAzAttach,
    upstreamQuirks: workarounds.upstreamQuirks,
    ...(workarounds.disableComputeServiceCheckForFfu ? {} : { oldestServiceVersion: OLDEST_SUPPORTED_SERVICE_VERSION }),
  } satisfies Partial<ControlPlaneOptions>;
}

function blockStorageOptions(section: NovaConfig["blockStorage"]) {
  const { backEnds, defaultVolumeType, storageAvailabilityZone, maxOverSubscriptionRatio } = section;
  return {
    backEnds,
    defaultVolumeType,
    storageAvailabilityZone,
    maxOverSubscriptionRatio,
    quotas: {
      volumes: section.quotaVolumes,
      per_volume_gigabytes: section.perVolumeSizeLimit,
      snapshots: section.quotaSnapshots,
      gigabytes: section.quotaGigabytes,
      backups: section.quotaBackups,
      backup_gigabytes: section.quotaBackupGigabytes,
      groups: section.quotaGroups,
    },
  };
}

/** Neutron's default of 500 ports would be the lower limit of a project that may have more servers. */
function portQuota({ enforced, defaults }: QuotaConfig): Readonly<Record<string, number>> {
  const isUnlimited = !enforced || defaults.instances < 0 || defaults.instances > NEUTRON_PORT_QUOTA;
  return isUnlimited ? { port: -1 } : {};
}

const NEUTRON_PORT_QUOTA = 500;

const FFU = "disable_compute_service_check_for_ffu";

function commandLine(flags: ControlPlaneFlags): CommandLineValue[] {
  return [
    ...flag("DEFAULT", "service_down_time", "--service-down-time", flags.serviceDownTime),
    ...flag("DEFAULT", "allow_resize_to_same_host", "--allow-resize-to-same-host", flags.allowResizeToSameHost),
    ...flag("DEFAULT", "reclaim_instance_interval", "--reclaim-instance-interval", flags.reclaimInstanceInterval),
    ...flag("workarounds", FFU, "--disable-compute-service-check-for-ffu", flags.disableComputeServiceCheckForFfu),
    ...flag("api", "service_delete_policy", "--service-delete-policy", flags.serviceDeletePolicy),
  ];
}

function flag(section: string, option: string, name: string, value: string | true | undefined): CommandLineValue[] {
  return value === undefined ? [] : [{ section, option, value: String(value), flag: name }];
}
