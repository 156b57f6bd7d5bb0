export interface PeerResponse {
  readonly status: number;
  /** JSON, or the text if it is none; null for an empty body. */
  readonly body: unknown;
}

/** The responses to one request: of the real service, with ids translated, and of the embedded one. */
export interface Comparison {
  /** Its template has no ids: `/v2.0/networks/{id}`. */
  readonly request: { readonly method: string; readonly template: string };
  readonly theirs: PeerResponse;
  readonly ours: PeerResponse;
  /** Differences of the bodies, if both have the same status. */
  readonly differences: readonly { readonly path: string; readonly theirs: unknown; readonly ours: unknown }[];
}

/** How a service writes errors. */
export interface KindOptions {
  /** Returns the error of a body; undefined if it is none. */
  readonly errorOf: (body: Readonly<Record<string, unknown>>) => string | undefined;
  /** Returns a word for objects whose differences are a kind of their own. Default: `{...}`. */
  readonly shapeOf?: (value: Readonly<Record<string, unknown>>) => string | undefined;
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
export function kindsOf({ request, theirs, ours, differences }: Comparison, options: KindOptions): readonly string[] {
  const subject = `${request.method} ${request.template}`;
  const [there, here] = [summarize(theirs, options), summarize(ours, options)];
  if (theirs.status !== ours.status) {
    return [`${subject}: ${there} is ${here}`];
  }
  if (theirs.status >= 400) {
    return differences.length === 0 ? [] : [`${subject}: ${there} is ${here}`];
  }
  return differences.map(
    (one) => `${subject}: ${one.path}: ${shapeOf(one.theirs, options)} is ${shapeOf(one.ours, options)}`,
  );
}

function summarize({ status, body }: PeerResponse, { errorOf }: KindOptions): string {
  const text = (isObject(body) ? errorOf(body) : undefined) ?? (typeof body === "string" ? body.slice(0, 60) : "");
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

function shapeOf(value: unknown, options: KindOptions): string {
  if (value === undefined) {
    return "absent";
  }
  if (Array.isArray(value)) {
    return value.length === 0 ? "[]" : "[...]";
  }
  return isObject(value) ? (options.shapeOf?.(value) ?? "{...}") : generalize(JSON.stringify(value));
}

/** Formats kinds as lines with their counts and examples. */
export function tableOfKinds(kinds: readonly Kind[]): string {
  return kinds.map(({ count, text, example }) => `${String(count).padStart(5)}  ${text}\n       ${example}`).join("\n");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
