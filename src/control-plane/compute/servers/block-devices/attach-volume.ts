import { isConductorError } from "../../../../conductor-client/errors.js";
import {
  type BlockDevice,
  DEVICES_MARK,
  hasDevices,
  type Instance,
  isVolumeBacked,
} from "../../../../records/index.js";
import type { ServerVolume } from "../../../block-storage/server-volumes.js";
import { badRequest, conflict, forbidden } from "../../../http/http-error.js";
import { askAgent } from "../../api/agents.js";
import type { Call, ComputeResponse } from "../../api/call.js";
import { isTrue } from "../../api/schema-parts.js";
import { endAction, recordAction, requireHost, requireState } from "../actions/server-action.js";
import { assertNotLocked, findServer } from "../find-server.js";
import { flavorDevices } from "./boot-devices.js";
import { rootOfImage } from "./device-requests.js";
import {
  asInvalidInput,
  assertMultiattachSupported,
  assertNotAttached,
  VOLUME_STATES,
  volumeNotFound,
} from "./volume-rules.js";
import { assertSameZone } from "./volume-zones.js";

/** A valid body of POST /servers/{id}/os-volume_attachments. */
export interface AttachBody {
  readonly volumeAttachment: {
    readonly volumeId: string;
    readonly device?: string | null;
    readonly tag?: string;
    readonly delete_on_termination?: boolean | string;
  };
}

type Requested = AttachBody["volumeAttachment"];

/**
 * Attaches a volume: the host chooses the device's name while the client waits, then the volume is reserved, and the host
 * attaches it. A server that no host has gets it when it is unshelved.
 */
export function attachVolume(call: Call, requested: Requested): ComputeResponse | Promise<ComputeResponse> {
  const { store } = call;
  const { instance, device } = store.transaction(() => createDevice(call, requested));
  return device === undefined
    ? respond(call, requested, instance, null)
    : attachOnHost(call, requested, instance, device);
}

/** Creates the device's record. That of a server that no host has is complete; then the device is absent. */
function createDevice(
  call: Call,
  requested: Requested,
): { readonly instance: Instance; readonly device?: BlockDevice } {
  const { store } = call;
  const { instance, volume } = findAttachable(call, requested.volumeId.toLowerCase());
  if (instance.vmState === "shelved_offloaded") {
    attachShelved(call, instance, volume, requested);
    return { instance };
  }
  requireHost(instance);
  const device = store.blockDevices.create({
    ...ofVolume(call, instance, volume),
    deviceName: requested.device ?? null,
    tag: requested.tag ?? null,
    deleteOnTermination: isTrue(requested.delete_on_termination),
  });
  return { instance, device };
}

/** @throws {HttpError} 400, 404, 409 */
function findAttachable(call: Call, volumeId: string): { readonly instance: Instance; readonly volume: ServerVolume } {
  const { instance } = findServer(call);
  assertNotLocked(call, instance);
  requireState(instance, "attach_volume", { vm: VOLUME_STATES });
  const volume = call.deps.volumes.volume(volumeId, call.credentials);
  if (volume === undefined) {
    throw volumeNotFound(volumeId);
  }
  assertNotAttached(call, instance, volume);
  return { instance, volume };
}

/** Returns the attributes of a new device, after the records of the server's own disks. */
function ofVolume(call: Call, instance: Instance, { id, size }: ServerVolume) {
  ensureDevices(call, instance);
  const types = { sourceType: "volume", destinationType: "volume" } as const;
  return { ...types, instanceUuid: instance.uuid, volumeId: id, volumeSize: size };
}

/** Creates the records of the disks that a server has by its image and its flavor, unless all its disks have records. */
function ensureDevices({ store }: Call, instance: Instance): void {
  if (hasDevices(instance)) {
    return;
  }
  const { uuid, imageRef, flavor, systemMetadata } = instance;
  const root = isVolumeBacked(instance) ? [] : [rootOfImage(imageRef)];
  for (const device of [...root, ...flavorDevices(flavor, [])]) {
    store.blockDevices.create({ ...device, instanceUuid: uuid });
  }
  store.instances.save(uuid, { systemMetadata: { ...systemMetadata, ...DEVICES_MARK } });
}

