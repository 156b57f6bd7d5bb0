import type { PlacementAccess } from "../placement-client/access/placement-access.js";
import { isPlacementError } from "../placement-client/errors.js";
import { isObject } from "../runtime/collections.js";
import { type HttpClient, type HttpMethod, type HttpResponse, hasNoResponse } from "../runtime/http.js";
import { retry } from "../runtime/retry.js";
import type { Clock, Timers } from "../runtime/time.js";
import type { VolumeConnector } from "../virt/types.js";
import { ClientException, isVolumeError, VolumeError, type VolumeErrorCode } from "./errors.js";
import { readAttachment, readSnapshot, readVolume } from "./read-responses.js";
import type { NewVolume, Volume, VolumeAttachment, VolumeService, VolumeSnapshot } from "./volume-service.js";

export interface VolumeClientOptions {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Compute's own access. */
  readonly access: PlacementAccess;
  /** Returns the access that creates volumes in the project of a server. */
  readonly accessOf: (instanceUuid: string) => PlacementAccess;
  /** `block_device_allocate_retries` */
  readonly allocateRetries: number;
  /** `block_device_allocate_retries_interval`, in seconds. */
  readonly allocateInterval: number;
}

/** Microversions of Nova's requests. */
const ATTACHMENTS = "3.44";
const SHARED_TARGETS = "3.48";
const REIMAGE = "3.68";

/** `[cinder] http_retries`: repetitions of a request that got no response. */
const HTTP_RETRIES = 3;

/** Milliseconds before the first repetition of a request, doubled for each. */
const RETRY_DELAY_MS = 500;

/** Attempts to remove an attachment that Block Storage fails to remove, as in Nova. */
const DELETE_ATTEMPTS = 5;

interface VolumeRequest {
  readonly version?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Default: Compute's own. */
  readonly access?: PlacementAccess;
  /** The error of a response 404. */
  readonly missing?: readonly [VolumeErrorCode, string];
}

type Options = Pick<VolumeRequest, "signal">;

/** Client of Cinder's API v3. Each request carries a service token, without which Cinder does not detach volumes of servers. */
export class VolumeClient implements VolumeService {
  readonly #options: VolumeClientOptions;

  constructor(options: VolumeClientOptions) {
    this.#options = options;
  }

