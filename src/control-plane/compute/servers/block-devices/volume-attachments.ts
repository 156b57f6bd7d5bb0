import { type BlockDevice, isRootDevice } from "../../../../records/index.js";
import { releaseVolume } from "../../../conductor/release-volumes.js";
import { badRequest, conflict, notFound } from "../../../http/http-error.js";
import { routes } from "../../../http/router.js";
import { type Schema, schemas } from "../../../http/schemas.js";
import {
  type Call,
  type ComputeResponse,
  type ComputeRoute,
  denied,
  requireMember,
  requireReader,
} from "../../api/call.js";
import {
  BOOLEAN,
  bodyOf,
  INTEGER_TEXT,
  isTrue,
  MULTI,
  object,
  strictSince75,
  TAG,
  UUID_TEXT,
} from "../../api/schema-parts.js";
import { endAction, recordAction, requireAgent, requireState } from "../actions/server-action.js";
import { assertNotLocked, type FoundServer, findServer } from "../find-server.js";
import { type AttachBody, attachVolume } from "./attach-volume.js";
import { swapVolume } from "./swap-volume.js";
import { asInvalidVolume, deviceNotFound, VOLUME_STATES, volumeNotFound } from "./volume-rules.js";

const policy = (what: string): string => `os_compute_api:os-volumes-attachments:${what}`;

/** Routes of a server's volumes. Their ids are those of the volumes. */
export const VOLUME_ATTACHMENT_ROUTES = routes<ComputeRoute>(
  {
    "GET /": list,
    "POST /": (call) => {
      const { volumeAttachment: requested } = call.body(ATTACH);
      requireMember(call, policy("create"));
      const { instance } = findServer(call);
      assertShelvedSupported(call, instance, "attach_volume");
      return attachVolume(call, requested);
    },
    "GET /:volume": (call) => {
      const found = findServer(call);
      requireReader(call, policy("show"));
      return { body: { volumeAttachment: view(call, findDevice(call, found)) } };
    },
    "PUT /:volume": update,
    "DELETE /:volume": (call) => call.store.transaction(() => detach(call)),
  },
  { prefix: "/servers/:id/os-volume_attachments" },
);

/** `/dev/vdb`; null: the host's choice. */
const DEVICE = { type: ["string", "null"], pattern: "(^/dev/x{0,1}[a-z]{0,1}d{0,1})([a-z]+)[0-9]*$" };

function attachment(properties: Readonly<Record<string, Schema>>): Schema {
  return bodyOf("volumeAttachment", object({ volumeId: UUID_TEXT, ...properties }, ["volumeId"]));
}

const ATTACH = schemas<AttachBody>(
  [1, attachment({ device: DEVICE })],
  [49, attachment({ device: DEVICE, tag: TAG })],
  [79, attachment({ device: DEVICE, tag: TAG, delete_on_termination: BOOLEAN })],
);

interface UpdateBody {
  readonly volumeAttachment: AttachBody["volumeAttachment"] & { readonly serverId?: string; readonly id?: string };
}

/** The first microversion that changes an attachment, and does not only replace its volume. */
const UPDATE_FROM = 85;

const UPDATE = schemas<UpdateBody>(
  [1, attachment({})],
  [
    UPDATE_FROM,
    attachment({ device: DEVICE, tag: TAG, delete_on_termination: BOOLEAN, serverId: UUID_TEXT, id: UUID_TEXT }),
  ],
);

const LIST = schemas<unknown>(...strictSince75({ limit: MULTI(INTEGER_TEXT), offset: MULTI(INTEGER_TEXT) }));

/** Max entries of a list response: Nova's default of `[api] max_limit`. */
const MAX_LIMIT = 1000;

/** The first microversion that shows the ids of attachment and block device in place of the volume's as `id`. */
const IDS_FROM = 89;

function list(call: Call): ComputeResponse {
  call.checkQuery(LIST);
  const { instance, building } = findServer(call);
  requireReader(call, policy("index"));
  const offset = Number(call.query.get("offset") ?? 0);
  const limit = Math.min(Number(call.query.get("limit") ?? MAX_LIMIT) || MAX_LIMIT, MAX_LIMIT);
  const devices = building ? [] : call.store.blockDevices.ofInstance(instance.uuid);
  // Nova counts local disks, which the list omits.
  const page = devices.slice(offset, offset + limit).filter(({ volumeId }) => volumeId !== null);
  return { body: { volumeAttachments: page.map((device) => view(call, device)) } };
}

