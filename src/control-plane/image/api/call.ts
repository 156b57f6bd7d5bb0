import { isObject } from "../../../runtime/collections.js";
import type { Random } from "../../../runtime/cryptography.js";
import type { ServiceResponse } from "../../../runtime/http-server.js";
import type { Credentials } from "../../credentials.js";
import { badRequest, tooLarge } from "../../http/http-error.js";
import { excessOf, excessText, MAX_QUERY_PARAMETERS, MESSAGE_LIMITS } from "../../http/listener-limits.js";
import { type Query, type RoutedRequest, ServiceCall } from "../../http/request.js";
import type { Image, ImageStatus } from "../image.js";
import type { ImageStore } from "../image-store.js";

/** Returns a project's limit from Identity; undefined if no limit is registered, or if it is unlimited. */
export type ImageLimits = (resource: string, projectId: string) => number | undefined;

/** One request to the Image API, after authentication. */
export class ImageCall extends ServiceCall {
  readonly caller: Credentials;
  readonly store: ImageStore;
  readonly random: Random;
  readonly limits: ImageLimits;

  constructor(routed: RoutedRequest, context: Pick<ImageCall, "caller" | "store" | "random" | "limits">) {
    super(routed);
    this.caller = context.caller;
    this.store = context.store;
    this.random = context.random;
    this.limits = context.limits;
  }

  get isAdmin(): boolean {
    return this.caller.roles.includes("admin");
  }

  /** Parses the body as JSON, without validation. @throws {HttpError} 400, 413 */
  json(): unknown {
    const { body } = this.request;
    const excess = excessOf(body, MESSAGE_LIMITS.nova);
    if (excess === "bytes") {
      throw tooLarge(`Request is too large: ${excessText(excess, MESSAGE_LIMITS.nova)}.`);
    }
    if (excess) {
      throw badRequest(`Malformed JSON in request body: ${excessText(excess, MESSAGE_LIMITS.nova)}.`);
    }
    if (body === "") {
      throw badRequest("Body expected in request.");
    }
    try {
      return JSON.parse(body);
    } catch {
      throw badRequest("Malformed JSON in request body.");
    }
  }

  /** @throws {HttpError} 400, 413 */
  object(): Readonly<Record<string, unknown>> {
    const value = this.json();
    if (!isObject(value)) {
      throw badRequest("Expected a JSON object as the body of the request.");
    }
    return value;
  }

  /** @throws {HttpError} 400 */
  boundQuery(): Query {
    const { length } = this.query.entries;
    if (length > MAX_QUERY_PARAMETERS) {
      throw badRequest(`The query has ${length} parameters; there may be ${MAX_QUERY_PARAMETERS}.`);
    }
    return this.query;
  }
}

export interface ImageRoute {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  readonly path: string;
  readonly handle: (call: ImageCall) => ServiceResponse | Promise<ServiceResponse>;
}

export const NO_CONTENT: ServiceResponse = { status: 204, headers: {}, body: "" };

const MIB = 1024 ** 2;

/** Usage of Glance's unified limits by a project's images. Sizes are in MiB, rounded down. */
const USAGES = {
  image_size_total: (images) => mebibytes(images.filter((image) => isOneOf(image, ["active", "deactivated"]))),
  image_stage_total: (images) => mebibytes(images.filter((image) => isOneOf(image, ["uploading", "importing"]))),
  image_count_total: (images) => images.length,
  image_count_uploading: (images) =>
    images.filter((image) => isOneOf(image, ["saving", "uploading", "importing"])).length,
} as const satisfies Readonly<Record<string, (images: readonly Image[]) => number>>;

type LimitedResource = keyof typeof USAGES;

/**
 * Checks a limit. Call it synchronously before the operation that it counts. As in Glance, an upload is rejected if the
 * project already exceeds its limit, because the size of an upload is not known in advance.
 * @param delta the number to be added
 * @throws {HttpError} 413
 */
export function assertWithinQuota(
  { store, limits }: Pick<ImageCall, "store" | "limits">,
  resource: LimitedResource,
  projectId: string | null,
  delta: 0 | 1,
): void {
  const limit = projectId === null ? undefined : limits(resource, projectId);
  if (projectId === null || limit === undefined) {
    return;
  }
  const usage = USAGES[resource](imagesOf(store, projectId));
  if (usage + delta > limit) {
    throw tooLarge(
      `Project ${projectId} is over a limit for [Resource ${resource} is over limit of ${limit} due to current usage ${usage} and delta ${delta}]`,
    );
  }
}

/** Returns the project's usage and limit of each limited resource. */
export function imageUsage({
  store,
  limits,
  caller: { projectId },
}: ImageCall): Readonly<Record<string, { readonly usage: number; readonly limit: number }>> {
  if (projectId === null) {
    return {};
  }
  const images = imagesOf(store, projectId);
  return Object.fromEntries(
    Object.entries(USAGES).flatMap(([resource, usage]) => {
      const limit = limits(resource, projectId);
      return limit === undefined ? [] : [[resource, { usage: usage(images), limit }]];
    }),
  );
}

function imagesOf({ table }: ImageStore, projectId: string): readonly Image[] {
  return table.list().filter(({ owner }) => owner === projectId);
}

const isOneOf = ({ status }: Image, statuses: readonly ImageStatus[]): boolean => statuses.includes(status);

function mebibytes(images: readonly Image[]): number {
  return Math.floor(images.reduce((sum, { size, stores }) => sum + (size ?? 0) * Math.max(1, stores.length), 0) / MIB);
}
