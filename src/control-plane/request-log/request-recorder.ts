import {
  RECORDED_DEPTH,
  type Recorded,
  type RecordedCaller,
  type RecordedEvent,
  type RecordedRequest,
} from "../../conductor-client/methods/cluster.js";
import { BYTES } from "../../runtime/http-server.js";
import type { Clock } from "../../runtime/time.js";
import { excessOf, type MessageLimits } from "../http/listener-limits.js";
import type { LiveToken } from "../identity/tokens/live-tokens.js";
import { withoutSecretFields, withoutSecrets } from "./redaction.js";
import type { HandledRequest, RequestListener } from "./request-log.js";

/** Milliseconds without a call of `take` after which recording stops. */
const FORGOTTEN = 10_000;
/** The max number of characters of all pending events; the next constant is the max of one response. */
const MAX_PENDING_CHARACTERS = 32 * 1024 * 1024;
const MAX_RESPONSE_CHARACTERS = 1024 * 1024;
/** A larger request or response body is not recorded. */
const LIMITS: MessageLimits = { bytes: 256 * 1024, depth: RECORDED_DEPTH, members: Number.POSITIVE_INFINITY };

/**
 * Requests that issue or revoke tokens are not recorded, since they consist of secrets. Each recorded request contains
 * its caller.
 */
const TOKENS = "/v3/auth/tokens";

/** The project of services, whose requests are not recorded: they repeat when the users' requests are replayed. */
const SERVICE_PROJECT = "service";

/** Records the requests of clients, and the operators' actions on hosts, while a client polls it. */
export class RequestRecorder {
  readonly #clock: Clock;
  readonly #describe: (caller: LiveToken) => RecordedCaller;
  readonly #listen: (listener: RequestListener) => void;
  #isListening = false;
  #lastRequestedAt = Number.NEGATIVE_INFINITY;
  #waiting: { readonly event: RecordedEvent; readonly size: number }[] = [];
  #size = 0;
  #lost = 0;

  /**
   * @param describe describes the owner of a token without secrets
   * @param listen registers a request listener; called at the first `take`, so that there is no overhead before
   */
  constructor(
    clock: Clock,
    describe: (caller: LiveToken) => RecordedCaller,
    listen: (listener: RequestListener) => void,
  ) {
    this.#clock = clock;
    this.#describe = describe;
    this.#listen = listen;
  }

  /** Returns the events since the last call; the first call starts the recording. */
  take(): Recorded {
    this.#lastRequestedAt = this.#clock.monotonic();
    if (!this.#isListening) {
      this.#isListening = true;
      this.#listen(this.#hear);
    }
    const events: RecordedEvent[] = [];
    for (let size = 0; ; ) {
      const next = this.#waiting[events.length];
      if (next === undefined || (events.length > 0 && size + next.size > MAX_RESPONSE_CHARACTERS)) {
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

  /** Records a command of `compute-cluster`, as arguments without the program. */
  note(run: readonly string[]): void {
    if (this.#isRecording()) {
      this.#keep({ at: this.#clock.now(), run });
    }
  }

  readonly #hear = ({ mount, request, response, caller, milliseconds }: HandledRequest): void => {
    const { headers, method, path, query } = request;
    const isForToken = mount === "/identity" && path === TOKENS;
    if (!this.#isRecording() || mount === "" || isForToken || caller?.credentials.projectName === SERVICE_PROJECT) {
      return;
    }
    const version = headers["openstack-api-version"] ?? headers["x-openstack-nova-api-version"];
    this.#keep({
      at: Math.round(this.#clock.now() - (milliseconds ?? 0)),
      caller: caller === undefined ? null : this.#describe(caller),
      method,
      path: withoutSecrets(mount + path, query, [headers["x-auth-token"], headers["x-subject-token"]]),
      ...(version === undefined ? {} : { version }),
      ...(headers["content-type"] === undefined ? {} : { contentType: headers["content-type"] }),
      ...bodyOf(request),
      status: response.status,
      answer: jsonOf(response.pieces?.join("") ?? response.body) ?? null,
    });
  };

  #isRecording(): boolean {
    const isRecording = this.#clock.monotonic() - this.#lastRequestedAt < FORGOTTEN;
    if (!isRecording && this.#waiting.length > 0) {
      this.#waiting = [];
      this.#size = 0;
    }
    return isRecording;
  }

  #keep(event: RecordedEvent): void {
    const size = JSON.stringify(event).length;
    if (this.#size + size > MAX_PENDING_CHARACTERS) {
      this.#lost += 1;
      return;
    }
    this.#size += size;
    this.#waiting.push({ event, size });
  }
}

function bodyOf({ headers, body }: HandledRequest["request"]): Pick<RecordedRequest, "body" | "bytes" | "left"> {
  const type = headers["content-type"] ?? "";
  if (type.startsWith(BYTES)) {
    return { bytes: Number(headers["content-length"] ?? 0) };
  }
  const found = /json/.test(type) || body === "" ? jsonOf(body) : undefined;
  return found === undefined ? { left: "its body is not JSON, too long, or nested too deeply" } : { body: found };
}

/** Returns null for an empty string; undefined if it is not JSON, too long, or nested too deeply. */
function jsonOf(text: string): unknown {
  if (text === "") {
    return null;
  }
  if (excessOf(text, LIMITS) !== undefined) {
    return undefined;
  }
  try {
    return withoutSecretFields(JSON.parse(text));
  } catch {
    return undefined;
  }
}
