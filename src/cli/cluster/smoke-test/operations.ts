import type { HostSession } from "../../../conductor-client/port.js";
import type { CloudSession } from "../../../control-plane/local/cloud-session.js";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { COMPUTE_VERSION, changeService, computeServices, hasStatus, type ServiceView } from "../compute-services.js";
import { HostSettingsStore } from "../host-settings.js";
import { withOperatorSession } from "../operator-session.js";

/** Entities of the cloud that the smoke test uses. */
export interface SmokeTestResources {
  readonly image: string;
  /** The flavor of new servers. */
  readonly flavor: string;
  /** The flavor for resizes. */
  readonly largerFlavor: string;
}

/** One operation of the Compute API on one server, with the expected result. */
export interface SmokeTestOperation {
  readonly name: string;
  /**
   * Body of `POST /servers/{id}/action`. `create` and `delete` are separate requests, `abort` aborts a running live
   * migration, and `evacuate` also takes the server's host down and brings it back.
   */
  readonly action:
    | ((places: SmokeTestResources) => Readonly<Record<string, unknown>>)
    | "create"
    | "delete"
    | "abort"
    | "evacuate";
  /** The server's expected status, once its task state is null. */
  readonly status: string;
  /** The status that the operation requires; a server in another status is created again. */
  readonly from: string;
  /** Requires a second host. */
  readonly hosts?: 2;
  /** Whether the server must be on another host afterwards. */
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

/** The action that live-migrates a server to any host. */
export const LIVE = { "os-migrateLive": { host: null, block_migration: "auto" } };

/** The operations, ordered so that each finds the server in the required status. */
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

/** The result of an operation. */
export interface SmokeTestOutcome {
  readonly outcome: "ok" | "unsupported" | "failed" | "skipped";
  /** The reason if the outcome is not ok. */
  readonly reason: string;
}

/** The result of one operation, with its driver calls. */
export interface SmokeTestResult extends SmokeTestOutcome {
  readonly operation: string;
  readonly milliseconds: number;
  readonly calls: string;
}

interface MigrationView {
  readonly id: number;
  readonly status: string;
}

/**
 * Requests the abort of the server's live migration once, if it is running.
 * @returns false: no migration is running
 * @throws {CloudRequestFailed}
 */
export async function abortIfRunning(session: CloudSession, server: string): Promise<boolean> {
  const path = `/servers/${server}/migrations`;
  const { migrations } = (await session.request("compute", "GET", path, COMPUTE_VERSION)) as {
    readonly migrations: readonly MigrationView[];
  };
  const running = migrations.find(({ status }) => status === "running");
  if (running === undefined) {
    return false;
  }
  try {
    await session.request("compute", "DELETE", `${path}/${running.id}`, COMPUTE_VERSION);
  } catch (error) {
    // The migration ended in between; its status has the result.
    if (!hasStatus(error, 400, 404)) {
      throw error;
    }
  }
  return true;
}

/** Statuses of a migration that has not ended. */
const UNDER_WAY: readonly string[] = ["queued", "accepted", "preparing", "running", "post-migrating"];

/**
 * Determines the result of an aborted live migration once the server's task state is null; the migration's status follows
 * slightly later.
 * @param failure of the abort; null: it did not fail
 * @returns undefined: the migration has not ended
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
  const { migrations } = (await session.request("compute", "GET", path, COMPUTE_VERSION)) as {
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
      return { outcome: "skipped", reason: "the migration ended before it could be aborted" };
    default:
      return failure ?? { outcome: "failed", reason: `the migration is ${newest}, expected cancelled` };
  }
}

/** Milliseconds between two polls of a host. */
const PAUSE = 200;

/** Ends a program like a crash, after which `up` restarts it; a killed or terminated one stays down. */
const CRASH = "SIGUSR2";

interface OutagePlace {
  readonly runtime: Runtime;
  readonly directory: StateDir;
  readonly session: CloudSession;
  /** Timeout for the return of a host, in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Makes a host fail and fences it: suspends its agent, and forces its service down.
 * @returns a function that brings it back: it crashes the agent, `up` restarts it, and after its cleanup the service is
 * forced up. If nothing would restart its agent, the host does not fail, and the result is the reason
 */
export async function failHost(host: string, place: OutagePlace): Promise<(() => Promise<void>) | string> {
  const { runtime, directory, session } = place;
  if (!Object.hasOwn(await new HostSettingsStore(runtime.files, directory).read(), host)) {
    return `the agent of ${host} would not be restarted: compute-agent up did not start it`;
  }
  const pid = await withOperatorSession("drill", place, (conductor) => agentOf(host, conductor, runtime));
  if (pid === null) {
    return `no agent on this machine has the lease of ${host}`;
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
      await until(place, `compute-agent up did not restart the agent of ${host}`, async () => {
        const next = await agentOf(host, conductor, runtime);
        return next !== null && next !== pid;
      });
    });
    await until(place, `${host} did not clean up evacuated guests, and cannot be forced up`, () =>
      forcedUp(host, session),
    );
    await until(place, `${host} did not come up again`, async () => (await serviceOf(host, session)).state === "up");
  };
}

/** Returns the pid of the host's agent; null if there is none on this machine. */
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

/** Returns false if the host still has evacuated guests to clean up. */
async function forcedUp(host: string, session: CloudSession): Promise<boolean> {
  try {
    await force(host, false, session);
    return true;
  } catch (error) {
    if (hasStatus(error, 400)) {
      return false;
    }
    throw error;
  }
}

async function force(host: string, down: boolean, session: CloudSession): Promise<void> {
  const { id } = await serviceOf(host, session);
  await changeService(session, id, { forced_down: down });
}

async function serviceOf(host: string, session: CloudSession): Promise<ServiceView> {
  const [service] = await computeServices(session, host);
  if (service === undefined) {
    throw new Error(`the cloud has no compute service of ${host}`);
  }
  return service;
}
