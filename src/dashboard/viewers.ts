import type { Runtime } from "../runtime/runtime.js";
import type { ServiceRequest, ServiceResponse } from "../runtime/http-server.js";
import type { CancelTimer } from "../runtime/time.js";
import { eventStream } from "./feed/event-stream.js";
import type { Feed } from "./feed/feed.js";
import { errorResponse, guarded } from "./responses.js";
import type { Session } from "./session/sessions.js";
import type { DashboardHello, DashboardRow } from "./wire/stream.js";

const MAX_VIEWERS = 20;

/** What browsers can follow, which is followed here only while one does. */
interface Followed {
  readonly feed: Feed;
  /** Every row there is, read as they are asked for. */
  readonly rows: () => Iterable<DashboardRow>;
  readonly begin: () => void;
  readonly end: () => void;
  /** Milliseconds for which it is followed still after the last browser has gone: it may come back. */
  readonly lingers: number;
}

/** The browsers that follow one thing. While there is none, it costs nothing. */
export class Viewers {
  readonly #followed: Followed;
  readonly #runtime: Pick<Runtime, "timers" | "random" | "clock">;
  #life = "";
  #count = 0;
  #cancel: CancelTimer | undefined;

  constructor(followed: Followed, runtime: Pick<Runtime, "timers" | "random" | "clock">) {
    this.#followed = followed;
    this.#runtime = runtime;
  }

  /** An answer that goes on until the browser leaves or the session ends. */
  stream(
    request: ServiceRequest,
    session: Session,
    hello: Omit<DashboardHello, "reset" | "at" | "secret">,
  ): ServiceResponse {
    if (this.#count >= MAX_VIEWERS) {
      return errorResponse(503, `${this.#count} pages look at this cluster already; close one of them`);
    }
    this.#cancel?.();
    this.#cancel = undefined;
    const { feed, rows, begin } = this.#followed;
    if (this.#life === "") {
      this.#life = this.#runtime.random.hex(8);
      begin();
    }
    this.#count += 1;
    const bytes = eventStream(feed, rows, this.#runtime, {
      since: this.#sinceOf(request.headers["last-event-id"] ?? ""),
      hello: { ...hello, secret: session.secret, at: this.#runtime.clock.now() },
      life: this.#life,
      signal: session.ended,
      onEnd: () => this.#left(),
    });
    return guarded({ status: 200, headers: { "content-type": "text/event-stream" }, body: "", bytes });
  }

  /** Follows nothing any more. */
  close(): void {
    this.#cancel?.();
    if (this.#life !== "") {
      this.#life = "";
      this.#followed.end();
    }
  }

  /** The number in the id of an event of this life. */
  #sinceOf(id: string): number | undefined {
    const [life, seq = ""] = id.split(".");
    return life === this.#life && /^\d{1,15}$/.test(seq) ? Number(seq) : undefined;
  }

  #left(): void {
    this.#count -= 1;
    if (this.#count === 0) {
      this.#cancel = this.#runtime.timers.after(this.#followed.lingers, () => this.close());
    }
  }
}
