import { append } from "../../runtime/collections.js";
import { mapConcurrently } from "../../runtime/task-queue.js";
import type { Cloud } from "../cloud/open-cloud.js";
import type { ServiceClient } from "../cloud/service-client.js";
import { attachmentOfDevice } from "./read-compute.js";
import { CONCURRENCY, mapWithProgress } from "./read-placement.js";
import type { OnProgress, Volume, VolumeAttachment } from "./records.js";
import { asArray, asRecord, asString, asStringOrNull, listAll, timeOf } from "./response-fields.js";

type Entry = Readonly<Record<string, unknown>>;

type Services = Pick<Cloud, "compute"> & { readonly blockStorage: ServiceClient };

/** The mountpoint of Ironic's attachments, whose instances need not be servers of Nova. */
const IRONIC_MOUNTPOINT = "ironic_mountpoint";

/**
 * Reads all volumes with their attachments. Asks Compute which of several attachments of a server its block device has.
 * @param withDevices asks that also about the only attachment of a server, with a request for each
 * @throws {AuditError}
 */
export async function readVolumes(
  { blockStorage, compute }: Services,
  { onProgress, withDevices }: { readonly onProgress: OnProgress; readonly withDevices: boolean },
): Promise<Map<string, Volume>> {
  const markerOf = ({ id }: Entry) => asString(id);
  const path = (collection: string) => `/${collection}/detail?all_tenants=1`;
  const attachments = await listAll(
    blockStorage,
    { path: path("attachments"), key: "attachments", what: "attachments of volumes", markerOf, hasLinks: false },
    onProgress,
  );
  const volumes = await listAll(
    blockStorage,
    { path: path("volumes"), key: "volumes", what: "volumes", markerOf },
    onProgress,
  );
  const byVolume = new Map<string, Entry[]>();
  for (const attachment of attachments) {
    append(byVolume, asString(attachment.volume_id), attachment);
  }
  const read = volumes.map((volume) => volumeOf(volume, byVolume.get(asString(volume.id)) ?? []));
  const complete = await mapWithProgress(read, "block devices", onProgress, (volume) =>
    addDevices(compute, volume, withDevices),
  );
  return new Map(complete.map((volume) => [volume.id, volume]));
}

/** Reads some volumes again; without those that no longer exist. @throws {AuditError} */
export async function readVolumesAgain(
  services: Services,
  uuids: readonly string[],
  { withDevices }: { readonly withDevices: boolean },
): Promise<Map<string, Volume>> {
  const read = await mapConcurrently(uuids, CONCURRENCY, async (uuid) => {
    const volume = await findVolume(services.blockStorage, uuid);
    return volume ? [[uuid, await addDevices(services.compute, volume, withDevices)] as const] : [];
  });
  return new Map(read.flat());
}

/** Returns undefined if there is no such volume. Its attachments lack their devices. @throws {AuditError} */
export async function findVolume(blockStorage: ServiceClient, uuid: string): Promise<Volume | undefined> {
  const id = encodeURIComponent(uuid);
  const { attachments } = await blockStorage.get(`/attachments/detail?all_tenants=1&volume_id=${id}`);
  const body = await blockStorage.find(`/volumes/${id}`);
  return body && volumeOf(asRecord(body.volume), asArray(attachments).map(asRecord));
}

/** Returns the server of an attachment, null without one; undefined if there is no such attachment. @throws {AuditError} */
export async function findAttachedServer(
  blockStorage: ServiceClient,
  uuid: string,
): Promise<string | null | undefined> {
  const body = await blockStorage.find(`/attachments/${encodeURIComponent(uuid)}`);
  return body && asStringOrNull(asRecord(body.attachment).instance);
}

function volumeOf(volume: Entry, attachments: readonly Entry[]): Volume {
  // The list of attachments lacks their hosts, and the volume lacks attachments that are not in use.
  const inUse = asArray(volume.attachments ?? []).map(asRecord);
  return {
    id: asString(volume.id),
    name: asStringOrNull(volume.name) ?? "",
    status: asString(volume.status),
    changedAt: timeOf(volume.updated_at ?? volume.created_at),
    attachments: attachments.map((attachment) => attachmentOf(attachment, inUse)),
  };
}

function attachmentOf({ id, instance, status }: Entry, inUse: readonly Entry[]): VolumeAttachment {
  const use = inUse.find(({ attachment_id: attachment }) => attachment === id);
  const isIronics = use?.device === IRONIC_MOUNTPOINT;
  return {
    id: asString(id),
    server: isIronics ? null : asStringOrNull(instance ?? null),
    status: asString(status),
    host: asStringOrNull(use?.host_name ?? null) || null,
    isOfDevice: null,
  };
}

async function addDevices(compute: ServiceClient, volume: Volume, withDevices: boolean): Promise<Volume> {
  const servers = volume.attachments.flatMap(({ server }) => server ?? []);
  const hasSeveral = (server: string) => servers.indexOf(server) !== servers.lastIndexOf(server);
  const compared = new Set(servers.filter((server) => withDevices || hasSeveral(server)));
  if (compared.size === 0) {
    return volume;
  }
  const found = new Map<string, string | null | undefined>();
  for (const server of compared) {
    found.set(server, await attachmentOfDevice(compute, server, volume.id));
  }
  const isOfDevice = ({ id, server }: VolumeAttachment) => {
    const device = server === null || !found.has(server) ? null : found.get(server);
    return device === null ? null : device === id;
  };
  return { ...volume, attachments: volume.attachments.map((each) => ({ ...each, isOfDevice: isOfDevice(each) })) };
}