/** @throws {HttpError} 400 */
function attachShelved(call: Call, instance: Instance, volume: ServerVolume, requested: Requested): void {
  const { store, volumes } = call.deps;
  if (requested.tag) {
    throw badRequest("Tagged volume attachment is not supported for shelved-offloaded instances.");
  }
  if (volume.isMultiattach) {
    throw badRequest("Attaching multiattach volumes is not supported for shelved-offloaded instances.");
  }
  assertSameZone(call, instance, volume);
  const device = ofVolume(call, instance, volume);
  const attachmentId = asInvalidInput(call, () => volumes.reserve(volume.id, instance.uuid));
  store.blockDevices.create({
    ...device,
    attachmentId,
    deleteOnTermination: isTrue(requested.delete_on_termination),
  });
  recordAction(call, instance, "attach_volume");
  volumes.complete(attachmentId);
  endAction(call, instance, "api_attach_volume");
}

async function attachOnHost(
  call: Call,
  requested: Requested,
  instance: Instance,
  { uuid: blockDeviceUuid }: BlockDevice,
): Promise<ComputeResponse> {
  const { store } = call;
  const params = { instanceUuid: instance.uuid, blockDeviceUuid, requestId: call.requestId };
  try {
    const host = requireHost(instance);
    const name = await askAgent(call, host, "reserve_block_device_name", params, "attach_volume");
    return store.transaction(() => {
      reserve(call, host, blockDeviceUuid);
      call.deps.bus.cast(host, "attach_volume", params, call.requestId);
      return respond(call, requested, instance, name);
    });
  } catch (error) {
    store.blockDevices.destroy(blockDeviceUuid);
    throw toAttachError(error);
  }
}

/** Reserves the volume. Meanwhile the server may have moved or been deleted. @throws {HttpError} 400, 404, 409 */
function reserve(call: Call, host: string, blockDeviceUuid: string): void {
  const { store, volumes } = call.deps;
  const { instance } = findServer(call);
  requireState(instance, "attach_volume", { vm: VOLUME_STATES });
  const device = store.blockDevices.get(blockDeviceUuid);
  if (instance.host !== host || device?.volumeId == null) {
    throw conflict(`Instance ${instance.uuid} is not ready`);
  }
  const { volumeId } = device;
  const volume = volumes.volume(volumeId, call.credentials);
  if (volume === undefined) {
    throw volumeNotFound(volumeId);
  }
  assertSameZone(call, instance, volume);
  assertMultiattachSupported(call, volume);
  const attachmentId = asInvalidInput(call, () => volumes.reserve(volumeId, instance.uuid));
  store.blockDevices.save(blockDeviceUuid, { attachmentId });
  recordAction(call, instance, "attach_volume");
}

/** Converts errors of the agent to those of Nova's API. */
function toAttachError(error: unknown): unknown {
  if (isConductorError(error, "DevicePathInUse")) {
    return conflict(error.message);
  }
  if (isConductorError(error, "TooManyDiskDevices")) {
    return forbidden(error.message);
  }
  const isUnsupported = isConductorError(
    error,
    "VolumeTaggedAttachNotSupported",
    "MultiattachNotSupportedByVirtDriver",
  );
  return isUnsupported ? badRequest(error.message) : error;
}

function respond(
  { version }: Call,
  { volumeId, tag, delete_on_termination: deletes }: Requested,
  { uuid: serverId }: Instance,
  device: string | null,
): ComputeResponse {
  const volumeAttachment = {
    ...{ id: volumeId, serverId, volumeId, device },
    ...(version >= 70 && { tag: tag ?? null }),
    ...(version >= 79 && { delete_on_termination: isTrue(deletes) }),
  };
  return { body: { volumeAttachment } };
}
