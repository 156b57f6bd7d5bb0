import type { Recorded, RecordedEvent } from "../../conductor/methods/cluster.js";
import type { Clock } from "../../runtime/clock.js";
import type { ValidateToken } from "../credentials.js";
import { withoutSecrets } from "./shown-target.js";
import type { AnsweredRequest, RequestListener } from "./watched-requests.js";
import { withoutSecretFields } from "./without-secrets.js";

/** Milliseconds after which nobody records any more who does not ask. */
const FORGOTTEN = 10_000;
/** Characters of events that wait to be asked for, and of one answer. */
const MOST_WAITING = 32 * 1024 * 1024;
const MOST_AT_ONCE = 1024 * 1024;
/** Characters of a body or an answer that are kept. */
const MOST_BODY = 256 * 1024;

/** Services ask on behalf of users: that happens by itself when the users ask again. */
const SERVICE_PROJECT = "service";

/** Keeps what clients ask of the services, and what operators have done to hosts, while somebody asks for it. */
export class RequestRecorder {
  readonly #clock: Clock;
  readonly #whose: ValidateToken;
  readonly #listen: (listener: RequestListener) => void;
  #isListening = false;
  #asked = Number.NEGATIVE_INFINITY;
  #waiting: { readonly event: RecordedEvent; readonly size: number }[] = [];
  #size = 0;
  #lost = 0;

  /** @param listen lets the recorder hear of each request from then on; until somebody records, nothing is paid for it */
  constructor(clock: Clock, whose: ValidateToken, listen: (listener: RequestListener) => void) {
    this.#clock = clock;
    this.#whose = whose;
    this.#listen = listen;
  }

  /** What has happened since the last time; from the first time on it is kept. */
  take(): Recorded {
    this.#asked = this.#clock.monotonic();
    if (!this.#isListening) {
      this.#isListening = true;
      this.#listen(this.#hear);
    }
    const events: RecordedEvent[] = [];
    for (let size = 0; ; ) {
      const next = this.#waiting[events.length];
      if (next === undefined || (events.length > 0 && size + next.size > MOST_AT_ONCE)) {
        break;
      }
      size += next.size;
      events.push(next.event);
    }
    this.#size -= this.#waiting.splice(0, events.length).reduce((sum, { size }) => sum + size, 0);
    const lost = this.#lost;
    this.#lost = 0;
    return { events, lost, more: this.#waiting.length > 0 };
  }

  /** A command of `compute-cluster` that did this, without its program. */
  note(run: readonly string[]): void {
    if (this.#isAsked()) {
      this.#keep({ at: this.#clock.now(), run });
    }
  }

  readonly #hear = ({ mount, request, response, milliseconds }: AnsweredRequest): void => {
    if (!this.#isAsked() || mount === "" || request.path.startsWith("/v3/auth/")) {
      return;
    }
    const { headers, method, path, query } = request;
    const token = headers["x-auth-token"] ?? "";
    const caller = this.#whose(token);
    if (caller === undefined || caller.projectName === SERVICE_PROJECT) {
      return;
    }
    const version = headers["openstack-api-version"] ?? headers["x-openstack-nova-api-version"];
    const isJson = /json/.test(headers["content-type"] ?? "") || request.body === "";
    const body = isJson ? jsonOf(request.body) : undefined;
    this.#keep({
      at: Math.round(this.#clock.now() - (milliseconds ?? 0)),
      user: caller.userName,
      project: caller.projectName,
      method,
      path: withoutSecrets(mount + path, query, [token, headers["x-subject-token"]]),
      ...(version === undefined ? {} : { version }),
      ...(headers["content-type"] === undefined ? {} : { contentType: headers["content-type"] }),
      ...(body === undefined ? { left: "its body is no JSON, or too long" } : { body }),
      status: response.status,
      answer: jsonOf(response.pieces?.join("") ?? response.body) ?? null,
    });
  };

  #isAsked(): boolean {
    const isAsked = this.#clock.monotonic() - this.#asked < FORGOTTEN;
    if (!isAsked && this.#waiting.length > 0) {
      this.#waiting = [];
      this.#size = 0;
    }
    return isAsked;
  }

  #keep(event: RecordedEvent): void {
    const size = JSON.stringify(event).length;
    if (this.#size + size > MOST_WAITING) {
      this.#lost += 1;
      return;
    }
    this.#size += size;
    this.#waiting.push({ event, size });
  }
}

/** Null: there is none; undefined: it is none, or too long. */
function jsonOf(text: string): unknown {
  if (text === "") {
    return null;
  }
  if (text.length > MOST_BODY) {
    return undefined;
  }
  try {
    return withoutSecretFields(JSON.parse(text));
  } catch {
    return undefined;
  }
}
