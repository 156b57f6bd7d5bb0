import type { CloudSession } from "../../../control-plane/local/cloud-session.js";
import { explainedFault } from "../../../control-plane/scheduler/errors.js";
import { errorMessage } from "../../../runtime/error-messages.js";
import type { Clock, Timers } from "../../../runtime/time.js";
import {
  abortIfRunning,
  evaluateAbort,
  LIVE,
  SMOKE_TEST_OPERATIONS,
  type SmokeTestOperation,
  type SmokeTestOutcome,
  type SmokeTestResources,
  type SmokeTestResult,
} from "./operations.js";

export interface SmokeTestOptions {
  readonly session: CloudSession;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly places: SmokeTestResources;
  readonly hosts: number;
  /** Operations to run, together with those that bring a server to their required status. Default: all. */
  readonly only?: readonly string[];
  /** Timeout of one operation, in milliseconds. */
  readonly timeoutMs: number;
  /** Ends the smoke test early; its server is deleted. */
  readonly signal?: AbortSignal;
  /** Takes a host down, and returns a function that brings it back; or the reason why the host must not fail. */
  readonly failHost: (host: string) => Promise<(() => Promise<void>) | string>;
  /** Returns the driver calls about a guest since a time. */
  readonly callsSince: (server: string, since: number) => Promise<string>;
}

interface Server {
  readonly id: string;
  readonly status: string;
  readonly fault?: { readonly message: string; readonly details?: string };
  readonly "OS-EXT-STS:task_state": string | null;
  readonly "OS-EXT-SRV-ATTR:host": string | null;
}

const HOST = "OS-EXT-SRV-ATTR:host";

const VERSION = "2.79";
/** Milliseconds between two polls of a server. */
const PAUSE = 50;

/** Runs the operations of the Compute API one after the other, each on a server in the required status. */
export class SmokeTest {
  readonly #options: SmokeTestOptions;
  #server: Server | undefined;
  /** Operations that did not succeed, with the result; they are not retried. */
  readonly #broken = new Map<string, SmokeTestOutcome>();
  readonly #reported = new Set<string>();
  readonly #leftovers: string[] = [];
  #made = 0;

  constructor(options: SmokeTestOptions) {
    this.#options = options;
  }

  /** Entities that could not be deleted: a line for each, with the reason. */
  get leftovers(): readonly string[] {
    return this.#leftovers;
  }

  /** @param onResult called with the result of each operation */
  async run(onResult: (result: SmokeTestResult) => void): Promise<readonly SmokeTestResult[]> {
    const results: SmokeTestResult[] = [];
    const { only } = this.#options;
    try {
      for (const operation of SMOKE_TEST_OPERATIONS) {
        if (only !== undefined && !only.includes(operation.name)) {
          continue;
        }
        const result = await this.#try(operation);
        if (this.#options.signal?.aborted) {
          break;
        }
        results.push(result);
        onResult(result);
      }
    } finally {
      await this.#discard();
    }
    return results;
  }

