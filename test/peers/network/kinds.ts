import type { Difference } from "../../fixtures/neutron/comparison.js";
import type { RandomRequest } from "./random-requests.js";
import type { NeutronResponse } from "./real-neutron.js";

/** The responses to one request: of the real Neutron, with ids translated, and of the service. */
export interface Comparison {
  readonly request: RandomRequest;
  readonly theirs: NeutronResponse;
  readonly ours: NeutronResponse;
  /** Differences of the bodies, if both have the same status. */
  readonly differences: readonly Difference[];
}

/** A kind of difference, with one example. */
export interface Kind {
  /** `POST /v2.0/ports: 201 is 400 HTTPBadRequest "Invalid input for x."` */
  readonly text: string;
  count: number;
  readonly example: string;
}

/** Collects differences by their kind. */
export class Kinds {
  readonly #byText = new Map<string, Kind>();

  add(text: string, example: string): void {
    const kind = this.#byText.get(text);
    if (kind) {
      kind.count += 1;
    } else {
      this.#byText.set(text, { text, count: 1, example });
    }
  }

  /** Returns the kinds by their frequency. */
  get all(): readonly Kind[] {
    return [...this.#byText.values()].sort((a, b) => b.count - a.count || (a.text < b.text ? -1 : 1));
  }
}

/** Returns the texts of the kinds of a comparison's differences. */
export function kindsOf({ request, theirs, ours, differences }: Comparison): readonly string[] {
  const subject = `${request.method} ${request.template}`;
  if (theirs.status !== ours.status) {
    return [`${subject}: ${summarize(theirs)} is ${summarize(ours)}`];
  }
  if (theirs.status >= 400) {
    const [there, here] = [summarize(theirs), summarize(ours)];
    return differences.length === 0 ? [] : [`${subject}: ${there} is ${here}`];
  }
  return differences.map(({ path, theirs, ours }) => `${subject}: ${path}: ${shapeOf(theirs)} is ${shapeOf(ours)}`);
}

function summarize({ status, body }: NeutronResponse): string {
  const error = isObject(body) && isObject(body.NeutronError) ? body.NeutronError : undefined;
  const text = error ? `${error.type} "${error.message}"` : typeof body === "string" ? body.slice(0, 60) : "";
  return status < 400 ? `${status}` : `${status} ${generalize(text)}`.trim();
}

/** Leaves out values, so that differences of one kind have the same text. */
function generalize(text: string): string {
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<id>")
    .replace(/[0-9a-f]{32}/g, "<project>")
    .replace(/(?:[0-9a-f]{2}:){5}[0-9a-f]{2}/gi, "<mac>")
    .replace(/\b\d+\.\d+\.\d+\.\d+(?:\/\d+)?/g, "<address>")
    .replace(/\b[0-9a-f]{2,4}:[0-9a-f:]*(?:\/\d+)?/g, "<address>")
    .replace(/x{20,}/g, "xx")
    .replace(/\bn\d+\b/g, "<name>")
    .replace(/\d{2,}/g, "<n>");
}

function shapeOf(value: unknown): string {
  if (value === undefined) {
    return "absent";
  }
  if (Array.isArray(value)) {
    return value.length === 0 ? "[]" : "[...]";
  }
  if (isObject(value)) {
    return /^HA /.test(String(value.name)) || value.device_owner === "network:router_ha_interface" ? "{HA}" : "{...}";
  }
  return generalize(JSON.stringify(value));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
