import type { ReleaseProfile } from "../objects/profile.js";

/** The topic of every request to a nova-compute; a queue each for the topic, its fan-out and `compute.<host>`. */
export const COMPUTE_TOPIC = "compute";

/** The topic that a nova-compute of RPC 6.5 or later (2026.1) also reads, and reads until its shutdown is over. */
export const ALTERNATE_TOPIC = "compute-alt";

/** The first service version whose nova-computes read {@link ALTERNATE_TOPIC}. */
export const ALTERNATE_TOPIC_SERVICE_VERSION = 71;

/** Methods that continue or end an operation, which compute RPC 6.5 sends to {@link ALTERNATE_TOPIC}. */
const ALTERNATE_METHODS: ReadonlySet<string> = new Set([
  "check_instance_shared_storage",
  "drop_move_claim_at_destination",
  "external_instance_event",
  "finish_resize",
  "finish_revert_resize",
  "finish_revert_snapshot_based_resize_at_source",
  "finish_snapshot_based_resize_at_dest",
  "live_migration",
  "post_live_migration_at_destination",
  "pre_live_migration",
  "prep_snapshot_based_resize_at_source",
  "remove_volume_connection",
  "resize_instance",
  "rollback_live_migration_at_destination",
  "validate_console_port",
]);

/** Whether a nova-compute of the release reads {@link ALTERNATE_TOPIC}. */
export function hasAlternateTopic({ computeRpcMinor }: ReleaseProfile): boolean {
  return computeRpcMinor >= 5;
}

/** Returns the topic to which compute RPC 6.5 sends the method. */
export function topicOfMethod(method: string): typeof COMPUTE_TOPIC | typeof ALTERNATE_TOPIC {
  return ALTERNATE_METHODS.has(method) ? ALTERNATE_TOPIC : COMPUTE_TOPIC;
}

/** Returns the queue that only the nova-compute of the host reads. */
export function hostQueue(topic: string, host: string): string {
  return `${topic}.${host}`;
}