  async #try(operation: SmokeTestOperation): Promise<SmokeTestResult> {
    const { clock, hosts, callsSince } = this.#options;
    const withoutTrying = (outcome: SmokeTestOutcome): SmokeTestResult => ({
      operation: operation.name,
      ...outcome,
      milliseconds: 0,
      calls: "",
    });
    if ((operation.hosts ?? 1) > hosts) {
      return withoutTrying({ outcome: "skipped", reason: "it needs two hosts that are up" });
    }
    const obstacle = operation.action === "create" ? null : await this.#reach(operation.from);
    if (obstacle !== null) {
      return withoutTrying(obstacle);
    }
    this.#reported.add(operation.name);
    const since = clock.now();
    const started = clock.monotonic();
    const { outcome, reason } = await this.#attempt(operation);
    if (outcome === "failed" || outcome === "unsupported") {
      this.#broken.set(operation.name, { outcome: outcome, reason });
    }
    const milliseconds = Math.round(clock.monotonic() - started);
    const id = this.#server?.id ?? "";
    const calls = id === "" ? "" : await callsSince(id, since);
    if (operation.action === "delete" && outcome === "ok") {
      this.#server = undefined;
      await this.#discardImages(id);
    }
    // Without live migration the driver is never called, and the scheduler skips every host.
    const moves = operation.moves === true || operation.action === "abort";
    const passedOver = outcome === "failed" && moves && calls === "" && /No valid host/.test(reason);
    const finalOutcome: SmokeTestOutcome = passedOver
      ? {
          outcome: "unsupported",
          reason: `${reason} No call of the driver is recorded: it may lack methods of this move`,
        }
      : { outcome: outcome, reason };
    return { operation: operation.name, ...finalOutcome, milliseconds, calls };
  }

  /**
   * Brings a server to a status: reuses the existing server, or creates one with the operations that lead there.
   * @returns null, or why no server has the status. The failure of an operation without its own result becomes the result
   */
  async #reach(status: string): Promise<SmokeTestOutcome | null> {
    const idle = this.#server?.["OS-EXT-STS:task_state"] === null;
    if (idle && this.#server?.status === status) {
      return null;
    }
    const path = pathTo(status);
    if (path.every(({ name }) => !this.#broken.has(name))) {
      await this.#discard();
      for (const operation of path) {
        const result = await this.#attempt(operation);
        if (result.outcome !== "ok") {
          this.#broken.set(operation.name, result);
          break;
        }
      }
    }
    const broken = path.find(({ name }) => this.#broken.has(name));
    if (broken === undefined) {
      return null;
    }
    const { outcome, reason } = this.#broken.get(broken.name) ?? {};
    return outcome === "failed" && !this.#reported.has(broken.name)
      ? { outcome: outcome, reason: `no server came to ${status}: ${broken.name} failed: ${reason}` }
      : { outcome: "skipped", reason: `no server came to ${status}` };
  }

  async #attempt(operation: SmokeTestOperation): Promise<SmokeTestOutcome> {
    try {
      const before = this.#server?.[HOST] ?? null;
      const bringBack = operation.action === "evacuate" ? await this.#options.failHost(before ?? "") : async () => {};
      if (typeof bringBack === "string") {
        return { outcome: "skipped", reason: bringBack };
      }
      try {
        await this.#ask(operation);
        return await this.#settled(operation, before);
      } finally {
        await bringBack();
      }
    } catch (error) {
      return { outcome: "failed", reason: errorMessage(error) };
    }
  }

  async #ask({ action }: SmokeTestOperation): Promise<void> {
    const { session, places } = this.#options;
    if (action === "create") {
      this.#made += 1;
      const server = {
        name: `drill-${this.#made}`,
        flavorRef: places.flavor,
        imageRef: places.image,
        networks: "none",
      };
      const made = await session.request("compute", "POST", "/servers", VERSION, { server });
      const { id } = (made as { readonly server: { readonly id: string } }).server;
      // Set before anything else can fail, so that the server is deleted at the end.
      this.#server = { id, status: "BUILD", "OS-EXT-STS:task_state": "scheduling", [HOST]: null };
      return;
    }
    const id = this.#server?.id ?? "";
    const act = (body: unknown) => session.request("compute", "POST", `/servers/${id}/action`, VERSION, body);
    switch (action) {
      case "delete":
        return void (await session.request("compute", "DELETE", `/servers/${id}`, VERSION));
      case "evacuate":
        return void (await act({ evacuate: {} }));
      case "abort":
        await act(LIVE);
        return this.#abort(id);
      default:
        return void (await act(action(places)));
    }
  }

  /** Waits until the live migration runs, and aborts it. A migration that ends earlier is ignored. */
  async #abort(id: string): Promise<void> {
    const { session, clock, timeoutMs } = this.#options;
    const deadline = clock.monotonic() + timeoutMs;
    while (!(await abortIfRunning(session, id)) && clock.monotonic() < deadline) {
      if ((await this.#show(id))["OS-EXT-STS:task_state"] === null) {
        return;
      }
      await this.#pause();
    }
  }

  /** Waits until the server's task state is null, and evaluates the result. */
  async #settled({ action, status, moves }: SmokeTestOperation, before: string | null): Promise<SmokeTestOutcome> {
    const { clock, timeoutMs, signal } = this.#options;
    const deadline = clock.monotonic() + timeoutMs;
    const id = this.#server?.id ?? "";
    for (;;) {
      const server = await this.#find(id);
      if (server === undefined) {
        return action === "delete"
          ? { outcome: "ok", reason: "" }
          : { outcome: "failed", reason: "the server is gone" };
      }
      this.#server = server;
      const idle = server["OS-EXT-STS:task_state"] === null && action !== "delete";
      if (idle) {
        const failure = await this.#failureOf(id);
        const there = server.status === status && (moves !== true || server[HOST] !== before);
        const aborts = action === "abort" && there;
        if (aborts) {
          const failed = failure === null ? null : toOutcome(failure);
          const outcome = await evaluateAbort(this.#options.session, id, failed);
          if (outcome) {
            return outcome;
          }
        } else if (failure === null && there) {
          return { outcome: "ok", reason: "" };
        } else if (failure !== null || server.status === "ERROR") {
          return toOutcome(failure ?? (server.fault ? explainedFault(server.fault) : ""));
        }
      }
      if (signal?.aborted && action !== "delete") {
        return { outcome: "failed", reason: "interrupted" };
      }
      if (clock.monotonic() > deadline) {
        const found = `${server.status}, task_state ${server["OS-EXT-STS:task_state"]}`;
        return {
          outcome: "failed",
          reason: `expected ${status || "no server"} after ${timeoutMs / 1000} s, found ${found}`,
        };
      }
      await this.#pause();
    }
  }

  #pause(): Promise<void> {
    return this.#options.timers.sleep(PAUSE);
  }

  /** Returns why the latest action failed; null if it did not. */
  async #failureOf(id: string): Promise<string | null> {
    const [newest] = await this.#actions(id);
    if (newest?.message !== "Error") {
      return null;
    }
    const { session } = this.#options;
    const path = `/servers/${id}/os-instance-actions/${newest.request_id}`;
    const response = (await session.request("compute", "GET", path, "2.84")) as {
      readonly instanceAction: {
        readonly events?: readonly {
          readonly result: string;
          readonly details?: string;
          readonly traceback?: string;
        }[];
      };
    };
    const event = response.instanceAction.events?.find(({ result }) => result === "Error");
    return event?.details ?? event?.traceback ?? "the action failed";
  }

  async #actions(id: string): Promise<readonly InstanceAction[]> {
    const path = `/servers/${id}/os-instance-actions`;
    const listed = (await this.#options.session.request("compute", "GET", path, "2.84")) as {
      readonly instanceActions: readonly InstanceAction[];
    };
    return listed.instanceActions;
  }

  async #find(id: string): Promise<Server | undefined> {
    try {
      return await this.#show(id);
    } catch (error) {
      if (error instanceof Error && "status" in error && error.status === 404) {
        return undefined;
      }
      throw error;
    }
  }

  async #show(id: string): Promise<Server> {
    const response = await this.#options.session.request("compute", "GET", `/servers/${id}`, VERSION);
    return (response as { readonly server: Server }).server;
  }

  /** Deletes the server of the smoke test, and images created from it. */
  async #discard(): Promise<void> {
    const id = this.#server?.id;
    const operation = SMOKE_TEST_OPERATIONS.find(({ action }) => action === "delete");
    if (id === undefined || operation === undefined) {
      return;
    }
    const { outcome, reason } = await this.#attempt(operation);
    if (outcome !== "ok" && (await this.#find(id).catch(() => this.#server)) !== undefined) {
      this.#leftovers.push(`server ${id}: ${reason}`);
    }
    this.#server = undefined;
    await this.#discardImages(id);
  }

  /** Deletes the images of a server: a failed or unfinished shelve may leave one. */
  async #discardImages(server: string): Promise<void> {
    const { session } = this.#options;
    try {
      const listed = await session.request("image", "GET", `/v2/images?instance_uuid=${server}`, "2.0");
      for (const { id } of (listed as { readonly images: readonly { readonly id: string }[] }).images) {
        await session.request("image", "DELETE", `/v2/images/${id}`, "2.0");
      }
    } catch (error) {
      if (!(error instanceof Error && "status" in error && error.status === 404)) {
        this.#leftovers.push(`images of server ${server}: ${errorMessage(error)}`);
      }
    }
  }
}

interface InstanceAction {
  readonly request_id: string;
  /** `Error` if one of its events failed. */
  readonly message: string | null;
}

/** Returns the operations that bring a new server to a status. */
function pathTo(status: string): readonly SmokeTestOperation[] {
  const path: SmokeTestOperation[] = [];
  for (let target = status; target !== ""; ) {
    const before = SMOKE_TEST_OPERATIONS.find((each) => each.status === target);
    if (before === undefined) {
      return [];
    }
    path.unshift(before);
    target = before.from;
  }
  return path;
}

/** Matches errors about a missing method or capability of the driver. */
const UNSUPPORTED = /NotImplemented|has no \w+: use a driver|cannot take evacuated instances/;

function toOutcome(reason: string): SmokeTestOutcome {
  const [line = ""] = reason.trim().split("\n");
  return { outcome: UNSUPPORTED.test(reason) ? "unsupported" : "failed", reason: line };
}
