import type { Inside } from "../control-plane/extension.js";
import { withoutSecretFields, withoutSecrets } from "../control-plane/request-log/redaction.js";
import { type HandledRequest, serviceNameOf } from "../control-plane/request-log/request-log.js";
import type { Runtime } from "../runtime/runtime.js";
import type { CancelTimer } from "../runtime/time.js";
import { Feed } from "./feed.js";
import type { DashboardRow } from "./wire/messages.js";
import type { RequestBodies, RequestRow } from "./wire/rows.js";

/** Maximum number of retained requests of clients, and of the services themselves. */
const MAX_REQUESTS = 500;
/** Maximum characters of the retained bodies of either; of one body; and of bodies that wait for their redaction. */
const MAX_TOTAL_CHARS = 1024 * 1024;
const MAX_BODY_CHARS = 64 * 1024;
const MAX_PENDING_CHARS = 4 * 1024 * 1024;
/**
 * Milliseconds for which requests are collected before their secrets are removed, without a viewer and with one. Of more
 * requests than are retained, only the last need that.
 */
const PENDING_MS = 1_000;
const FOLLOWED_PENDING_MS = 25;
/**
 * Characters of bodies whose secrets are removed in a second, at most so many at once: some milliseconds of work. Other
 * bodies are dropped.
 */
const REDACTED_CHARS_PER_SECOND = 256 * 1024;
/** Maximum number of ids by which a request can be found, besides those in its path. */
const MAX_IDS = 20;
const MAX_METHOD_CHARS = 20;
const MAX_ID_CHARS = 100;
const UUID = /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/g;
/** The project of agents, conductor and scheduler. */
const SERVICE_PROJECT = "service";

interface RetainedRequest {
  readonly row: RequestRow;
  /** Redacted, compact JSON. */
  readonly body: string | null;
  readonly answer: string | null;
}

/** A request whose secrets have not been removed yet. */
interface PendingRequest {
  readonly row: Omit<RequestRow, "id" | "path" | "hasBody" | "about">;
  readonly path: string;
  readonly query: string;
  readonly secrets: readonly (string | undefined)[];
  readonly body: string | null;
  readonly answer: string | null;
}

interface RingDeps {
  readonly inside: Pick<Inside, "onRequest">;
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random">;
}

/**
 * The latest requests to the services with their bodies, without secrets. They are recorded from the start of the control
 * plane, so that a page that is opened later has a history. Requests of the services themselves do not displace those of
 * clients.
 */
export class RequestRing {
  /** Publishes each retained request while a viewer is connected. */
  readonly feed: Feed;
  readonly #runtime: RingDeps["runtime"];
  /** Prefix of ids, so that a page that was open before a restart of the cluster does not confuse requests. */
  readonly #life: string;
  readonly #ofClients = new Retained();
  readonly #ofServices = new Retained();
  readonly #stop: () => void;
  #redactable = REDACTED_CHARS_PER_SECOND;
  #redactedAt = 0;
  #cancel: CancelTimer | undefined;
  #isFollowed = false;
  #last = 0;

  constructor({ inside, runtime }: RingDeps) {
    this.#runtime = runtime;
    this.#life = runtime.random.hex(4);
    this.feed = new Feed(runtime, (_kind, id) => this.#find(id)?.row);
    this.#stop = inside.onRequest(this.#record);
  }

  /** Publishes requests until {@link unfollow}. */
  follow(): void {
    this.#isFollowed = true;
    this.#redactPending();
  }

  unfollow(): void {
    this.#isFollowed = false;
    this.feed.clear();
  }

  /** Stops recording. */
  close(): void {
    this.#stop();
    this.#cancel?.();
    this.#ofClients.takePending();
    this.#ofServices.takePending();
  }

  *rows(): Generator<DashboardRow> {
    this.#redactPending();
    for (const [key, { row }] of [...this.#ofServices.all, ...this.#ofClients.all]) {
      yield { kind: "request", key, value: row };
    }
  }

  bodies(id: string): RequestBodies | undefined {
    const found = this.#find(id);
    return found && { ...found.row, body: indented(found.body), answer: indented(found.answer) };
  }

  #find(id: string): RetainedRequest | undefined {
    return this.#ofClients.all.get(id) ?? this.#ofServices.all.get(id);
  }

  /** Runs within each request of agents and clients. Hence it only notes the request; parsing bodies comes later. */
  readonly #record = (handled: HandledRequest): void => {
    const isOfService = handled.caller?.credentials.projectName === SERVICE_PROJECT;
    (isOfService ? this.#ofServices : this.#ofClients).addPending(handled, this.#runtime.clock.now());
    this.#cancel ??= this.#runtime.timers.after(this.#isFollowed ? FOLLOWED_PENDING_MS : PENDING_MS, () => {
      this.#redactPending();
    });
  };

  /** Retains the pending requests without their secrets. */
  #redactPending(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const pending = [this.#ofClients, this.#ofServices].map((of) => ({ of, requests: of.takePending() }));
    const withBodies = this.#choose(pending.flatMap(({ requests }) => requests));
    for (const { of, requests } of pending) {
      for (const each of requests) {
        this.#last += 1;
        const id = `${this.#life}-${this.#last}`;
        of.add(id, toRetained(id, withBodies.has(each) ? each : { ...each, body: null, answer: null }));
        if (this.#isFollowed) {
          this.feed.changed("request", id);
        }
      }
    }
  }

  /** Returns the requests whose bodies can be retained: failures and changes of clients first, then the newest. */
  #choose(pending: readonly PendingRequest[]): ReadonlySet<PendingRequest> {
    const now = this.#runtime.clock.monotonic();
    const earned = ((now - this.#redactedAt) * REDACTED_CHARS_PER_SECOND) / 1_000;
    this.#redactable = Math.min(REDACTED_CHARS_PER_SECOND, this.#redactable + earned);
    this.#redactedAt = now;
    const chosen = new Set<PendingRequest>();
    for (const each of pending.toReversed().toSorted((one, other) => priorityOf(other) - priorityOf(one))) {
      const size = sizeOf(each);
      if (size <= this.#redactable) {
        this.#redactable -= size;
        chosen.add(each);
      }
    }
    return chosen;
  }
}

