import type { ServiceRequest, ServiceResponse } from "../runtime/http-server.js";
import type { Runtime } from "../runtime/runtime.js";
import type { CancelTimer, Clock, Timers } from "../runtime/time.js";
import { type Feed, joinMessages } from "./feed.js";
import { errorResponse, guarded } from "./responses.js";
import type { Session } from "./sessions.js";
import type { DashboardEvents, DashboardHello, DashboardMessage, DashboardRow } from "./wire/messages.js";

/** Milliseconds without an event after which a line is sent, so that neither side takes the connection for lost. */
const QUIET = 10_000;

/** Maximum rows of a snapshot message, and milliseconds of reading them before other tasks may run. */
const ROWS = 200;

const SLICE = 5;

/** @internal */
export interface Viewer {
  /** Sequence number of the last message that the browser has received; undefined if it has none of this feed. */
  readonly since: number | undefined;
  readonly hello: Omit<DashboardHello, "reset">;
  /** Id of the feed's lifetime to which sequence numbers belong. */
  readonly life: string;
  /** Aborted with the reason when the stream must end. */
  readonly signal: AbortSignal;
  /** Called once, when the browser has disconnected or received `bye`. */
  readonly onEnd: () => void;
}

/** Generates the server-sent events for one browser, as fast as it reads them. @internal */
export async function* eventStream(
  feed: Feed,
  rows: () => Iterable<DashboardRow>,
  { clock, timers }: { readonly clock: Pick<Clock, "monotonic">; readonly timers: Timers },
  { since, hello, life, signal, onEnd }: Viewer,
): AsyncGenerator<Uint8Array> {
  const news = new News(feed, timers, signal);
  const format = <E extends keyof DashboardEvents>(event: E, data: DashboardEvents[E]): Uint8Array => {
    const id = event === "message" ? `id: ${life}.${(data as DashboardMessage).seq}\n` : `event: ${event}\n`;
    return new TextEncoder().encode(`${id}data: ${JSON.stringify(data)}\n\n`);
  };
  try {
    const missed = since === undefined ? undefined : feed.after(since);
    let seq = missed === undefined ? feed.seq : (since ?? 0);
    yield format("hello", { ...hello, reset: missed === undefined });
    if (missed === undefined) {
      const end = feed.beginSnapshot();
      try {
        for (const set of piecesOf(rows(), clock)) {
          yield format("message", { seq, at: hello.at, set, gone: [] });
          // Yields to other tasks: if the browser reads fast, all rows would otherwise be formatted in one go.
          await timers.sleep(0);
          if (signal.aborted) {
            break;
          }
        }
      } finally {
        end();
      }
    }
    let isReady = false;
    while (!signal.aborted) {
      const messages = feed.after(seq);
      if (messages === undefined) {
        // The browser is too slow. Without a `bye` it reconnects by itself and reloads everything.
        return;
      }
      seq = feed.seq;
      const message = joinMessages(messages);
      if (message !== undefined) {
        yield format("message", message);
      }
      if (!isReady) {
        isReady = true;
        yield format("ready", { seq });
      }
      if (feed.seq === seq && !(await news.wait(seq))) {
        yield new TextEncoder().encode(": nothing new\n\n");
      }
    }
    yield format("bye", { reason: String(signal.reason) });
  } finally {
    news.close();
    onEnd();
  }
}

function* piecesOf(rows: Iterable<DashboardRow>, clock: Pick<Clock, "monotonic">): Generator<readonly DashboardRow[]> {
  let piece: DashboardRow[] = [];
  let began = clock.monotonic();
  for (const row of rows) {
    piece.push(row);
    if (piece.length >= ROWS || clock.monotonic() - began > SLICE) {
      yield piece;
      piece = [];
      began = clock.monotonic();
    }
  }
  if (piece.length > 0) {
    yield piece;
  }
}

/** Waits for the next message of a feed. */
class News {
  readonly #feed: Feed;
  readonly #timers: Pick<Timers, "after">;
  readonly #signal: AbortSignal;
  readonly #stop: () => void;
  #wake: (() => void) | undefined;
  readonly #onNews = (): void => this.#wake?.();

  constructor(feed: Feed, timers: Pick<Timers, "after">, signal: AbortSignal) {
    this.#feed = feed;
    this.#timers = timers;
    this.#signal = signal;
    this.#stop = feed.onMessage(this.#onNews);
    signal.addEventListener("abort", this.#onNews);
  }

  /** Resolves with false after {@link QUIET} milliseconds without a message. */
  async wait(seq: number): Promise<boolean> {
    await new Promise<void>((resolve) => {
      const cancel = this.#timers.after(QUIET, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
      if (this.#signal.aborted) {
        this.#wake();
      }
    });
    this.#wake = undefined;
    return this.#feed.seq !== seq || this.#signal.aborted;
  }

  close(): void {
    this.#stop();
    this.#signal.removeEventListener("abort", this.#onNews);
  }
}

const MAX_VIEWERS = 20;

/** A source of events that is followed only while a browser is connected. */
interface Followed {
  readonly feed: Feed;
  /** Iterates over all rows, each read when it is requested. */
  readonly rows: () => Iterable<DashboardRow>;
  readonly begin: () => void;
  readonly end: () => void;
  /**
   * Milliseconds for which the source is still followed after the last browser has disconnected, since it may come
   * back.
   */
  readonly lingers: number;
}

/** The browsers that follow one source. Without any, it costs nothing. */
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

  /** Responds with an event stream that ends when the browser disconnects or the session ends. */
  stream(
    request: ServiceRequest,
    session: Session,
    hello: Omit<DashboardHello, "reset" | "at" | "secret">,
  ): ServiceResponse {
    if (this.#count >= MAX_VIEWERS) {
      return errorResponse(503, `${this.#count} pages of this cluster are already open; close one of them`);
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

  /** Stops following the source. */
  close(): void {
    this.#cancel?.();
    if (this.#life !== "") {
      this.#life = "";
      this.#followed.end();
    }
  }

  /** Returns the sequence number of an event id of this lifetime. */
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
