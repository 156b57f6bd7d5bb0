import type { ServiceClient } from "../cloud/service-client.js";
import { findAttachedServer, findVolume } from "../read/read-volumes.js";
import { ALREADY, type Outcome, outcomeOf, rejectedOutcome } from "./outcome.js";
import type { VolumeAction } from "./plan.js";

const SERVICE = "the Block Storage service";

/** Changes a volume or an attachment if its state is still the one that the plan assumes. @throws {AuditError} */
export async function changeVolume(blockStorage: ServiceClient | null, action: VolumeAction): Promise<Outcome> {
  if (blockStorage === null) {
    return rejectedOutcome("the cloud has no Block Storage service");
  }
  switch (action.kind) {
    case "set-volume":
      return setVolume(blockStorage, action);
    case "delete-attachment":
      return deleteAttachment(blockStorage, action);
    case "irreversible":
      return rejectedOutcome(action.reason);
  }
}

type ActionOf<K extends VolumeAction["kind"]> = Extract<VolumeAction, { readonly kind: K }>;

async function setVolume(
  blockStorage: ServiceClient,
  { uuid, before, after }: ActionOf<"set-volume">,
): Promise<Outcome> {
  const volume = await findVolume(blockStorage, uuid);
  if (volume === undefined) {
    return rejectedOutcome(`volume ${uuid} is gone`);
  }
  const { status, attachments } = volume;
  if (status === after) {
    return ALREADY;
  }
  if (status !== before) {
    return rejectedOutcome(`volume ${uuid} has changed since the audit: expected status ${before}, found ${status}`);
  }
  if (after === "available" && attachments.length > 0) {
    return rejectedOutcome(`volume ${uuid} has an attachment since the audit`);
  }
  const attach_status = attachments.length > 0 ? "attached" : "detached";
  const body = { "os-reset_status": { status: after, attach_status } };
  return outcomeOf(SERVICE, await blockStorage.request("POST", `/volumes/${uuid}/action`, { body }));
}

async function deleteAttachment(
  blockStorage: ServiceClient,
  { attachment, server }: ActionOf<"delete-attachment">,
): Promise<Outcome> {
  const found = await findAttachedServer(blockStorage, attachment);
  if (found === undefined) {
    return ALREADY;
  }
  return found === server
    ? outcomeOf(SERVICE, await blockStorage.request("DELETE", `/attachments/${attachment}`))
    : rejectedOutcome(`attachment ${attachment} has changed since the audit: it is not of server ${server}`);
}
