import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { MESSAGES } from "../resources/messages.js";

/** Milliseconds for which a message is kept: `[DEFAULT] message_ttl`. */
const MESSAGE_TTL_MS = 2_592_000_000;

interface NewMessage {
  readonly projectId: string;
  /** `VOLUME` */
  readonly type: string;
  readonly id: string;
  /** Codes of what was done, and of what went wrong: `["001", "schedule allocate volume"]`. */
  readonly action: readonly [code: string, text: string];
  readonly detail: readonly [code: string, text: string];
}

export const SCHEDULE = ["001", "schedule allocate volume"] as const;
export const EXTEND = ["007", "extend volume"] as const;
export const NO_BACK_END = ["003", "Could not find any available weighted backend."] as const;
export const UNKNOWN = ["001", "An unknown error occurred."] as const;

/** Leaves a message about failed work for the users of a project. */
export function addMessage(context: BlockStorageContext, { projectId, type, id, action, detail }: NewMessage): void {
  context.insert(MESSAGES, {
    id: context.newId(),
    project_id: projectId,
    event_id: `VOLUME_${type}_${action[0]}_${detail[0]}`,
    user_message: `${action[1]}:${detail[1]}`,
    message_level: "ERROR",
    request_id: context.requestId,
    resource_type: type,
    resource_uuid: id,
    created_at: context.now,
    expires_at: context.now + MESSAGE_TTL_MS,
  });
}
