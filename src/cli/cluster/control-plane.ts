import { Command } from "commander";
import type { HostProcess } from "../../conductor-client/methods/session.js";
import type { HostSupervisor } from "../../control-plane/conductor/host-controls.js";
import { startControlPlane } from "../../control-plane/control-plane.js";
import { type RetainedTokens, tokensOf } from "../../control-plane/identity/tokens/token-store.js";
import {
  type HostCommand,
  type HostCommandReply,
  type HostHolder,
  isMessage,
} from "../../control-plane/local/reports.js";
import { DEFAULT_STATE_DIR, readClusterInfo, stateDir } from "../../control-plane/local/state-dir.js";
import { finishInterruptedRestore } from "../../control-plane/snapshot/restore.js";
import { LazyDashboard } from "../../dashboard/lazy-dashboard.js";
import { RequestRing } from "../../dashboard/request-ring.js";
import { createKillableRuntime } from "../../runtime/killable-runtime.js";
import { Lifetime } from "../../runtime/lifetime.js";
import { nodeDigests, nodeKeys } from "../../runtime/node/node-cryptography.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import { Batcher } from "../../runtime/task-queue.js";
import { collect, parsedOptions, portNumber } from "../ui/command-line.js";
import { createLogger } from "../ui/create-logger.js";
import { leaveParent, notifyParent, onParentMessage, runWorkLoop, waitForShutdown } from "../ui/process-lifecycle.js";
import { createTerminal } from "../ui/terminal.js";
import { type ControlPlaneFlags, controlPlaneConfig } from "./control-plane-config.js";
import { type ListenFlags, listenOptions, resolveExternalListener } from "./listen.js";
import { logOptions, nodeCount, serviceDeletePolicy } from "./start-options.js";

