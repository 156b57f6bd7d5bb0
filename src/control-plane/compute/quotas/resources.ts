import type { NovaConfig } from "../../../config/nova-config.js";
import type { Limits } from "../../store/quotas.js";

export const UNLIMITED = -1;

const NETWORK = ["fixed_ips", "floating_ips", "security_groups", "security_group_rules"] as const;
const FILES = ["injected_files", "injected_file_content_bytes", "injected_file_path_bytes"] as const;
const OF_GROUPS = ["server_groups", "server_group_members"] as const;
const ALWAYS = ["instances", "cores", "ram", "metadata_items", "key_pairs"] as const;

/** Nova's quota resources. The network resources are those of nova-network and are unlimited here. */
export const RESOURCES = [...ALWAYS, ...OF_GROUPS, ...FILES, ...NETWORK] as const;

export type Resource = (typeof RESOURCES)[number];

/** Resources without limits per user. */
export const PER_PROJECT: readonly string[] = ["fixed_ips", "floating_ips"];

/** Returns the resources of quota sets and of GET /limits. */
export function listQuotaResources(version: number): readonly Resource[] {
  return [...ALWAYS, ...OF_GROUPS, ...(version < 57 ? FILES : []), ...(version < 36 ? NETWORK : [])];
}

/**
 * Returns the resources of quota classes. Nova removed the network resources later here, and had forgotten server
 * groups.
 */
export function listClassResources(version: number): readonly Resource[] {
  return [...ALWAYS, ...(version < 50 ? NETWORK : OF_GROUPS), ...(version < 57 ? FILES : [])];
}

/** `[quota]` */
export interface QuotaConfig {
  /** False means that nothing is limited (`NoopQuotaDriver`). */
  readonly enforced: boolean;
  readonly defaults: Readonly<Record<Resource, number>>;
}

export function quotaConfig({ driver, injectedFilePathLength, ...limits }: NovaConfig["quota"]): QuotaConfig {
  const unlimited = { fixed_ips: -1, floating_ips: -1, security_groups: -1, security_group_rules: -1 };
  return {
    enforced: driver === "nova.quota.DbQuotaDriver",
    defaults: {
      instances: limits.instances,
      cores: limits.cores,
      ram: limits.ram,
      metadata_items: limits.metadataItems,
      key_pairs: limits.keyPairs,
      server_groups: limits.serverGroups,
      server_group_members: limits.serverGroupMembers,
      injected_files: limits.injectedFiles,
      injected_file_content_bytes: limits.injectedFileContentBytes,
      injected_file_path_bytes: injectedFilePathLength,
      ...unlimited,
    },
  };
}

/** Picks the limits of the resources; a missing limit is unlimited. */
export function only(resources: readonly Resource[], limits: Limits): Readonly<Record<string, number>> {
  return Object.fromEntries(resources.map((name) => [name, limits[name] ?? UNLIMITED]));
}
