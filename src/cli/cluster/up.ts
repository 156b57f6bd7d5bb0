import { fileURLToPath } from "node:url";
import { Command, InvalidArgumentError } from "commander";
import { quoted } from "../../cluster/identity/openrc.js";
import { DEFAULT_STATE_DIR, type StateDir, stateDir } from "../../cluster/local/state-dir.js";
import { Supervisor } from "../../cluster/local/supervisor.js";
import { isRelease, RELEASE_NAMES, RELEASES, type Release } from "../../conductor/records/index.js";
import { nodeChildren } from "../../runtime/node/node-children.js";
import { nodeClock } from "../../runtime/node/node-clock.js";
import { nodeTimers } from "../../runtime/node/node-timers.js";
import { ExitCode } from "../ui/exit-code.js";
import { StatusLines } from "../ui/status-lines.js";
import { createTerminal, type Terminal } from "../ui/terminal.js";
import { linkCloudsFile } from "./link-clouds-file.js";
import { nodeCount } from "./node-count.js";

interface UpOptions {
  readonly hosts: number;
  readonly stateDir: string;
  readonly port?: string;
  readonly configFile: readonly string[];
  readonly releases?: readonly Release[];
  readonly allowResizeToSameHost?: true;
  readonly reclaimInstanceInterval?: string;
  readonly ironic: number;
  readonly driver?: string;
}

/** The agent of the embedded Ironic's nodes. */
const IRONIC_HOST = "ironic1";

export const upCommand = (): Command =>
  new Command("up")
    .summary("start a control plane and agents devstack1..N, and keep them running until Ctrl-C")
    .description(
      "Starts Placement, the Compute API, Identity, Image, Ironic and the conductor in one process on the loopback interface, and " +
        "N agents as processes of their own. What they know survives in the state directory; starting again goes on from there.",
    )
    .option("--hosts <n>", "number of agents", count, 3)
    .option("--state-dir <dir>", "where everything is kept", DEFAULT_STATE_DIR)
    .option("--port <n>", "port of the control plane (default: the one it had before, else 8774; 0: any free one)")
    .option("--driver <name>", "virt driver of the agents: built-in name, npm package or path; its calls are traced")
    .option("--config-file <file>", "nova.conf for all of them; repeatable", collect, [])
    .option("--releases <names>", `one agent of each, started oldest first: ${RELEASE_NAMES.join(", ")}`, releases)
    .option("--allow-resize-to-same-host", "a resize may stay on its host")
    .option("--reclaim-instance-interval <seconds>", "deleted servers can be restored for this long (default: 0)")
    .option(
      "--ironic <nodes>",
      `so many emulated bare-metal nodes, and agent ${IRONIC_HOST} that manages them`,
      nodeCount,
      0,
    )
    .action(async (options: UpOptions) => {
      process.exitCode = await up(options, createTerminal());
    });

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

function count(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 200) throw new InvalidArgumentError("expected 0 to 200.");
  return value;
}

function releases(text: string): readonly Release[] {
  const names = text.split(",").map((name) => name.trim());
  const wrong = names.find((name) => !isRelease(name));
  if (wrong !== undefined) throw new InvalidArgumentError(`${wrong} is none of ${RELEASE_NAMES.join(", ")}.`);
  return names.filter(isRelease).toSorted((left, right) => RELEASES[left] - RELEASES[right]);
}

/** A deployment of several releases, which newer agents refuse unless they are told that it is meant (spec 1.2). */
const MIXED = ["-o", "workarounds.disable_compute_service_check_for_ffu=true"];

const program = (name: string): string => fileURLToPath(new URL(`../${name}.js`, import.meta.url));

