import type { Inside } from "../control-plane/extension.js";
import { withoutSecretFields, withoutSecrets } from "../control-plane/request-log/redaction.js";
import { type HandledRequest, serviceNameOf } from "../control-plane/request-log/request-log.js";
import type { Runtime } from "../runtime/runtime.js";
import { Feed } from "./feed.js";
import type { DashboardRow } from "./wire/messages.js";
import type { RequestBodies, RequestRow } from "./wire/rows.js";

/** Characters of all that is kept, and of one body. */
const MAX_TOTAL_CHARS = 1024 * 1024;
const MAX_BODY_CHARS = 64 * 1024;
/** Characters that a request has besides its bodies, about. */
const ROW = 400;
/** Ids of a request that it can be found by, beside those in its path. */
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

/** The last requests to the services, with their bodies, without what is secret; heard of between {@link begin} and {@link end}. */
export class RequestRing {
  /** Tells of each request that is kept. */
  readonly feed: Feed;
  readonly #deps: RingDeps;
  /** What ids begin with, so that a page that has seen this cluster before its restart mixes nothing up. */
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

/** What is kept of a body: JSON that is not too long. It is read, and its secrets are hidden, when somebody asks for it. */
function textOf(text: string, type: string | undefined): string | null {
  return text === "" || text.length > MAX_BODY_CHARS || (type !== undefined && !/json/.test(type)) ? null : text;
}

/** What is in too many pieces is not put together. */
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
