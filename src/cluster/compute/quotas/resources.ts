import type { ComputeDeps } from "../api/deps.js";

export const UNLIMITED = -1;

/** What Nova counts, with the minor from which on it doesn't show it any more. */
export const RESOURCES: readonly (readonly [name: string, until: number])[] = [
  ["instances", Number.POSITIVE_INFINITY],
  ["cores", Number.POSITIVE_INFINITY],
  ["ram", Number.POSITIVE_INFINITY],
  ["floating_ips", 36],
  ["fixed_ips", 36],
  ["metadata_items", Number.POSITIVE_INFINITY],
  ["injected_files", 57],
  ["injected_file_content_bytes", 57],
  ["injected_file_path_bytes", 57],
  ["security_groups", 36],
  ["security_group_rules", 36],
  ["key_pairs", Number.POSITIVE_INFINITY],
  ["server_groups", Number.POSITIVE_INFINITY],
  ["server_group_members", Number.POSITIVE_INFINITY],
];

/** What a project's servers use; servers that are only asked for count too. */
export function usageOf({ store }: Pick<ComputeDeps, "store">, projectId: string): Readonly<Record<string, number>> {
  const pending = store.requests.buildRequests(projectId).map(({ instance }) => instance);
  const placed = store.instances.usage(projectId);
  return {
    instances: placed.instances + pending.length,
    cores: pending.reduce((sum, { vcpus }) => sum + vcpus, placed.vcpus),
    ram: pending.reduce((sum, { memoryMb }) => sum + memoryMb, placed.memoryMb),
  };
}
