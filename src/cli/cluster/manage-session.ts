import { hostname } from "node:os";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { Conductor } from "../../conductor-client/port.js";
import { readConfigSources } from "../../config/config-sources.js";
import { compileNovaConfig } from "../../config/nova-config.js";
import { DEFAULT_STATE_DIR, type StateDir, stateDir } from "../../control-plane/local/state-dir.js";
import { type ManageParts, runCommand } from "../../control-plane/manage/nova-manage.js";
import { mirrorAggregates } from "../../control-plane/manage/sync-aggregates.js";
import { placementAccess } from "../../placement-client/access/configured-access.js";
import { PlacementHttp } from "../../placement-client/placement-http.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import type { Runtime } from "../../runtime/runtime.js";
import { collectValues } from "../ui/command-line.js";
import { quietLogger } from "../ui/logging.js";
import { createTerminal } from "../ui/terminal.js";
import type { ClusterDescription } from "./file/read-cluster-file.js";
import { withOperatorSession } from "./operator-session.js";

/** Flags of all `manage` commands. */
export interface ManageFlags {
  readonly stateDir: string;
  readonly configFile: readonly string[];
  readonly verbose?: true;
}

type Work<Flags> = (parts: ManageParts, flags: Flags) => Promise<number>;

/**
 * Adds a command that runs `work` on the running cluster, and exits with the code it returns.
 * @param ending end of the help text
 */
export function commandWith<Flags extends ManageFlags>(
  parent: Command,
  name: string,
  ending: string,
  work: Work<Flags>,
): Command {
  return parent
    .command(name)
    .option("--state-dir <dir>", "the cluster's state directory", DEFAULT_STATE_DIR)
    .option(
      "--config-file <file>",
      "nova.conf: [placement], [workarounds] upstream_quirks; repeatable",
      collectValues,
      [],
    )
    .addHelpText("after", ending)
    .action(async (flags: Flags) => {
      process.exitCode = await run(flags, work);
    });
}

async function run<Flags extends ManageFlags>(flags: Flags, work: Work<Flags>): Promise<number> {
  const terminal = createTerminal();
  const runtime = createNodeRuntime({ logger: quietLogger });
  const directory = stateDir(flags.stateDir, process.cwd());
  try {
    // Without a control plane the exit code is that of compute-cluster's commands, not nova-manage's.
    return await withOperatorSession("manage", { runtime, directory }, (conductor) =>
      runCommand(terminal.print, async () =>
        work(await partsOf(flags, { runtime, conductor, stateDir: directory.root, print: terminal.print }), flags),
      ),
    );
  } finally {
    await runtime.http.close();
  }
}

interface Place {
  readonly runtime: Runtime;
  readonly conductor: Conductor;
  readonly stateDir: string;
  readonly print: (line: string) => void;
}

/** @param flags with `configFile`, which configures Placement */
async function partsOf(
  flags: Pick<ManageFlags, "configFile">,
  { runtime, conductor, stateDir: root, print }: Place,
): Promise<ManageParts> {
  const sources = await readConfigSources(runtime.files, {
    configFiles: flags.configFile.map((path) => resolve(process.cwd(), path)),
    environment: process.env,
    commandLine: [],
  });
  const { config } = compileNovaConfig(sources, { stateDir: root, hostname: hostname() });
  return {
    conductor,
    placement: new PlacementHttp({
      http: runtime.http,
      clock: runtime.clock,
      access: placementAccess(config, runtime, conductor),
      userAgent: "nova-manage",
    }),
    timers: runtime.timers,
    random: runtime.random,
    quirks: config.workarounds.upstreamQuirks,
    context: { requestId: `req-${runtime.random.uuid()}` },
    print,
  };
}

/** Adds the providers of the file's hosts to Placement's aggregates, once they exist. */
export async function mirrorInPlacement({ options }: ClusterDescription, directory: StateDir): Promise<void> {
  const { named, configFile } = options;
  if (named === undefined || named.size === 0) {
    return;
  }
  const runtime = createNodeRuntime({ logger: quietLogger });
  const place = { runtime, stateDir: directory.root, print: () => undefined };
  try {
    await withOperatorSession("up", { runtime, directory }, async (conductor) => {
      const parts = await partsOf({ configFile }, { ...place, conductor });
      await mirrorAggregates(parts, new Set(named.keys()));
    });
  } finally {
    await runtime.http.close();
  }
}
