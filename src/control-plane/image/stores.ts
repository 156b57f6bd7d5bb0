import { badRequest, conflict, notFound } from "../http/http-error.js";
import type { Image } from "./image.js";

/**
 * `enabled_backends`, sorted by name; the first is `default_backend`. The stores of an image are only recorded: its
 * data is one file, regardless of their number.
 */
export const STORES = [
  { id: "fast", description: "Where bytes go that are for no store." },
  { id: "reliable", description: "Where bytes can go, too." },
] as const;

export const STORE_IDS: readonly string[] = STORES.map(({ id }) => id);

export const DEFAULT_STORE = STORES[0].id;

/** Returns an image's stores. Images of earlier releases are in the default store. */
export function storesOf({ status, stores }: Image): readonly string[] {
  if (status !== "active" && status !== "deactivated") {
    return [];
  }
  return stores.length === 0 ? [DEFAULT_STORE] : stores;
}

/** Returns the store that the header of an upload names. @throws {HttpError} 400 */
export function uploadStore(named: string | undefined): readonly string[] {
  const store = named ?? DEFAULT_STORE;
  if (!STORE_IDS.includes(store)) {
    throw badRequest(unknown(store));
  }
  return [store];
}

/** Returns the stores that the body or header of an import names. @throws {HttpError} 400, 409 */
export function importStores(body: Readonly<Record<string, unknown>>, header: string | undefined): readonly string[] {
  const { stores: named, all_stores: isAll } = body;
  if (named !== undefined && !(Array.isArray(named) && named.every((each) => typeof each === "string"))) {
    throw badRequest("'stores' must be a list of store identifiers");
  }
  const isNamed = Array.isArray(named) && named.length > 0;
  if (isAll === true && (isNamed || header !== undefined)) {
    throw badRequest("All_stores parameter can't be used with x-image-meta-store header or stores parameter");
  }
  if (isNamed && header !== undefined) {
    throw badRequest("Stores parameter and x-image-meta-store header can't be both specified");
  }
  const requestedStores: readonly string[] = isAll === true ? STORE_IDS : isNamed ? named : [header ?? DEFAULT_STORE];
  const unknownStore = requestedStores.find((store) => !STORE_IDS.includes(store));
  if (unknownStore !== undefined) {
    throw conflict(unknown(unknownStore));
  }
  return ordered(requestedStores);
}

/** @throws {HttpError} 409 */
export function checkStore(store: string): string {
  if (!STORE_IDS.includes(store)) {
    throw conflict(`The selected store ${store} is not available on this node.`);
  }
  return store;
}

/** Sorts the stores by name and removes duplicates. */
export function ordered(stores: readonly string[]): readonly string[] {
  return STORE_IDS.filter((store) => stores.includes(store));
}

/** Returns the image's stores without one. @throws {HttpError} 404 */
export function without(image: Image, store: string): readonly string[] {
  const stores = storesOf(image);
  if (!stores.includes(store)) {
    throw notFound(`Image ${image.id} is not stored in store ${store}.`);
  }
  return stores.filter((each) => each !== store);
}

const unknown = (store: string): string => `Unknown scheme '${store}' found in URI`;

/** `enabled_import_methods`. `web-download` is missing because this service makes no network requests. */
export const IMPORT_METHODS = ["glance-direct", "copy-image", "glance-download"] as const;
