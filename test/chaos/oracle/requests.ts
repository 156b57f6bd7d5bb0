/** A request to the Compute API as it was sent. */
export interface Sent {
  readonly method: string;
  /** Path below the version: `/servers/{id}/action`. */
  readonly path: string;
  readonly body?: unknown;
}

/** A response; null if there was none. */
export interface ObservedResponse {
  readonly status: number;
  readonly body: unknown;
  readonly requestId: string | null;
}

/** `done`: acknowledged; `refused`: without effect; `unknown`: it may or may not have taken effect, or still will. */
export type Outcome = "done" | "refused" | "unknown";

/** A request about a server, with its outcome for the user. */
export interface ServerRequest {
  /** `create`, `delete`, or the action's name in the body, such as `os-stop`. */
  readonly what: string;
  readonly server: string;
  readonly outcome: Outcome;
  readonly requestId: string | null;
  /** The requested flavor. */
  readonly flavor: string | null;
}

/** Describes a request; null if it concerns no server, or an unknown one. */
export function toServerRequest(sent: Sent, response: ObservedResponse | null): ServerRequest | null {
  const outcome = outcomeOf(sent, response);
  const requestId = response?.requestId ?? null;
  if (sent.method === "POST" && sent.path === "/servers") {
    const server = field(field(response?.body, "server"), "id");
    const flavor = field(field(sent.body, "server"), "flavorRef");
    return typeof server === "string" ? { what: "create", server, outcome, requestId, flavor: String(flavor) } : null;
  }
  const [, moving, control] = /^\/servers\/([0-9a-f-]{36})\/migrations\/\d+(\/action)?$/.exec(sent.path) ?? [];
  if (moving !== undefined && sent.method !== "GET") {
    const what = control === undefined ? "live_migration_cancel" : "live_migration_force_complete";
    return { what, server: moving, outcome, requestId, flavor: null };
  }
  const [, server = "", rest = ""] = /^\/servers\/([0-9a-f-]{36})(\/action)?$/.exec(sent.path) ?? [];
  if (server === "") {
    return null;
  }
  if (sent.method === "DELETE" && rest === "") {
    return { what: "delete", server, outcome, requestId, flavor: null };
  }
  const [what] = rest === "" ? [] : Object.keys(Object(sent.body));
  const flavor = field(field(sent.body, what ?? ""), "flavorRef");
  return what === undefined
    ? null
    : { what, server, outcome, requestId, flavor: flavor === undefined ? null : String(flavor) };
}

/** A proxy may send a DELETE twice; the response is then that of the second one, which is 404. */
export function outcomeOf({ method }: Sent, response: ObservedResponse | null): Outcome {
  if (response === null || response.status >= 500 || (method === "DELETE" && response.status === 404)) {
    return "unknown";
  }
  return response.status < 400 ? "done" : "refused";
}

function field(from: unknown, name: string): unknown {
  return from !== null && typeof from === "object" ? new Map(Object.entries(from)).get(name) : undefined;
}
