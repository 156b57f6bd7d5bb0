import { Command, Option } from "commander";
import { SERVICE_DELETE_POLICIES } from "../../cluster/conductor/service-delete.js";
import { startControlPlane } from "../../cluster/control-plane.js";
import { DEFAULT_STATE_DIR, readClusterInfo, stateDir } from "../../cluster/local/state-dir.js";
import { nodeDigests } from "../../runtime/node/node-digests.js";
import { createNodeLogger } from "../../runtime/node/node-logger.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import { reportComponent } from "../ui/component-report.js";
import { createTerminal } from "../ui/terminal.js";
import { untilTold } from "../ui/until-told.js";
import { type ControlPlaneFlags, controlPlaneConfig } from "./control-plane-config.js";
import { nodeCount } from "./node-count.js";

const DEFAULT_PORT = 8774;

export const controlPlaneCommand = (): Command =>
  new Command("control-plane")
    .summary("only the control plane, in the foreground (what `up` starts as a child)")
    .option("--state-dir <dir>", "where everything is kept", DEFAULT_STATE_DIR)
    .option("--port <n>", "default: the one it had before, else 8774; 0: any free one")
    .option("--config-file <file>", "nova.conf; repeatable, later ones win, and flags over all", collect, [])
    .option("--service-down-time <seconds>", "without a heartbeat for this long a service is down (default: 60)")
    .option("--allow-resize-to-same-host", "a resize may stay on its host")
    .option("--reclaim-instance-interval <seconds>", "deleted servers can be restored for this long (default: 0)")
    .option("--ironic <nodes>", "the embedded Ironic has at least so many nodes", nodeCount, 0)
    .option("--disable-compute-service-check-for-ffu", "start although agents are of older releases")
    .addOption(
      new Option(
        "--service-delete-policy <policy>",
        "when allocations would keep a deleted service's provider (default: strict)",
      ).choices(SERVICE_DELETE_POLICIES),
    )
    .option("--log-format <format>", "pretty or json", "pretty")
    .action(serve);

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

interface ControlPlaneCommandOptions extends ControlPlaneFlags {
  readonly stateDir: string;
  readonly port?: string;
  readonly ironic: number;
  readonly logFormat: string;
}

async function serve(options: ControlPlaneCommandOptions): Promise<void> {
  const format = options.logFormat === "json" ? "json" : "pretty";
  const runtime = createNodeRuntime({ logger: createNodeLogger({ format }) });
  const directory = stateDir(options.stateDir, process.cwd());
  const before = await readClusterInfo(runtime.files, directory);
  const config = await controlPlaneConfig(options, {
    runtime,
    cwd: process.cwd(),
    stateDir: directory.root,
  });
  const told = untilTold();
  reportComponent({ type: "component", state: "starting", detail: "" });
  const controlPlane = await startControlPlane({
    runtime,
    digests: nodeDigests,
    directory,
    port: port(options.port) ?? portOf(before?.url) ?? DEFAULT_PORT,
    ironicNodes: options.ironic,
    ...config,
  }).catch((error: Error) => {
    reportComponent({ type: "component", state: "failed", detail: error.message });
    throw error;
  });
  createTerminal().print(`listening on ${controlPlane.url}`);
  reportComponent({ type: "component", state: "ready", detail: controlPlane.url, url: controlPlane.url });
  await told;
  await controlPlane.stop();
  // The parent's channel would keep this process alive.
  if (process.connected) process.disconnect();
}

const port = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 65_535) throw new Error(`--port ${text}: expected 0 to 65535`);
  return value;
};

const portOf = (url: string | undefined): number | undefined => {
  const found = url === undefined ? "" : new URL(url).port;
  return found === "" ? undefined : Number(found);
};
