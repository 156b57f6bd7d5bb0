import { fileURLToPath } from "node:url";
import { Command, InvalidArgumentError } from "commander";
import { DEFAULT_STATE_DIR, stateDir } from "../../cluster/local/state-dir.js";
import { Supervisor } from "../../cluster/local/supervisor.js";
import { ensureUsable } from "../../cluster/local/usable-state-dir.js";
import { isRelease, RELEASE_NAMES, RELEASES, type Release } from "../../records/index.js";
import { nodeChildren } from "../../runtime/node/node-children.js";
import { nodeClock } from "../../runtime/node/node-clock.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { nodeTimers } from "../../runtime/node/node-timers.js";
import { ExitCode } from "../ui/exit-code.js";
import { interruptSignal } from "../ui/interrupt-signal.js";
import { portNumber } from "../ui/port-number.js";
import { StatusLines } from "../ui/status-lines.js";
import { createTerminal, type Terminal } from "../ui/terminal.js";
import { checkAgents } from "./check-agents.js";
import { linkCloudsFile } from "./link-clouds-file.js";
import { nodeCount } from "./node-count.js";
import { serviceDeletePolicy } from "./service-delete-policy.js";
import { agentArguments, hostsOf, IRONIC_HOST, type UpOptions, upChildren } from "./up-children.js";
import { welcome } from "./welcome.js";

export function upCommand(): Command {
  return new Command("up")
    .summary("start a control plane and agents devstack1..N, and keep them running until Ctrl-C")
    .description(
      "Starts Placement, the Compute API, Identity, Image, Ironic and the conductor in one process on the loopback interface, and " +
        "N agents as processes of their own. What they know survives in the state directory; starting again goes on from there.",
    )
    .option("--hosts <n>", "number of agents", count, 3)
    .option("--state-dir <dir>", "where everything is kept", DEFAULT_STATE_DIR)
    .option(
      "--port <n>",
      "port of the control plane (default: the one it had before, else 8774; 0: any free one)",
      portNumber,
    )
    .option("--driver <name>", "virt driver of the agents: built-in name, npm package or path; its calls are traced")
    .option("--config-file <file>", "nova.conf for all of them; repeatable", collect, [])
    .option("--releases <names>", `one agent of each, started oldest first: ${RELEASE_NAMES.join(", ")}`, releases)
    .option("--allow-resize-to-same-host", "a resize may stay on its host")
    .option("--reclaim-instance-interval <seconds>", "deleted servers can be restored for this long (default: 0)")
    .addOption(serviceDeletePolicy())
    .option(
      "--ironic <nodes>",
      `so many emulated bare-metal nodes, and agent ${IRONIC_HOST} that manages them`,
      nodeCount,
      0,
    )
    .action(async (options: UpOptions) => {
      process.exitCode = await up(options, createTerminal());
    });
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

function count(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 200) {
    throw new InvalidArgumentError("expected 0 to 200.");
  }
  return value;
}

function releases(text: string): readonly Release[] {
  const names = text.split(",").map((name) => name.trim());
  const wrong = names.find((name) => !isRelease(name));
  if (wrong !== undefined) {
    throw new InvalidArgumentError(`${wrong} is none of ${RELEASE_NAMES.join(", ")}.`);
  }
  return names.filter(isRelease).toSorted((left, right) => RELEASES[left] - RELEASES[right]);
}

const program = (name: string): string => fileURLToPath(new URL(`../${name}.js`, import.meta.url));

/** Starts everything, and waits until it is to end. @returns the exit code */
async function up(options: UpOptions, terminal: Terminal): Promise<number> {
  // The second Ctrl-C ends this process at once, and with it its children.
  const interrupt = interruptSignal();
  const told = new Promise<"told">((resolve) => interrupt.addEventListener("abort", () => resolve("told")));
  const directory = stateDir(options.stateDir, process.cwd());
  await ensureUsable(new NodeFiles(), directory);
  const warnings = await checkAgents(["--state-dir", directory.root, ...agentArguments(options)]);
  for (const warning of warnings) {
    terminal.complain(`compute-cluster: warning: ${warning}`);
  }
  if (interrupt.aborted) {
    return ExitCode.ok;
  }
  const lines = new StatusLines(terminal);
  const supervisor = new Supervisor({
    ...upChildren(options, directory),
    directory,
    programs: { cluster: program("compute-cluster"), agent: program("compute-agent") },
    onStatus: (status) => lines.update(status),
    children: nodeChildren(),
    timers: nodeTimers(),
    clock: nodeClock(),
  });
  const running = supervisor.start().then(async () => {
    if (supervisor.isStopping || supervisor.url === undefined) {
      return;
    }
    // A cluster that is kept elsewhere leaves the working directory alone.
    const here = options.stateDir === DEFAULT_STATE_DIR && (await linkCloudsFile(process.cwd(), directory.cloudsFile));
    const missing = supervisor.statuses.filter(({ state }) => state !== "ready");
    const hosts = hostsOf(options).length;
    lines.pause();
    terminal.print(
      welcome({ url: supervisor.url, given: options.stateDir, directory, here, hosts, missing }, terminal),
    );
  });
  try {
    // A start that fails ends the wait; one that succeeds does not.
    const end = await Promise.race([told, supervisor.controlPlaneEnded(), running.then(() => told)]);
    if (end === "told") {
      return ExitCode.ok;
    }
    terminal.complain(`compute-cluster: the control plane has ended: ${end.detail}`);
    return end.exitCode ?? ExitCode.failure;
  } finally {
    await supervisor.stop();
    await running.catch(() => undefined);
  }
}