function view({ version }: Call, device: BlockDevice) {
  const { uuid, instanceUuid: serverId, volumeId, deviceName, tag, deleteOnTermination, attachmentId } = device;
  return {
    ...(version < IDS_FROM && { id: volumeId }),
    ...{ volumeId, serverId },
    ...(deviceName !== null && { device: deviceName }),
    ...(version >= 70 && { tag }),
    ...(version >= 79 && { delete_on_termination: deleteOnTermination }),
    ...(version >= IDS_FROM && { attachment_id: attachmentId, bdm_uuid: uuid }),
  };
}

function deviceOf(call: Call, { instance, building }: FoundServer): BlockDevice | undefined {
  const id = call.param("volume").toLowerCase();
  return building
    ? undefined
    : call.store.blockDevices.ofInstance(instance.uuid).find((device) => device.volumeId === id);
}

/** Returns the block device that the path names. @throws {HttpError} 404 */
function findDevice(call: Call, found: FoundServer): BlockDevice {
  const device = deviceOf(call, found);
  if (device === undefined) {
    throw notFound(`Instance ${call.param("id")} is not attached to volume ${call.param("volume")}`);
  }
  return device;
}

/** The first microversion that changes the volumes of shelved servers. */
const SHELVED_FROM = 20;

function assertShelvedSupported({ version }: Call, { uuid, vmState }: FoundServer["instance"], verb: string): void {
  if (version < SHELVED_FROM && ["shelved", "shelved_offloaded"].includes(vmState)) {
    throw conflict(`Cannot '${verb}' instance ${uuid} while it is in vm_state ${vmState}`);
  }
}

/** Detaches a volume. The host removes the device; a server that no host has loses it at once. */
function detach(call: Call): ComputeResponse {
  const found = findServer(call);
  const { instance } = found;
  const { volumes, bus } = call.deps;
  requireMember(call, policy("delete"));
  assertShelvedSupported(call, instance, "detach_volume");
  const id = call.param("volume").toLowerCase();
  if (volumes.volume(id, call.credentials) === undefined) {
    throw volumeNotFound(call.param("volume"));
  }
  const device = findDevice(call, found);
  if (isRootDevice(device)) {
    throw badRequest("Cannot detach a root device volume");
  }
  assertNotLocked(call, instance);
  requireState(instance, "detach_volume", { vm: VOLUME_STATES });
  if (instance.vmState === "shelved_offloaded") {
    recordAction(call, instance, "detach_volume");
    releaseVolume(call.deps, device);
    endAction(call, instance, "api_detach_volume");
    return { status: 202 };
  }
  const host = requireAgent(call.deps, instance);
  asInvalidVolume(call, () => volumes.beginDetaching(id));
  recordAction(call, instance, "detach_volume");
  const { requestId } = call;
  const params = { instanceUuid: instance.uuid, blockDeviceUuid: device.uuid, requestId };
  bus.cast(host, "detach_volume", params, requestId);
  return { status: 202 };
}

/** Changes an attachment, and replaces its volume if the body names another one. */
function update(call: Call): ComputeResponse {
  const { volumeAttachment: requested } = call.body(UPDATE);
  const isChange = call.version >= UPDATE_FROM;
  const replaces = !isChange || requested.volumeId.toLowerCase() !== call.param("volume").toLowerCase();
  return call.store.transaction(() => {
    const found = findServer(call);
    if (!replaces) {
      requireMember(call, policy("update"));
    } else if (!call.isAdmin) {
      throw denied(policy("swap"));
    }
    if (isChange) {
      change(call, found, requested);
    }
    if (replaces) {
      swapVolume(call, found.instance, deviceOf(call, found), requested.volumeId.toLowerCase());
    }
    return { status: 202 };
  });
}

/** @throws {HttpError} 400, 404 */
function change(call: Call, found: FoundServer, requested: UpdateBody["volumeAttachment"]): void {
  const device = deviceOf(call, found);
  if (device === undefined) {
    throw deviceNotFound(call.param("volume"));
  }
  const fixed = { id: device.volumeId, serverId: device.instanceUuid, device: device.deviceName, tag: device.tag };
  for (const name of ["id", "serverId", "device", "tag"] as const) {
    if (requested[name] !== undefined && requested[name] !== fixed[name]) {
      throw badRequest(`The ${name} property is not mutable`);
    }
  }
  const { delete_on_termination: deletes } = requested;
  if (deletes !== undefined) {
    call.store.blockDevices.save(device.uuid, { deleteOnTermination: isTrue(deletes) });
  }
}
