import type { DashboardHello, DashboardMessage } from "../../wire/stream.js";
import type { Cluster } from "./cluster.js";

/** Milliseconds of a frame that changes may take: the rest is for drawing and for whoever types. */
const FRAME_BUDGET_MS = 8;

export interface FrameDeps {
  /** Calls back once, before the next drawing. */
  readonly nextFrame: (call: () => void) => void;
  /** Milliseconds, of a clock that only goes forward. */
  readonly clock: () => number;
}

type ClusterUpdate = (cluster: Cluster) => void;

/** Takes what the server says as fast as it comes, and passes it on once a frame, in order. */
export class Feed {
  readonly #cluster: Cluster;
  readonly #deps: FrameDeps;
  #queue: (DashboardMessage | ClusterUpdate)[] = [];
  #isScheduled = false;

  constructor(cluster: Cluster, deps: FrameDeps) {
    this.#cluster = cluster;
    this.#deps = deps;
  }

  hello(hello: DashboardHello): void {
    this.#add((cluster) => cluster.greet(hello));
  }

  message(message: DashboardMessage): void {
    this.#add(message);
  }

  ready(): void {
    this.#add((cluster) => cluster.settle());
  }

  #add(entry: DashboardMessage | ClusterUpdate): void {
    this.#queue.push(entry);
    this.#ask();
  }

  #ask(): void {
    if (!this.#isScheduled && this.#queue.length > 0) {
      this.#isScheduled = true;
      this.#deps.nextFrame(() => {
        this.#isScheduled = false;
        this.#pass();
        this.#ask();
      });
    }
  }

  #pass(): void {
    const until = this.#deps.clock() + FRAME_BUDGET_MS;
    let taken = 0;
    while (taken < this.#queue.length && (taken === 0 || this.#deps.clock() < until)) {
      taken = this.#passRun(taken);
    }
    this.#queue = this.#queue.slice(taken);
  }

  /** What stands at this place: a few messages at once, or what comes between them. Returns the place after it. */
  #passRun(at: number): number {
    const first = this.#queue[at];
    if (typeof first === "function") {
      first(this.#cluster);
      return at + 1;
    }
    const run: DashboardMessage[] = [];
    let rows = 0;
    for (let next = at; next < this.#queue.length && rows < 500; next++) {
      const entry = this.#queue[next];
      if (entry === undefined || typeof entry === "function") {
        break;
      }
      run.push(entry);
      rows += entry.set.length + entry.gone.length;
    }
    this.#cluster.apply(run);
    return at + run.length;
  }
}
