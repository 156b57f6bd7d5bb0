import type { Inside } from "../control-plane/extension.js";
import { withoutSecretFields, withoutSecrets } from "../control-plane/request-log/redaction.js";
import { type HandledRequest, serviceNameOf } from "../control-plane/request-log/request-log.js";
import type { Runtime } from "../runtime/runtime.js";
import { Feed } from "./feed.js";
import type { DashboardRow } from "./wire/messages.js";
import type { RequestBodies, RequestRow } from "./wire/rows.js";

/** Maximum characters of all retained requests, and of one body. */
const MAX_TOTAL_CHARS = 1024 * 1024;
const MAX_BODY_CHARS = 64 * 1024;
/** Approximate characters of a request besides its bodies. */
const ROW = 400;
/** Maximum number of ids by which a request can be found, besides those in its path. */
const MAX_IDS = 20;
const UUID = /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/g;

interface RetainedRequest {
  readonly row: RequestRow;
  readonly body: string | null;
  readonly answer: string | null;
  readonly size: number;
}

interface RingDeps {
  readonly inside: Pick<Inside, "onRequest" | "whose">;
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random">;
}

/**
 * The latest requests to the services with their bodies, without secrets. Recorded between {@link begin} and {@link
 * end}.
 */
export class RequestRing {
  /** Publishes each retained request. */
  readonly feed: Feed;
  readonly #deps: RingDeps;
  /** Prefix of ids, so that a page that was open before a restart of the cluster does not confuse requests. */
  readonly #life: string;
  /** By id, oldest first. */
  readonly #retained = new Map<string, RetainedRequest>();
  #size = 0;
  #last = 0;
  #stop: (() => void) | undefined;

  constructor(deps: RingDeps) {
    this.#deps = deps;
    this.#life = deps.runtime.random.hex(4);
    this.feed = new Feed(deps.runtime, (_kind, id) => this.#retained.get(id)?.row);
  }

  begin(): void {
    this.#stop ??= this.#deps.inside.onRequest(this.#hear);
  }

  end(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#retained.clear();
    this.#size = 0;
    this.feed.clear();
  }

  *rows(): Generator<DashboardRow> {
    for (const [key, { row }] of this.#retained) {
      yield { kind: "request", key, value: row };
    }
  }

  bodies(id: string): RequestBodies | undefined {
    const found = this.#retained.get(id);
    return found && { ...found.row, body: indented(found.body), answer: indented(found.answer) };
  }

  readonly #hear = ({ mount, request, response, milliseconds }: HandledRequest): void => {
    const { headers, method, path, query } = request;
    const token = headers["x-auth-token"];
    const issued = response.headers["x-subject-token"];
    const caller = [token, issued].map((each) => each && this.#deps.inside.whose(each)).find((each) => each);
    const body = textOf(request.body, headers["content-type"]);
    const responseBody = textOf(joinBody(response), response.headers["content-type"]);
    this.#last += 1;
    const id = `${this.#life}-${this.#last}`;
    const row: RequestRow = {
      id,
      at: Math.round(this.#deps.runtime.clock.now() - (milliseconds ?? 0)),
      service: serviceNameOf(mount) ?? "other",
      method: method.slice(0, 20),
      path: withoutSecrets(mount + path, query, [token, issued, headers["x-subject-token"]]),
      status: response.status,
      ms: milliseconds === null ? null : Math.round(milliseconds * 10) / 10,
      requestId: response.headers["x-openstack-request-id"] ?? null,
      globalRequestId: headers["x-openstack-request-id"]?.slice(0, 100) ?? null,
      user: caller ? caller.userName : null,
      project: caller ? caller.projectName : null,
      hasBody: body !== null || responseBody !== null,
      about: idsIn(body, responseBody),
    };
    const size = ROW + row.path.length + row.about.join().length + (body?.length ?? 0) + (responseBody?.length ?? 0);
    this.#retained.set(id, { row, body, answer: responseBody, size });
    this.#size += size;
    for (const [oldest, { size: freed }] of this.#retained) {
      if (this.#size <= MAX_TOTAL_CHARS) {
        break;
      }
      this.#retained.delete(oldest);
      this.#size -= freed;
    }
    this.feed.changed("request", id);
  };
}

function idsIn(...bodies: readonly (string | null)[]): readonly string[] {
  const ids = new Set<string>();
  for (const text of bodies) {
    for (const [id] of text?.matchAll(UUID) ?? []) {
      ids.add(id);
      if (ids.size === MAX_IDS) {
        return [...ids];
      }
    }
  }
  return [...ids];
}

/**
 * Returns the part of a body that is retained: JSON of limited length. It is parsed, and its secrets are removed, when
 * a viewer requests it.
 */
function textOf(text: string, type: string | undefined): string | null {
  return text === "" || text.length > MAX_BODY_CHARS || (type !== undefined && !/json/.test(type)) ? null : text;
}

/** Returns an empty string for a body that is too long. */
function joinBody({ body, pieces = [body] }: HandledRequest["response"]): string {
  return pieces.reduce((sum, piece) => sum + piece.length, 0) > MAX_BODY_CHARS ? "" : pieces.join("");
}

function indented(text: string | null): string | null {
  try {
    return text === null ? null : JSON.stringify(withoutSecretFields(JSON.parse(text)), null, 2);
  } catch {
    return null;
  }
}
