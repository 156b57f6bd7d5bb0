import { type Signal, signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { ActionResponse, DashboardEvents } from "../wire/messages.js";
import { type Cluster, Feed } from "./model/cluster.js";
import type { Route } from "./model/navigation.js";

/** Milliseconds until the page retries a server that does not respond at all. */
const AGAIN = 2_000;

/** Milliseconds between updates of a hidden page, which draws nothing. */
const HIDDEN = 500;

export type LiveState = "connecting" | "live" | "away" | "out";

/** The page's event stream, and a second one for requests while they are displayed. */
export class Live {
  readonly state = signal<LiveState>("connecting");
  /** Time of the server's last event, by its clock. */
  readonly lastReceivedAt = signal<number | null>(null);
  /** The server's clock. */
  readonly now = signal(Date.now());

  readonly #feed: Feed;
  #source: EventSource | null = null;
  #requests: EventSource | null = null;
  #requestsEnabled = false;
  #skew = 0;
  #again: number | undefined;

  constructor(cluster: Cluster) {
    this.#feed = new Feed(cluster, { nextFrame, clock: () => performance.now() });
    setInterval(() => {
      this.#tick();
    }, 1_000);
  }

  /** Follows requests only while they are displayed. */
  wantRequests(enabled: boolean): void {
    this.#requestsEnabled = enabled;
    this.#followRequests();
  }

  /** If the browser does not reconnect by itself, the next `hello` on the first stream causes another attempt. */
  #followRequests(): void {
    if (!this.#requestsEnabled) {
      this.#requests?.close();
      this.#requests = null;
    } else if (this.#requests === null || this.#requests.readyState === EventSource.CLOSED) {
      const source = new EventSource("/window/requests");
      this.#requests = source;
      source.addEventListener("message", ({ data }) => {
        this.#feed.message(JSON.parse(data));
      });
      source.addEventListener("bye", () => {
        source.close();
      });
    }
  }

  connect(): void {
    clearTimeout(this.#again);
    this.#source?.close();
    const source = new EventSource("/window/events");
    this.#source = source;
    this.#on(source, "hello", (hello) => {
      this.#skew = hello.at - Date.now();
      this.state.value = "live";
      this.#tick();
      this.#feed.hello(hello);
      this.#followRequests();
    });
    this.#on(source, "message", (message) => {
      this.lastReceivedAt.value = message.at;
      this.#feed.message(message);
    });
    this.#on(source, "ready", () => {
      this.lastReceivedAt.value = this.now.value;
      this.#feed.ready();
    });
    this.#on(source, "bye", () => {
      source.close();
      this.state.value = "out";
    });
    source.onerror = () => {
      this.#lost(source);
    };
  }

  #on<E extends keyof DashboardEvents>(source: EventSource, name: E, take: (data: DashboardEvents[E]) => void): void {
    source.addEventListener(name, (event) => {
      if (source === this.#source) {
        take(JSON.parse((event as MessageEvent<string>).data));
      }
    });
  }

  /**
   * Handles a lost connection. The browser reconnects by itself unless the server rejected it; then the session may
   * have ended.
   */
  #lost(source: EventSource): void {
    if (source !== this.#source || this.state.value === "out") {
      return;
    }
    if (this.state.value === "live") {
      this.state.value = "away";
    }
    if (source.readyState === EventSource.CLOSED) {
      void this.#tryAgain(source);
    }
  }

  async #tryAgain(source: EventSource): Promise<void> {
    const response = await fetch("/window/session").catch(() => null);
    if (source !== this.#source) {
      return;
    }
    if (response?.status === 401) {
      this.state.value = "out";
    } else {
      this.state.value = "away";
      this.#again = setTimeout(() => {
        this.connect();
      }, AGAIN);
    }
  }

  #tick(): void {
    this.now.value = Date.now() + this.#skew;
  }
}

function nextFrame(call: () => void): void {
  if (document.hidden) {
    setTimeout(call, HIDDEN);
    return;
  }
  // A tab that becomes hidden draws no more frames, so a timer replaces them.
  let called = false;
  const once = () => {
    if (!called) {
      called = true;
      clearTimeout(timer);
      call();
    }
  };
  const timer = setTimeout(once, HIDDEN);
  requestAnimationFrame(once);
}

/** An action whose dialog is open, with the values of its fields. */
export interface OpenAction {
  /** The name of the action. */
  readonly action: string;
  readonly values: Readonly<Record<string, string>>;
}

/** The result of an action whose dialog is closed. */
interface ActionNotice extends Pick<ActionResponse, "ok" | "made" | "requestId"> {
  readonly text: string;
}

/** Context of every view. */
interface Dashboard {
  readonly cluster: Cluster;
  readonly live: Live;
  readonly route: Signal<Route>;
  /** The screen has room for one column only. */
  readonly narrow: Signal<boolean>;
  /** The action whose dialog is open. */
  readonly dialog: Signal<OpenAction | null>;
  /** The result of the last action: a success for a while, a failure until it is dismissed. */
  readonly notice: Signal<ActionNotice | null>;
}

const DashboardContext = createContext<Dashboard | null>(null);

export const DashboardProvider = DashboardContext.Provider;

export function useDashboard(): Dashboard {
  const window = useContext(DashboardContext);
  if (window === null) {
    throw new Error("a view is rendered outside of the dashboard");
  }
  return window;
}

/** Follows a media query. */
export function mediaSignal(query: string): Signal<boolean> {
  const media = matchMedia(query);
  const matches = signal(media.matches);
  media.addEventListener("change", () => {
    matches.value = media.matches;
  });
  return matches;
}
