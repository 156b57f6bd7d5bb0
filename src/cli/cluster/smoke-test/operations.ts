import type { HostSession } from "../../../conductor-client/port.js";
import type { CloudSession } from "../../../control-plane/local/cloud-session.js";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { HostSettingsStore } from "../host-settings.js";
import { withOperatorSession } from "../operator-session.js";

/** What a drill knows of the cloud that it drills. */
export interface SmokeTestResources {
  readonly image: string;
  /** The flavor of new servers. */
  readonly flavor: string;
  /** What they are resized to. */
  readonly largerFlavor: string;
}

/** One operation of the Compute API on one server, and what it should come to. */
export interface SmokeTestOperation {
  readonly name: string;
  /**
   * Body of `POST /servers/{id}/action`; `create` and `delete` are requests of their own, `abort` ends a live migration that
   * runs, and `evacuate` takes the server's host down before, and brings it back.
   */
  readonly action:
    | ((places: SmokeTestResources) => Readonly<Record<string, unknown>>)
    | "create"
    | "delete"
    | "abort"
    | "evacuate";
  /** The server's status afterwards, once nothing is under way. */
  readonly status: string;
  /** The status that it takes; a server that is in another one is made anew. */
  readonly from: string;
  /** Needs a second host. */
  readonly hosts?: 2;
  /** The server's host is another one afterwards. */
  readonly moves?: true;
}

function on(name: string, value: unknown = null): SmokeTestOperation["action"] {
  return () => ({ [name]: value });
}

function active(name: string, action: SmokeTestOperation["action"], status = "ACTIVE"): SmokeTestOperation {
  return {
    name,
    action,
    status,
    from: "ACTIVE",
  };
}

const resize: SmokeTestOperation["action"] = ({ largerFlavor }) => ({ resize: { flavorRef: largerFlavor } });

/** What asks for a live migration to any host. */
export const LIVE = { "os-migrateLive": { host: null, block_migration: "auto" } };

/** The operations, in an order in which each finds the server as it needs it. */
export const SMOKE_TEST_OPERATIONS: readonly SmokeTestOperation[] = [
  { name: "create", action: "create", status: "ACTIVE", from: "" },
  active("reboot soft", on("reboot", { type: "SOFT" })),
  active("reboot hard", on("reboot", { type: "HARD" })),
  active("pause", on("pause"), "PAUSED"),
  { name: "unpause", action: on("unpause"), status: "ACTIVE", from: "PAUSED" },
  active("suspend", on("suspend"), "SUSPENDED"),
  { name: "resume", action: on("resume"), status: "ACTIVE", from: "SUSPENDED" },
  active("stop", on("os-stop"), "SHUTOFF"),
  { name: "start", action: on("os-start"), status: "ACTIVE", from: "SHUTOFF" },
  active("rescue", on("rescue"), "RESCUE"),
  { name: "unrescue", action: on("unrescue"), status: "ACTIVE", from: "RESCUE" },
  active("rebuild", ({ image }) => ({ rebuild: { imageRef: image } })),
  active("shelve", on("shelve"), "SHELVED_OFFLOADED"),
  { name: "unshelve", action: on("unshelve"), status: "ACTIVE", from: "SHELVED_OFFLOADED" },
  { ...active("cold migrate", on("migrate"), "VERIFY_RESIZE"), hosts: 2 },
  { name: "confirm migration", action: on("confirmResize"), status: "ACTIVE", from: "VERIFY_RESIZE", hosts: 2 },
  { ...active("resize", resize, "VERIFY_RESIZE"), hosts: 2 },
  { name: "revert resize", action: on("revertResize"), status: "ACTIVE", from: "VERIFY_RESIZE", hosts: 2 },
  { ...active("live migrate", () => LIVE), hosts: 2, moves: true },
  { ...active("abort live migration", "abort"), hosts: 2 },
  { ...active("evacuate", "evacuate"), hosts: 2, moves: true },
  { name: "delete", action: "delete", status: "", from: "ACTIVE" },
];

/** Whether an operation did what it should. */
export interface SmokeTestOutcome {
  readonly outcome: "ok" | "unsupported" | "failed" | "skipped";
  /** Why it is not ok. */
  readonly reason: string;
}

/** What one operation came to. */
export interface SmokeTestResult extends SmokeTestOutcome {
  readonly operation: string;
  readonly milliseconds: number;
  readonly calls: string;
}

const VERSION = "2.79";

interface MigrationView {
  readonly id: number;
  readonly status: string;
}

/**
 * Asks once for the end of the server's live migration, if it runs. @returns false: there is none yet, or none any more.
 * @throws {CloudRequestFailed}
 */
export async function abortIfRunning(session: CloudSession, server: string): Promise<boolean> {
  const path = `/servers/${server}/migrations`;
  const { migrations } = (await session.request("compute", "GET", path, VERSION)) as {
    readonly migrations: readonly MigrationView[];
  };
  const running = migrations.find(({ status }) => status === "running");
  if (running === undefined) {
    return false;
  }
  try {
    await session.request("compute", "DELETE", `${path}/${running.id}`, VERSION);
  } catch (error) {
    // It was over in between: how, the migration tells.
    if (!(error instanceof Error && "status" in error && (error.status === 400 || error.status === 404))) {
      throw error;
    }
  }
  return true;
}

