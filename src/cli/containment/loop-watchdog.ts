import { Worker } from "node:worker_threads";
import type { Logger } from "../../runtime/logger.js";

/** Milliseconds between two signs of life of the event loop. */
const BEAT = 500;
/** Milliseconds without one after which the loop counts as blocked. */
const LIMIT = 2_000;
/** Bytes for the name of the last call. */
const ROOM = 512;

/** The places in what both threads see. */
const BEATS = 0;
const REPORTED = 1;
const LENGTH = 2;

/** Looks from a thread of its own whether the event loop turns: one that is blocked can say nothing itself. */
const WATCH = `
const { workerData } = require("node:worker_threads");
const { writeSync } = require("node:fs");
const state = new Int32Array(workerData.state);
const text = new Uint8Array(workerData.text);
let last = -1, since = Date.now(), looked = since, told = 0;
setInterval(() => {
  const now = Date.now();
  const beat = Atomics.load(state, ${BEATS});
  // The whole process was stopped: the loop may be about to turn.
  const slept = now - looked > ${BEAT * 3};
  looked = now;
  if (beat !== last) {
    last = beat;
    since = now;
    told = 0;
    return;
  }
  if (slept) {
    return;
  }
  const blocked = now - since;
  if (blocked >= ${LIMIT} && blocked >= 2 * told) {
    told = blocked;
    Atomics.store(state, ${REPORTED}, 1);
    const call = Buffer.from(text.slice(0, Atomics.load(state, ${LENGTH}))).toString();
    const message = "the event loop has been blocked for " + Math.round(blocked / 1000) + " s: no heartbeat is sent, and nothing else goes on. " +
      "Something computes or waits without giving way; the driver's last call was " + (call || "none");
    const json = JSON.stringify({ level: 50, time: now, pid: process.pid, message });
    try { writeSync(2, (workerData.json ? json : "compute-agent: " + message) + "\\n"); } catch {}
  }
}, ${BEAT});
`;

/** Tells when the event loop is blocked, while it is and afterwards, and which call of the driver was the last. */
export class LoopWatchdog {
  readonly #logger: Logger;
  readonly #state = new Int32Array(new SharedArrayBuffer(12));
  readonly #text = new Uint8Array(new SharedArrayBuffer(ROOM));
  readonly #worker: Worker;
  readonly #timer: NodeJS.Timeout;
  #beaten = performance.now();
  #last = "";

  /** @param json what is told is a line of JSON, as the rest of the log */
  constructor(logger: Logger, { json }: { readonly json: boolean }) {
    this.#logger = logger;
    const workerData = { state: this.#state.buffer, text: this.#text.buffer, json };
    this.#worker = new Worker(WATCH, { eval: true, workerData });
    this.#worker.unref();
    this.#worker.on("error", (error) => logger.warn("the event loop is no longer watched", { err: error }));
    this.#timer = setInterval(() => this.#beat(), BEAT);
    this.#timer.unref();
  }

  /** @param title of a call that is about to be made */
  note(title: string): void {
    // What is called when the loop turns again, before its next sign of life, did not block it.
    if (performance.now() - this.#beaten < LIMIT) {
      this.#last = title;
    }
    const { written } = new TextEncoder().encodeInto(title, this.#text);
    Atomics.store(this.#state, LENGTH, written);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#worker.terminate();
  }

  #beat(): void {
    Atomics.add(this.#state, BEATS, 1);
    const now = performance.now();
    const passed = now - this.#beaten;
    this.#beaten = now;
    if (Atomics.exchange(this.#state, REPORTED, 0) === 1) {
      this.#logger.error(
        `the event loop turns again after ${Math.round(passed / 1000)} s; heartbeats, the lease and all requests waited meanwhile`,
        { last_driver_call: this.#last },
      );
    }
  }
}
