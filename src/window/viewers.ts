import type { Runtime } from "../runtime/runtime.js";
import type { ServiceRequest, ServiceResponse } from "../runtime/service.js";
import type { CancelTimer } from "../runtime/timers.js";
import { guarded, refusal } from "./answers.js";
import { eventStream } from "./feed/event-stream.js";
import type { RequestRing } from "./requests/request-ring.js";
import type { Session } from "./session/sessions.js";
import type { Watch } from "./watch.js";
import type { WindowHello } from "./wire.js";

/** Milliseconds for which changes are still followed after the last browser has gone: it may come back. */
const LINGERED = 30_000;
const MOST_VIEWERS = 20;

/** The browsers that look. While there is none, nothing is followed. */
export class Viewers {
  readonly #watch: Watch;
  readonly #requests: RequestRing;
  readonly #runtime: Pick<Runtime, "timers" | "random" | "clock">;
  #life = "";
  #count = 0;
  #withRequests = 0;
  #cancel: CancelTimer | undefined;

  constructor(watch: Watch, requests: RequestRing, runtime: Pick<Runtime, "timers" | "random" | "clock">) {
    this.#watch = watch;
    this.#requests = requests;
    this.#runtime = runtime;
  }

  /** An answer that goes on until the browser leaves or the session ends. */
  stream(
    request: ServiceRequest,
    session: Session,
    hello: Omit<WindowHello, "reset" | "at" | "secret">,
  ): ServiceResponse {
    if (this.#count >= MOST_VIEWERS) {
      return refusal(503, `${this.#count} pages look at this cluster already; close one of them`);
    }
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#life === "") {
      this.#life = this.#runtime.random.hex(8);
      this.#watch.begin();
    }
    const query = new URLSearchParams(request.query);
    const wantsRequests = query.get("requests") === "1";
    this.#count += 1;
    if (wantsRequests) {
      this.#withRequests += 1;
      this.#requests.begin();
    }
    const bytes = eventStream(this.#watch.feed, () => this.#rows(wantsRequests), this.#runtime, {
      since: this.#sinceOf(request.headers["last-event-id"] ?? query.get("since") ?? ""),
      takes: (kind) => wantsRequests || kind !== "request",
      hello: { ...hello, secret: session.secret, at: this.#runtime.clock.now() },
      life: this.#life,
      signal: session.ended,
      onEnd: () => this.#left(wantsRequests),
    });
    return guarded({ status: 200, headers: { "content-type": "text/event-stream" }, body: "", bytes });
  }

  /** Follows nothing any more. */
  close(): void {
    this.#cancel?.();
    if (this.#life !== "") {
      this.#life = "";
      this.#watch.end();
      this.#requests.end();
    }
  }

  /** The number in the id of an event of this life. */
  #sinceOf(id: string): number | undefined {
    const [life, seq = ""] = id.split(".");
    return life === this.#life && /^\d{1,15}$/.test(seq) ? Number(seq) : undefined;
  }

  *#rows(wantsRequests: boolean) {
    yield* this.#watch.shown.rows();
    yield* wantsRequests ? this.#requests.rows() : [];
  }

  #left(withRequests: boolean): void {
    this.#count -= 1;
    this.#withRequests -= withRequests ? 1 : 0;
    if (this.#withRequests === 0) {
      this.#requests.end();
    }
    if (this.#count === 0) {
      this.#cancel = this.#runtime.timers.after(LINGERED, () => this.close());
    }
  }
}