interface Question {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

const DEFAULT_PORT = 8774;

/**
 * Milliseconds within which connecting and disconnecting agents are batched for the parent; thousands connect when a pool
 * starts.
 */
const HOLDERS_EVERY = 50;

/** @param action receives the options; a cluster within a test process is started with the same options */
export function controlPlaneCommand(action: (options: ControlPlaneCommandOptions) => Promise<void> = serve): Command {
  return new Command("control-plane")
    .summary("Run only the control plane, in the foreground")
    .description("Runs only the control plane, in the foreground. `up` starts it as a child process.")
    .option("--state-dir <dir>", "state directory of the cluster", DEFAULT_STATE_DIR)
    .option(
      "--port <n>",
      "port of the control plane (default: the previous port, otherwise 8774; 0: any free port)",
      portNumber,
    )
    .option(
      "--config-file <file>",
      "nova.conf file; repeatable, later files override earlier ones, flags override all",
      collect,
      [],
    )
    .option(
      "--service-down-time <seconds>",
      "time in seconds without a heartbeat after which a service is down (default: 60)",
    )
    .option("--allow-resize-to-same-host", "allow resizes to the same host")
    .option(
      "--reclaim-instance-interval <seconds>",
      "time in seconds during which deleted servers can be restored (default: 0)",
    )
    .option("--ironic <nodes>", "minimum number of nodes of the embedded Ironic", nodeCount, 0)
    .option("--disable-compute-service-check-for-ffu", "start although agents have older releases")
    .addOption(serviceDeletePolicy())
    .addOption(listenOptions.listen())
    .addOption(listenOptions.withoutTls())
    .addOption(logOptions.requests())
    .addOption(logOptions.format("format of the log on standard error").default("pretty"))
    .action(action);
}

export interface ControlPlaneCommandOptions extends ControlPlaneFlags, ListenFlags {
  readonly stateDir: string;
  readonly port?: number;
  readonly ironic: number;
  readonly logFormat: "pretty" | "json";
  readonly logRequests?: true;
}

async function serve(options: ControlPlaneCommandOptions): Promise<void> {
  let tokens: RetainedTokens | undefined;
  await runWorkLoop(options, {
    // The first argument is the name of the command.
    parse: (args) => parsedOptions(controlPlaneCommand, args.slice(1)),
    live: async (runOptions, rest) => {
      tokens = await serveOnce(runOptions, rest, tokens);
    },
  });
  leaveParent();
}

/**
 * Serves until it is stopped.
 * @param rest ends it as `kill -9` would
 * @param before tokens that stay valid
 * @returns the tokens that were valid
 */
async function serveOnce(
  options: ControlPlaneCommandOptions,
  rest: AbortSignal,
  before: RetainedTokens | undefined,
): Promise<RetainedTokens | undefined> {
  const lifetime = new Lifetime();
  const nodeRuntime = createNodeRuntime({ logger: createLogger({ format: options.logFormat }) });
  const runtime = createKillableRuntime(nodeRuntime, lifetime);
  const directory = stateDir(options.stateDir, process.cwd());
  await finishInterruptedRestore(directory, runtime.files);
  const info = await readClusterInfo(runtime.files, directory);
  const config = await controlPlaneConfig(options, {
    runtime,
    cwd: process.cwd(),
    stateDir: directory.root,
  });
  const externalListener = await resolveExternalListener(options, directory, runtime, info?.externalUrl);
  const stopRequested = waitForShutdown(rest);
  const reportHolders = (held: readonly HostHolder[]) => notifyParent({ type: "holders", holders: held });
  const holders = new Batcher(runtime.timers, HOLDERS_EVERY, reportHolders);
  // `up` decides by a host's current holder what to do with it, so it must be notified first.
  const supervisor = parentSupervisor(rest, () => holders.flush());
  let dashboard: LazyDashboard | undefined;
  notifyParent({ type: "component", state: "starting", detail: "" });
  const controlPlane = await startControlPlane({
    runtime,
    digests: nodeDigests,
    keys: nodeKeys,
    directory,
    port: options.port ?? portOf(info?.url) ?? DEFAULT_PORT,
    ironicNodes: options.ironic,
    ...(externalListener && { externalListener }),
    ...config,
    logRequests: options.logRequests === true,
    onHolder: (host, pid) => {
      holders.add({ host, pid });
      dashboard?.look(host);
    },
    extend: (inside) => {
      const requests = new RequestRing({ inside, runtime });
      const load = async () =>
        (await import("./dashboard/cluster-dashboard.js")).clusterDashboard(inside, requests, runtime, directory);
      dashboard = new LazyDashboard(requests, load);
      return dashboard;
    },
    ...(supervisor === undefined ? {} : { supervisor }),
  });
  const { url, externalUrl, store } = controlPlane;
  before?.putInto(store.database);
  const where = externalUrl === undefined ? url : `${url} and ${externalUrl}`;
  createTerminal().print(`listening on ${where}`);
  notifyParent({ type: "component", state: "ready", detail: where, url });
  await stopRequested;
  const tokens = rest.aborted ? tokensOf(store.database) : undefined;
  if (rest.aborted) {
    lifetime.kill();
    await controlPlane.cut();
    await lifetime.quiet();
  } else {
    await controlPlane.stop();
  }
  await nodeRuntime.http.close();
  return tokens;
}

function portOf(url: string | undefined): number | undefined {
  const found = url === undefined ? "" : new URL(url).port;
  return found === "" ? undefined : Number(found);
}

/**
 * Returns a client of the parent `compute-agent up`; undefined if this process has no such parent.
 * @param unless aborted when replies are no longer processed
 * @param before called before each request, to send pending notifications
 */
function parentSupervisor(unless: AbortSignal, before: () => void): HostSupervisor | undefined {
  const questions = new Map<number, Question>();
  let last = 0;
  const ask = (
    command: HostCommand["command"],
    subject: string,
    more: Pick<HostCommand, "startHosts"> = {},
  ): Promise<unknown> =>
    new Promise((resolve, reject) => {
      last += 1;
      questions.set(last, { resolve, reject });
      before();
      notifyParent({ type: "host-command", id: last, command, subject, ...more });
    });
  const forget = onParentMessage((message) => {
    if (isMessage(message, "host-answer")) {
      settle(questions, message);
    }
  });
  unless.addEventListener("abort", () => forget?.());
  return forget
    ? {
        list: async () => (await ask("list", "")) as readonly HostProcess[],
        find: async (host) => (await ask("find", host)) as HostProcess | null,
        control: async (host, action) => (await ask(action, host)) as Awaited<ReturnType<HostSupervisor["control"]>>,
        add: async (addition) => (await ask("add", addition)) as readonly string[],
        forget: async (host) => void (await ask("forget", host)),
        restore: async (snapshot, startHosts) =>
          (await ask("restore", snapshot ?? "", startHosts ? { startHosts } : {})) as number,
        stop: async () => (await ask("down", "")) as number,
      }
    : undefined;
}

function settle(questions: Map<number, Question>, { id, result, error }: HostCommandReply): void {
  const question = questions.get(id);
  questions.delete(id);
  if (error === undefined) {
    question?.resolve(result);
  } else {
    question?.reject(new Error(error));
  }
}
