import { asArray, asNumber, asRecord, asString, asStringOrNull, mapRecord } from "../../placement-client/json.js";

/** Readers of JSON that came from the cloud; each throws `DiscoveryFailure` on anything else than it is named after. */
export { asArray, asNumber, asRecord, asString, asStringOrNull, mapRecord };

/** ISO times of the Compute API have no zone: they are UTC. Milliseconds since the epoch; 0 for none. */
export function timeOf(value: unknown): number {
  const text = asStringOrNull(value);
  if (text === null) {
    return 0;
  }
  const time = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);
  return Number.isNaN(time) ? 0 : time;
}

export const numberOr = (value: unknown, other: number): number => (typeof value === "number" ? value : other);