  async getVolume(id: string, options: Options = {}): Promise<Volume> {
    const request = { version: SHARED_TARGETS, missing: missingVolume(id), ...options };
    return readVolume(await this.#send("GET", `/volumes/${id}`, request));
  }

  async getSnapshot(id: string, options: Options = {}): Promise<VolumeSnapshot> {
    const missing = ["SnapshotNotFound", `Snapshot ${id} could not be found.`] as const;
    return readSnapshot(await this.#send("GET", `/snapshots/${id}`, { missing, ...options }));
  }

  async createVolume(volume: NewVolume, instanceUuid: string, options: Options = {}): Promise<Volume> {
    const { size, name, imageId, snapshotId, volumeType } = volume;
    const body = {
      volume: {
        size,
        consistencygroup_id: null,
        snapshot_id: snapshotId,
        name,
        description: "",
        volume_type: volumeType,
        availability_zone: null,
        metadata: {},
        imageRef: imageId,
        source_volid: null,
        backup_id: null,
      },
    };
    const access = this.#options.accessOf(instanceUuid);
    return readVolume(await this.#send("POST", "/volumes", { body, access, ...options }));
  }

  async untilAvailable(id: string, options: Options = {}): Promise<Volume> {
    const { clock, timers, allocateRetries, allocateInterval } = this.#options;
    const started = clock.monotonic();
    for (let attempt = 1; ; attempt += 1) {
      const volume = await this.getVolume(id, options);
      if (volume.status === "available") {
        return volume;
      }
      if (attempt > allocateRetries || !PENDING.includes(volume.status)) {
        const seconds = Math.floor((clock.monotonic() - started) / 1000);
        throw new VolumeError(
          "VolumeNotCreated",
          `Volume ${id} did not finish being created even after we waited ${seconds} seconds or ${attempt} attempts. ` +
            `And its status is ${volume.status}.`,
        );
      }
      await timers.sleep(allocateInterval * 1000, options.signal);
    }
  }

  async deleteVolume(id: string, options: Options = {}): Promise<void> {
    await unlessMissing(this.#send("DELETE", `/volumes/${id}`, { missing: missingVolume(id), ...options }));
  }

  async listAttachments(instanceUuid: string, options: Options = {}): Promise<readonly VolumeAttachment[]> {
    const path = `/attachments/detail?all_tenants=1&instance_id=${instanceUuid}`;
    const { attachments } = await this.#send("GET", path, { version: ATTACHMENTS, ...options });
    return Array.isArray(attachments) ? attachments.map((attachment) => readAttachment({ attachment })) : [];
  }

  async getAttachment(id: string, options: Options = {}): Promise<VolumeAttachment> {
    return readAttachment(await this.#send("GET", `/attachments/${id}`, { ...ofAttachment(id), ...options }));
  }

  async createAttachment(
    volumeId: string,
    instanceUuid: string,
    connector: VolumeConnector | null,
    options: Options = {},
  ): Promise<VolumeAttachment> {
    const body = { attachment: { volume_uuid: volumeId, connector, instance_uuid: instanceUuid } };
    const request = { version: ATTACHMENTS, body, missing: missingVolume(volumeId), ...options };
    return readAttachment(await this.#send("POST", "/attachments", request));
  }

  async updateAttachment(id: string, connector: VolumeConnector, options: Options = {}): Promise<VolumeAttachment> {
    const body = { attachment: { connector } };
    return readAttachment(await this.#send("PUT", `/attachments/${id}`, { ...ofAttachment(id), body, ...options }));
  }

  async completeAttachment(id: string, options: Options = {}): Promise<void> {
    const body = { "os-complete": null };
    await this.#send("POST", `/attachments/${id}/action`, { ...ofAttachment(id), body, ...options });
  }

  async deleteAttachment(id: string, options: Options = {}): Promise<void> {
    const remove = () => this.#send("DELETE", `/attachments/${id}`, { ...ofAttachment(id), ...options });
    await retry(this.#options.timers, () => unlessMissing(remove()), {
      attempts: DELETE_ATTEMPTS,
      delay: (attempt) => RETRY_DELAY_MS * 2 ** (attempt - 1),
      retryOn: (error) => error instanceof ClientException && error.status === 500,
    });
  }

  async rollDetaching(id: string, options: Options = {}): Promise<void> {
    const body = { "os-roll_detaching": null };
    await this.#send("POST", `/volumes/${id}/action`, { body, missing: missingVolume(id), ...options });
  }

  async reimageVolume(id: string, imageId: string, options: Options = {}): Promise<void> {
    const body = { "os-reimage": { image_id: imageId, reimage_reserved: true } };
    await this.#send("POST", `/volumes/${id}/action`, {
      version: REIMAGE,
      body,
      missing: missingVolume(id),
      ...options,
    });
  }

  /** @throws {VolumeError} {@link ClientException} */
  async #send(method: HttpMethod, path: string, request: VolumeRequest): Promise<Readonly<Record<string, unknown>>> {
    const access = request.access ?? this.#options.access;
    let response = await this.#sendOnce(method, path, request, access);
    if (response.status === 401) {
      access.expire();
      this.#options.access.expire();
      response = await this.#sendOnce(method, path, request, access);
    }
    if (response.status >= 200 && response.status < 300) {
      return parsed(response.body);
    }
    throw errorOf(response, request.missing);
  }

  async #sendOnce(
    method: HttpMethod,
    path: string,
    { version, body, signal }: VolumeRequest,
    access: PlacementAccess,
  ): Promise<HttpResponse> {
    const { http, timers } = this.#options;
    const { endpoint, headers } = await credentialsOf(access);
    const service = await credentialsOf(this.#options.access);
    const serviceToken = service.headers["x-auth-token"];
    const send = () =>
      http.request({
        method,
        url: endpoint + path,
        headers: {
          accept: "application/json",
          "user-agent": "nova-compute compute-agent",
          ...headers,
          ...(serviceToken === undefined ? {} : { "x-service-token": serviceToken }),
          ...(version === undefined ? {} : { "openstack-api-version": `volume ${version}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      });
    try {
      return await retry(timers, send, {
        attempts: HTTP_RETRIES + 1,
        delay: (attempt) => RETRY_DELAY_MS * 2 ** (attempt - 1),
        retryOn: hasNoResponse,
      });
    } catch (error) {
      throw hasNoResponse(error) ? connectionFailed(error) : error;
    }
  }
}

/** Statuses of a volume that will become available. */
const PENDING: readonly string[] = ["creating", "downloading"];

function missingVolume(id: string): readonly [VolumeErrorCode, string] {
  return ["VolumeNotFound", `Volume ${id} could not be found.`];
}

function ofAttachment(id: string): Pick<VolumeRequest, "version" | "missing"> {
  return {
    version: ATTACHMENTS,
    missing: ["VolumeAttachmentNotFound", `Volume attachment ${id} could not be found.`],
  };
}

async function unlessMissing(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!isVolumeError(error, "VolumeNotFound", "VolumeAttachmentNotFound")) {
      throw error;
    }
  }
}

function connectionFailed(cause: Error): VolumeError {
  return new VolumeError("CinderConnectionFailed", `Connection to cinder host failed: ${cause.message}`, { cause });
}

async function credentialsOf(access: PlacementAccess) {
  try {
    return await access.credentials();
  } catch (error) {
    if (isPlacementError(error, "EndpointNotFound")) {
      throw new VolumeError("EndpointNotFound", `there is no Block Storage service: ${error.message}`, {
        cause: error,
      });
    }
    throw isPlacementError(error) ? connectionFailed(error) : error;
  }
}

function parsed(body: string): Readonly<Record<string, unknown>> {
  if (body === "") {
    return {};
  }
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) ? value : {};
  } catch (cause) {
    throw new VolumeError("CinderConnectionFailed", "Connection to cinder host failed: the response is not JSON", {
      cause,
    });
  }
}

function errorOf({ status, body }: HttpResponse, missing: VolumeRequest["missing"]): Error {
  const message = messageIn(body);
  switch (status) {
    case 400:
      return new VolumeError("InvalidInput", `Invalid input received: ${message} (HTTP 400)`);
    case 403:
      return new VolumeError("Forbidden", message);
    case 404:
      return missing ? new VolumeError(...missing) : new ClientException(status, message);
    case 413:
      return new VolumeError("OverQuota", message);
    default:
      return new ClientException(status, message);
  }
}

/** Returns Cinder's message; a proxy in front of Cinder has none. */
function messageIn(body: string): string {
  try {
    const [error] = Object.values(JSON.parse(body) as Record<string, unknown>);
    return isObject(error) && typeof error.message === "string" ? error.message : body.slice(0, 200);
  } catch {
    return body.replace(/\s+/g, " ").trim().slice(0, 200);
  }
}