/**
 * Requests by id, oldest first, of limited number, and those that wait for their redaction. If their bodies are too long together,
 * the oldest lose theirs.
 */
class Retained {
  readonly all = new Map<string, RetainedRequest>();
  /** Ids of requests that have bodies, oldest first. */
  readonly #withBodies = new Set<string>();
  #chars = 0;
  #pending: PendingRequest[] = [];
  #pendingChars = 0;

  /** @param now milliseconds since the epoch */
  addPending(handled: HandledRequest, now: number): void {
    const pending = toPending(handled, now, this.#pendingChars <= MAX_PENDING_CHARS);
    this.#pending.push(pending);
    this.#pendingChars += sizeOf(pending);
    if (this.#pending.length >= 2 * MAX_REQUESTS) {
      this.#pending = this.#pending.slice(-MAX_REQUESTS);
      this.#pendingChars = this.#pending.reduce((sum, each) => sum + sizeOf(each), 0);
    }
  }

  takePending(): readonly PendingRequest[] {
    const pending = this.#pending.slice(-MAX_REQUESTS);
    this.#pending = [];
    this.#pendingChars = 0;
    return pending;
  }

  add(id: string, request: RetainedRequest): void {
    this.all.set(id, request);
    if (request.row.hasBody) {
      this.#chars += sizeOf(request);
      this.#withBodies.add(id);
    }
    for (const oldest of this.#withBodies) {
      if (this.#chars <= MAX_TOTAL_CHARS) {
        break;
      }
      this.#dropBodies(oldest);
    }
    for (const oldest of this.all.keys()) {
      if (this.all.size <= MAX_REQUESTS) {
        break;
      }
      this.#dropBodies(oldest);
      this.all.delete(oldest);
    }
  }

  #dropBodies(id: string): void {
    const found = this.all.get(id);
    if (found !== undefined && this.#withBodies.delete(id)) {
      this.#chars -= sizeOf(found);
      this.all.set(id, { row: found.row, body: null, answer: null });
    }
  }
}

/** @param now milliseconds since the epoch. @param hasRoom whether bodies can be retained */
function toPending(handled: HandledRequest, now: number, hasRoom: boolean): PendingRequest {
  const { mount, request, response, caller, milliseconds } = handled;
  const { headers, method, path, query } = request;
  return {
    row: {
      at: Math.round(now - (milliseconds ?? 0)),
      service: serviceNameOf(mount) ?? "other",
      method: method.slice(0, MAX_METHOD_CHARS),
      status: response.status,
      ms: milliseconds === null ? null : Math.round(milliseconds * 10) / 10,
      requestId: response.headers["x-openstack-request-id"]?.slice(0, MAX_ID_CHARS) ?? null,
      globalRequestId: headers["x-openstack-request-id"]?.slice(0, MAX_ID_CHARS) ?? null,
      user: caller?.credentials.userName ?? null,
      project: caller?.credentials.projectName ?? null,
    },
    path: mount + path,
    query,
    secrets: [headers["x-auth-token"], response.headers["x-subject-token"], headers["x-subject-token"]],
    body: hasRoom ? bodyOf(request.body, headers["content-type"]) : null,
    answer: hasRoom ? bodyOf(joinBody(response), response.headers["content-type"]) : null,
  };
}

function toRetained(id: string, { row, path, query, secrets, ...raw }: PendingRequest): RetainedRequest {
  const body = redacted(raw.body);
  const answer = redacted(raw.answer);
  return {
    row: {
      ...row,
      id,
      path: withoutSecrets(path, query, secrets),
      hasBody: body !== null || answer !== null,
      about: idsIn(body, answer),
    },
    body,
    answer,
  };
}

function priorityOf({ row: { method, status, project } }: PendingRequest): number {
  const isRead = method === "GET" || method === "HEAD";
  return (status >= 400 ? 4 : 0) + (project === SERVICE_PROJECT ? 0 : 2) + (isRead ? 0 : 1);
}

function sizeOf({ body, answer }: Pick<PendingRequest, "body" | "answer">): number {
  return (body?.length ?? 0) + (answer?.length ?? 0);
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

/** Returns the part of a body that can be retained: JSON of limited length. */
function bodyOf(text: string, type: string | undefined): string | null {
  return text === "" || text.length > MAX_BODY_CHARS || (type !== undefined && !/json/.test(type)) ? null : text;
}

/** Returns an empty string for a body that is too long. */
function joinBody({ body, pieces = [body] }: HandledRequest["response"]): string {
  return pieces.reduce((sum, piece) => sum + piece.length, 0) > MAX_BODY_CHARS ? "" : pieces.join("");
}

/** Returns JSON without its secrets; null if the text is not JSON. */
function redacted(text: string | null): string | null {
  try {
    return text === null ? null : JSON.stringify(withoutSecretFields(JSON.parse(text)));
  } catch {
    return null;
  }
}

function indented(text: string | null): string | null {
  return text === null ? null : JSON.stringify(JSON.parse(text), null, 2);
}
