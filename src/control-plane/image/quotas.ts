import type { ImageCall } from "./api/call.js";
import { tooLarge } from "./api/fault.js";
import type { ImageStore } from "./image-store.js";
import type { Image, ImageStatus } from "./images.js";

const MIB = 1024 ** 2;

/** Glance's unified limits, and what counts of a project's images. Sizes: whole MiB. */
const USAGES = {
  image_size_total: (images) => mebibytes(images.filter((image) => isOneOf(image, ["active", "deactivated"]))),
  image_stage_total: (images) => mebibytes(images.filter((image) => isOneOf(image, ["uploading", "importing"]))),
  image_count_total: (images) => images.length,
  image_count_uploading: (images) =>
    images.filter((image) => isOneOf(image, ["saving", "uploading", "importing"])).length,
} as const satisfies Readonly<Record<string, (images: readonly Image[]) => number>>;

type LimitedResource = keyof typeof USAGES;

/**
 * To be asked right before that is done which it counts, without a wait in between. As with Glance an upload is refused when the
 * project has more than it may already: nobody knows before how large it will be.
 * @param delta what is about to be added @throws {ImageFault} 413
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

/** What a project has of what is limited. */
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
