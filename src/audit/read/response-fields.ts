import { asArray, asNumber, asRecord, asString, asStringOrNull, mapRecord } from "../../placement-client/json.js";
import type { ServiceClient } from "../cloud/service-client.js";
import { isAuditError } from "../errors.js";
import type { OnProgress } from "./records.js";

/** Readers of JSON from the cloud. Each throws `DiscoveryFailure` if the value has another type than its name says. */
export { asArray, asNumber, asRecord, asString, asStringOrNull, mapRecord };

/**
 * Parses a time of the Compute API to milliseconds since the epoch, or 0 if there is none. ISO times without a zone are
 * UTC.
 */
export function timeOf(value: unknown): number {
  const text = asStringOrNull(value);
  if (text === null) {
    return 0;
  }
  const time = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);
  return Number.isNaN(time) ? 0 : time;
}

export const numberOr = (value: unknown, other: number): number => (typeof value === "number" ? value : other);

interface List {
  /** Without limit and marker: `/servers/detail?all_tenants=True`. */
  readonly path: string;
  /** The key of the entries. The presence of `<key>_links` means that there are more pages. */
  readonly key: string;
  readonly markerOf: (entry: Readonly<Record<string, unknown>>) => string;
  readonly what: string;
  /** Whether pages have links. Without them, the list ends with an empty page. Default: true. */
  readonly hasLinks?: boolean;
}

type Entry = Readonly<Record<string, unknown>>;

/** Nova's largest page, unless configured to a smaller one. */
const PAGE = 1000;

/**
 * Maximum number of attempts. If a page's last entry is deleted before the next request, the list is read again from
 * the start.
 */
const ATTEMPTS = 4;

/** Reads all pages of a list. @throws {AuditError} */
export async function listAll(client: ServiceClient, list: List, onProgress: OnProgress): Promise<Entry[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await readPages(client, list, onProgress);
    } catch (error) {
      const markerGone = isAuditError(error, "CloudRefused") && error.status === 400 && /marker/i.test(error.message);
      if (!markerGone || attempt === ATTEMPTS) {
        throw error;
      }
    }
  }
}

async function readPages(client: ServiceClient, list: List, onProgress: OnProgress): Promise<Entry[]> {
  const { path, key, markerOf, what, hasLinks = true } = list;
  const found = new Map<string, Entry>();
  let marker: string | undefined;
  for (;;) {
    const joint = path.includes("?") ? "&" : "?";
    const place = marker === undefined ? "" : `&marker=${encodeURIComponent(marker)}`;
    const body = await client.get(`${path}${joint}limit=${PAGE}${place}`);
    const page = asArray(body[key]).map(asRecord);
    for (const entry of page) {
      found.set(markerOf(entry), entry);
    }
    onProgress(what, found.size, 0);
    const last = page.at(-1);
    const next = last && markerOf(last);
    const isLast = hasLinks && body[`${key}_links`] === undefined;
    if (isLast || next === undefined || next === marker) {
      return [...found.values()];
    }
    marker = next;
  }
}