const up = async (options: UpOptions, terminal: Terminal): Promise<number> => {
  const directory = stateDir(options.stateDir, process.cwd());
  const lines = new StatusLines(terminal);
  const mixed = options.releases;
  const hosts = Array.from({ length: mixed?.length ?? options.hosts }, (_, index) => `devstack${index + 1}`);
  const { allowResizeToSameHost: sameHost, reclaimInstanceInterval: reclaim } = options;
  const configFiles = options.configFile.flatMap((file) => ["--config-file", file]);
  const supervisor = new Supervisor({
    directory,
    hosts: [...hosts, ...(options.ironic > 0 ? [IRONIC_HOST] : [])],
    inOrder: mixed !== undefined,
    hostArgs: new Map<string, readonly string[]>([
      ...(mixed ?? []).map((release, index): [string, readonly string[]] => [
        hosts[index] ?? "",
        ["--release", release, ...MIXED],
      ]),
      [IRONIC_HOST, ["--config-file", directory.ironicConfig, ...(mixed ? MIXED : [])]],
    ]),
    programs: { cluster: program("compute-cluster"), agent: program("compute-agent") },
    agentArgs: [
      ...configFiles,
      ...(options.driver === undefined ? [] : ["--compute-driver", options.driver, "--trace-driver"]),
      ...(sameHost ? ["-o", "allow_resize_to_same_host=true"] : []),
      ...(reclaim === undefined ? [] : ["-o", `reclaim_instance_interval=${reclaim}`]),
    ],
    controlPlaneArgs: [
      ...configFiles,
      ...(options.port === undefined ? [] : ["--port", options.port]),
      ...(sameHost ? ["--allow-resize-to-same-host"] : []),
      ...(mixed === undefined ? [] : ["--disable-compute-service-check-for-ffu"]),
      ...(reclaim === undefined ? [] : ["--reclaim-instance-interval", reclaim]),
      ...(options.ironic > 0 ? ["--ironic", String(options.ironic)] : []),
    ],
    onStatus: (status) => lines.update(status),
    children: nodeChildren(),
    timers: nodeTimers(),
    clock: nodeClock(),
  });

  let asked = 0;
  const told = new Promise<void>((resolve) => {
    const stop = () => {
      asked += 1;
      // The second time the person means it: children end themselves when their parent is gone.
      if (asked > 1) process.exit(ExitCode.failure);
      resolve();
    };
    process.on("SIGINT", stop);
    process.on("SIGTERM", stop);
  });

  const ready = supervisor.start().then(async (complete) => {
    if (asked === 0 && supervisor.url !== undefined) {
      // A cluster that is kept elsewhere leaves the working directory alone.
      const here =
        options.stateDir === DEFAULT_STATE_DIR && (await linkCloudsFile(process.cwd(), directory.cloudsFile));
      lines.pause();
      terminal.print(
        welcome(supervisor.url, options.stateDir, directory, { complete, here, hosts: hosts.length }, terminal),
      );
    }
  });
  const failure = supervisor.controlPlaneEnded().then((status) => (asked === 0 ? status.detail : undefined));
  const reason = await Promise.race([told, failure]);
  await supervisor.stop();
  await ready;
  if (typeof reason !== "string") return ExitCode.ok;
  terminal.complain(`compute-cluster: the control plane has ended: ${reason}`);
  return ExitCode.failure;
};

const welcome = (
  url: string,
  given: string,
  directory: StateDir,
  { complete, here, hosts }: { readonly complete: boolean; readonly here: boolean; readonly hosts: number },
  terminal: Terminal,
): string => {
  const { bold } = terminal.colors;
  const where = given === DEFAULT_STATE_DIR ? "" : ` --state-dir ${given}`;
  return [
    "",
    `${bold("Identity")}   ${url}/identity/v3`,
    `${bold("Compute")}    ${url}/compute/v2.1`,
    `${bold("Placement")}  ${url}/placement`,
    `${bold("Image")}      ${url}/image`,
    `${bold("Ironic")}     ${url}/baremetal`,
    "",
    ...(here
      ? ["Point a client at it (in this folder; elsewhere by `compute-cluster env`):", "  export OS_CLOUD=devstack"]
      : ["Point a client at it:", `  export OS_CLIENT_CONFIG_FILE=${quoted(directory.cloudsFile)} OS_CLOUD=devstack`]),
    "  openstack --os-compute-api-version 2.37 server create --flavor m1.tiny --image cirros --nic none --wait vm1",
    "",
    `Another host:   npx compute-agent --host devstack${hosts + 1}${where}`,
    `What is where:  npx compute-cluster status${where}`,
    ...(complete ? [] : ["", `Not everything is up; the logs are in ${directory.logs}.`]),
    "Ctrl-C stops all of it.",
  ].join("\n");
};
