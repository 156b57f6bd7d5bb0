import type { Instance } from "../../../../records/index.js";
import type { ServerVolume } from "../../../block-storage/server-volumes.js";
import { badRequest, conflict } from "../../../http/http-error.js";
import { DEFAULT_ZONE } from "../../../store/services.js";
import type { Call } from "../../api/call.js";
import type { DeviceDraft } from "./device-requests.js";
import { invalidVolume } from "./volume-rules.js";

const MISMATCH = "The availability zone between the server and its attached volumes do not match";

/**
 * Returns the zone of a new server: the requested one, or that of its volumes, which `[cinder] cross_az_attach` may require.
 * @throws {HttpError} 400
 */
export function zoneWithVolumes(call: Call, zone: string | null, devices: readonly DeviceDraft[]): string | null {
  const { crossAzAttach, volumes } = call.deps;
  const zones = crossAzAttach
    ? []
    : devices.flatMap(({ volumeId }) =>
        volumeId === null ? [] : [String(volumes.volume(volumeId, call.credentials)?.availabilityZone)],
      );
  const [volumeZone] = zones;
  if (volumeZone === undefined) {
    return zone;
  }
  if (zones.some((other) => other !== volumeZone)) {
    throw badRequest(`${MISMATCH}: Volumes are in different availability zones: ${zones.join(",")}.`);
  }
  if (zone === null) {
    // Hosts without a zone are in the default one, to which servers are not pinned.
    return volumeZone === DEFAULT_ZONE ? null : volumeZone;
  }
  if (zone !== volumeZone) {
    throw badRequest(
      `${MISMATCH}: Server and volumes are not in the same availability zone. Server is in: ${zone}. Volumes are in: ${volumeZone}.`,
    );
  }
  return zone;
}

/** Checks that a server may have a volume of this zone. @throws {HttpError} 400 */
export function assertSameZone({ deps, store }: Call, instance: Instance, volume: ServerVolume): void {
  if (deps.crossAzAttach) {
    return;
  }
  const service = instance.host === null ? null : store.services.getByHost(instance.host, "nova-compute");
  const zone = service?.availabilityZone ?? instance.availabilityZone;
  if (zone !== volume.availabilityZone) {
    throw invalidVolume(
      `Instance ${instance.uuid} and volume ${volume.id} are not in the same availability_zone. ` +
        `Instance is in ${zone}. Volume is in ${volume.availabilityZone}`,
    );
  }
}

/** Checks that a server may be unshelved in a zone with its volumes. @throws {HttpError} 409 */
export function assertVolumesInZone({ deps, store, credentials }: Call, { uuid }: Instance, zone: string): void {
  if (deps.crossAzAttach) {
    return;
  }
  for (const { volumeId } of store.blockDevices.ofInstance(uuid)) {
    const volume = volumeId === null ? undefined : deps.volumes.volume(volumeId, credentials);
    if (volume && volume.availabilityZone !== zone) {
      throw conflict(
        `${MISMATCH}: The specified availability zone does not match the volume ${volume.id} attached to the server. ` +
          `Specified availability zone is ${zone}. Volume is in ${volume.availabilityZone}..`,
      );
    }
  }
}
