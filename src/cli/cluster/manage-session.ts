import { hostname } from "node:os";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { Conductor } from "../../conductor-client/port.js";
import { readConfigSources } from "../../config/config-sources.js";
import { compileNovaConfig } from "../../config/nova-config.js";
import type { StateDir } from "../../control-plane/local/state-dir.js";
import { type ManageParts, runCommand } from "../../control-plane/manage/nova-manage.js";
import { mirrorAggregates } from "../../control-plane/manage/sync-aggregates.js";
import { placementAccess } from "../../placement-client/access/configured-access.js";
import { PlacementHttp } from "../../placement-client/placement-http.js";
import type { Runtime } from "../../runtime/runtime.js";
import { collect } from "../ui/command-line.js";
import { inCluster, withRuntime, withStateDir } from "./cluster-command.js";
import type { ClusterDescription } from "./file/read-cluster-file.js";
import { withOperatorSession } from "./operator-session.js";

/** Flags of all `manage` commands. */
export interface ManageFlags {
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
  return withStateDir(parent.command(name))
    .option(
      "--config-file <file>",
      "nova.conf file, for [placement] and [workarounds] upstream_quirks; repeatable",
      collect,
      [],
    )
    .addHelpText("after", ending)
    .action(
      inCluster(({ directory, runtime, terminal: { print } }, flags: Flags) =>
        // Without a control plane the exit code is that of compute-cluster's commands, not nova-manage's.
        withOperatorSession("manage", { runtime, directory }, (conductor) =>
          runCommand(print, async () =>
            work(await partsOf(flags, { runtime, conductor, stateDir: directory.root, print }), flags),
          ),
        ),
      ),
    );
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
  await withRuntime((runtime) =>
    withOperatorSession("up", { runtime, directory }, async (conductor) => {
      const place = { runtime, conductor, stateDir: directory.root, print: () => undefined };
      await mirrorAggregates(await partsOf({ configFile }, place), new Set(named.keys()));
    }),
  );
}
