import type { BlockDevice, Instance } from "../../../../records/index.js";
import { badRequest } from "../../../http/http-error.js";
import type { Call } from "../../api/call.js";
import { recordAction, requireHost, requireState } from "../actions/server-action.js";
import { assertNotLocked } from "../find-server.js";
import {
  asInvalidInput,
  asInvalidVolume,
  assertNotAttached,
  deviceNotFound,
  invalidVolume,
  volumeNotFound,
} from "./volume-rules.js";
import { assertSameZone } from "./volume-zones.js";

/**
 * Has the host copy a server's volume to another one and use that, in the caller's transaction.
 * @param device undefined if the server does not have the volume
 * @throws {HttpError} 400, 404, 409
 */
export function swapVolume(call: Call, instance: Instance, device: BlockDevice | undefined, newVolumeId: string): void {
  const { volumes, bus } = call.deps;
  const oldVolumeId = call.param("volume").toLowerCase();
  const [oldVolume, newVolume] = [oldVolumeId, newVolumeId].map((id) => volumes.volume(id, call.credentials));
  if (oldVolume === undefined) {
    throw volumeNotFound(oldVolumeId);
  }
  if (newVolume === undefined) {
    throw badRequest(`Volume ${newVolumeId} could not be found.`);
  }
  assertNotLocked(call, instance);
  requireState(instance, "swap_volume", { vm: ["active", "paused", "resized"] });
  const attachments = volumes.attachments(oldVolumeId);
  if (!attachments.some(({ serverUuid }) => serverUuid === instance.uuid)) {
    throw invalidVolume("Old volume is attached to a different instance.");
  }
  if (newVolume.isAttached) {
    throw invalidVolume("New volume must be detached in order to swap.");
  }
  if (newVolume.size < oldVolume.size) {
    throw invalidVolume("New volume must be the same size or larger.");
  }
  assertSameZone(call, instance, newVolume);
  asInvalidVolume(call, () => volumes.beginDetaching(oldVolumeId));
  if (attachments.length > 1 && attachments.filter(({ isReadOnly }) => !isReadOnly).length > 1) {
    throw badRequest("Swapping multi-attach volumes with more than one read/write attachment is not supported.");
  }
  if (device === undefined) {
    throw deviceNotFound(oldVolumeId);
  }
  assertNotAttached(call, instance, newVolume);
  const newAttachmentId = asInvalidInput(call, () => volumes.reserve(newVolumeId, instance.uuid));
  recordAction(call, instance, "swap_volume");
  const { requestId } = call;
  const params = { instanceUuid: instance.uuid, blockDeviceUuid: device.uuid, newVolumeId, newAttachmentId, requestId };
  bus.cast(requireHost(instance), "swap_volume", params, requestId);
}