/** States of a migration that ends, or is still to. */
const UNDER_WAY: readonly string[] = ["queued", "accepted", "preparing", "running", "post-migrating"];

/**
 * What became of a live migration that was to be aborted, once its server is at rest: the migration is later by a moment.
 * @param failure of the abort; null: it did not fail
 * @returns undefined: the migration is still under way
 */
export async function evaluateAbort(
  session: CloudSession,
  server: string,
  failure: SmokeTestOutcome | null,
): Promise<SmokeTestOutcome | undefined> {
  if (failure?.outcome === "unsupported") {
    return failure;
  }
  const path = `/os-migrations?instance_uuid=${server}&migration_type=live-migration`;
  const { migrations } = (await session.request("compute", "GET", path, VERSION)) as {
    readonly migrations: readonly MigrationView[];
  };
  const newest = migrations.toSorted((one, other) => other.id - one.id)[0]?.status ?? "absent";
  if (UNDER_WAY.includes(newest)) {
    return undefined;
  }
  switch (newest) {
    case "cancelled":
      return { outcome: "ok", reason: "" };
    case "completed":
      return { outcome: "skipped", reason: "the migration was over before it could be aborted" };
    default:
      return failure ?? { outcome: "failed", reason: `the migration is ${newest}, expected cancelled` };
  }
}

const COMPUTE_VERSION = "2.79";

/** Milliseconds between two looks at a host. */
const PAUSE = 200;

/** Ends a program as a crash does, after which `up` starts it again; one that is killed or terminated stays down. */
const CRASH = "SIGUSR2";

/** The host cannot fail here: nobody would bring it back. */
export class NoOutage extends Error {
  override readonly name = "NoOutage";
}

interface OutagePlace {
  readonly runtime: Runtime;
  readonly directory: StateDir;
  readonly session: CloudSession;
  /** Milliseconds that a host may take to come back. */
  readonly timeoutMs: number;
}

/**
 * The host fails and is fenced: its agent stands still, and it is forced down. @returns what brings it back: the agent
 * crashes, `up` starts it again, and when it has cleaned up, the host is forced up. @throws {NoOutage}
 */
export async function failHost(host: string, place: OutagePlace): Promise<() => Promise<void>> {
  const { runtime, directory, session } = place;
  if (!Object.hasOwn(await new HostSettingsStore(runtime.files, directory).read(), host)) {
    throw new NoOutage(`nobody would start the agent of ${host} again: compute-cluster up did not start it`);
  }
  const pid = await withOperatorSession("drill", place, (conductor) => agentOf(host, conductor, runtime));
  if (pid === null) {
    throw new NoOutage(`no agent of this machine holds ${host}`);
  }
  process.kill(pid, "SIGSTOP");
  try {
    await force(host, true, session);
  } catch (error) {
    process.kill(pid, "SIGCONT");
    throw error;
  }
  return async () => {
    process.kill(pid, CRASH);
    process.kill(pid, "SIGCONT");
    await withOperatorSession("drill", place, async (conductor) => {
      await until(place, `compute-cluster up did not start the agent of ${host} again`, async () => {
        const next = await agentOf(host, conductor, runtime);
        return next !== null && next !== pid;
      });
    });
    await until(place, `${host} did not clean up, and cannot be forced up`, () => forcedUp(host, session));
    await until(place, `${host} did not come up again`, async () => (await serviceOf(host, session)).state === "up");
  };
}

/** Pid of the host's agent; null: there is none here. */
async function agentOf(host: string, conductor: HostSession, { processes }: Runtime): Promise<number | null> {
  const holder = await conductor.call("host_lease_holder", { host });
  return holder?.connected && holder.machine === processes.machine ? holder.pid : null;
}

async function until({ runtime, timeoutMs }: OutagePlace, otherwise: string, holds: () => Promise<boolean>) {
  const { clock, timers } = runtime;
  const deadline = clock.monotonic() + timeoutMs;
  while (!(await holds())) {
    if (clock.monotonic() > deadline) {
      throw new Error(`${otherwise} within ${timeoutMs / 1000} s`);
    }
    await timers.sleep(PAUSE);
  }
}

/** False: it has evacuated guests that are not cleaned up yet. */
async function forcedUp(host: string, session: CloudSession): Promise<boolean> {
  try {
    await force(host, false, session);
    return true;
  } catch (error) {
    if (error instanceof Error && "status" in error && error.status === 400) {
      return false;
    }
    throw error;
  }
}

async function force(host: string, down: boolean, session: CloudSession): Promise<void> {
  const { id } = await serviceOf(host, session);
  await session.request("compute", "PUT", `/os-services/${id}`, COMPUTE_VERSION, { forced_down: down });
}

async function serviceOf(
  host: string,
  session: CloudSession,
): Promise<{ readonly id: string; readonly state: string }> {
  const path = `/os-services?binary=nova-compute&host=${host}`;
  const { services } = (await session.request("compute", "GET", path, COMPUTE_VERSION)) as {
    readonly services: readonly { readonly id: string; readonly state: string }[];
  };
  const [service] = services;
  if (service === undefined) {
    throw new Error(`the cloud has no compute service of ${host}`);
  }
  return service;
}
