import { Command } from "commander";
import { startControlPlane } from "../../cluster/control-plane.js";
import { DEFAULT_STATE_DIR, readClusterInfo, stateDir } from "../../cluster/local/state-dir.js";
import { finishInterruptedRestore } from "../../cluster/snapshot/restore.js";
import { nodeDigests } from "../../runtime/node/node-digests.js";
import { nodeKeys } from "../../runtime/node/node-keys.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import { LazyWindow } from "../../window/lazy-window.js";
import { createLogger } from "../ui/create-logger.js";
import { leaveParent, tellParent } from "../ui/parent.js";
import { portNumber } from "../ui/port-number.js";
import { createTerminal } from "../ui/terminal.js";
import { untilTold } from "../ui/until-told.js";
import { type ControlPlaneFlags, controlPlaneConfig } from "./control-plane-config.js";
import { type ListenFlags, listenOptions, outsideDoor } from "./listen.js";
import { logOptions } from "./logs/log-options.js";
import { nodeCount } from "./node-count.js";
import { parentSupervisor } from "./parent-supervisor.js";
import { serviceDeletePolicy } from "./service-delete-policy.js";

const DEFAULT_PORT = 8774;

/** @param action what is done with the options: the cluster in a test's own process is started with the same */
export function controlPlaneCommand(action: (options: ControlPlaneCommandOptions) => Promise<void> = serve): Command {
  return new Command("control-plane")
    .summary("only the control plane, in the foreground (what `up` starts as a child)")
    .option("--state-dir <dir>", "where everything is kept", DEFAULT_STATE_DIR)
    .option("--port <n>", "default: the one it had before, else 8774; 0: any free one", portNumber)
    .option("--config-file <file>", "nova.conf; repeatable, later ones win, and flags over all", collect, [])
    .option("--service-down-time <seconds>", "without a heartbeat for this long a service is down (default: 60)")
    .option("--allow-resize-to-same-host", "a resize may stay on its host")
    .option("--reclaim-instance-interval <seconds>", "deleted servers can be restored for this long (default: 0)")
    .option("--ironic <nodes>", "the embedded Ironic has at least so many nodes", nodeCount, 0)
    .option("--disable-compute-service-check-for-ffu", "start although agents are of older releases")
    .addOption(serviceDeletePolicy())
    .addOption(listenOptions.listen())
    .addOption(listenOptions.withoutTls())
    .addOption(logOptions.requests())
    .addOption(logOptions.format("of the log on standard error").default("pretty"))
    .action(action);
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

export interface ControlPlaneCommandOptions extends ControlPlaneFlags, ListenFlags {
  readonly stateDir: string;
  readonly port?: number;
  readonly ironic: number;
  readonly logFormat: "pretty" | "json";
  readonly logRequests?: true;
}

async function serve(options: ControlPlaneCommandOptions): Promise<void> {
  const runtime = createNodeRuntime({ logger: createLogger({ format: options.logFormat }) });
  const directory = stateDir(options.stateDir, process.cwd());
  await finishInterruptedRestore(directory, runtime.files);
  const before = await readClusterInfo(runtime.files, directory);
  const config = await controlPlaneConfig(options, {
    runtime,
    cwd: process.cwd(),
    stateDir: directory.root,
  });
  const outside = await outsideDoor(options, directory, runtime, before?.outside);
  const told = untilTold();
  const supervisor = parentSupervisor();
  let window: LazyWindow | undefined;
  tellParent({ type: "component", state: "starting", detail: "" });
  const controlPlane = await startControlPlane({
    runtime,
    digests: nodeDigests,
    keys: nodeKeys,
    directory,
    port: options.port ?? portOf(before?.url) ?? DEFAULT_PORT,
    ironicNodes: options.ironic,
    ...(outside && { outside }),
    ...config,
    logRequests: options.logRequests === true,
    onHolder: (host, pid) => {
      tellParent({ type: "host", host, pid });
      window?.look(host);
    },
    extend: (inside) => {
      const load = async () => (await import("./window/cluster-window.js")).clusterWindow(inside, runtime, directory);
      window = new LazyWindow(load);
      return window;
    },
    ...(supervisor === undefined ? {} : { supervisor }),
  });
  const { url, outsideUrl } = controlPlane;
  const where = outsideUrl === undefined ? url : `${url} and ${outsideUrl}`;
  createTerminal().print(`listening on ${where}`);
  tellParent({ type: "component", state: "ready", detail: where, url });
  await told;
  await controlPlane.stop();
  await runtime.http.close();
  leaveParent();
}

function portOf(url: string | undefined): number | undefined {
  const found = url === undefined ? "" : new URL(url).port;
  return found === "" ? undefined : Number(found);
}
