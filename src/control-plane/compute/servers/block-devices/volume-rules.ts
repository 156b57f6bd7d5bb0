import type { Instance, VmState } from "../../../../records/index.js";
import type { ServerVolume } from "../../../block-storage/server-volumes.js";
import { badRequest, HttpError, notFound } from "../../../http/http-error.js";
import type { Call } from "../../api/call.js";

/** States of servers whose volumes are attached and detached. */
export const VOLUME_STATES: readonly VmState[] = [
  "active",
  "paused",
  "stopped",
  "resized",
  "soft-delete",
  "shelved",
  "shelved_offloaded",
];

export const invalidVolume = (reason: string): HttpError => badRequest(`Invalid volume: ${reason}`);

export const volumeNotFound = (id: string): HttpError => notFound(`Volume ${id} could not be found.`);

export const deviceNotFound = (id: string): HttpError => notFound(`No volume Block Device Mapping with id ${id}.`);

/** Runs a request to Block Storage whose errors Nova's client passes on as invalid input. @throws {HttpError} 400 */
export function asInvalidInput<T>({ requestId }: Call, request: () => T): T {
  try {
    return request();
  } catch (error) {
    throw error instanceof HttpError ? badRequest(clientText(error, requestId)) : error;
  }
}

/** Runs a request to Block Storage whose errors Nova reports as an invalid volume. @throws {HttpError} 400 */
export function asInvalidVolume<T>({ requestId }: Call, request: () => T): T {
  try {
    return request();
  } catch (error) {
    throw error instanceof HttpError ? invalidVolume(clientText(error, requestId)) : error;
  }
}

/** Returns the text of an error of Block Storage as Nova's client formats it. */
function clientText({ status, message }: HttpError, requestId: string): string {
  return `Invalid input received: ${message} (HTTP ${status}) (Request-ID: ${requestId})`;
}

/**
 * Returns the error for the first volume of a server that it does not use at present; undefined if it uses all. Without it,
 * an operation that replaces attachments would fail on the host.
 */
export function unusedVolume({ deps, store, credentials }: Call, { uuid }: Instance): HttpError | undefined {
  for (const { volumeId } of store.blockDevices.ofInstance(uuid)) {
    const volume = volumeId === null ? undefined : deps.volumes.volume(volumeId, credentials);
    if (volume && volume.status !== "in-use") {
      return invalidVolume(`volume '${volume.id}' status must be 'in-use'. Currently in '${volume.status}' status`);
    }
  }
  return undefined;
}

/** The first microversion in which servers get volumes that several servers use. */
const MULTIATTACH_FROM = 60;

/** @throws {HttpError} 400 */
export function assertMultiattachSupported({ version }: Call, volume: ServerVolume | undefined): void {
  if (volume?.isMultiattach && version < MULTIATTACH_FROM) {
    throw badRequest("Multiattach volumes are only supported starting with compute API version 2.60.");
  }
}

/** Checks a volume that a server is to get, whatever its status in Block Storage. @throws {HttpError} 400 */
export function assertNotAttached({ store }: Call, { uuid }: Instance, { id, isMultiattach }: ServerVolume): void {
  const servers = store.blockDevices.ofVolume(id).map(({ instanceUuid }) => instanceUuid);
  if (!isMultiattach && servers.length > 0) {
    throw invalidVolume(`volume ${id} is already attached to instances: ${servers.join(" ")}`);
  }
  if (servers.includes(uuid)) {
    throw invalidVolume(`volume ${id} already attached`);
  }
}
