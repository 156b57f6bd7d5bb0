import { Command } from "commander";
import { withName } from "./cluster/place.js";
import { version } from "./ui/command-line.js";
import { HELP_FORMAT } from "./ui/help-format.js";
import { withSuggestions } from "./ui/suggestions.js";

type Load = () => Promise<Command>;

/** Subcommands of both programs, by their group in the help. Each one's module is loaded only when needed. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  Cluster: {
    up: async () => (await import("./cluster/up.js")).upCommand(),
    down: async () => (await import("./cluster/down.js")).downCommand(),
    exec: async () => (await import("./cluster/exec.js")).execCommand(),
    wait: async () => (await import("./cluster/wait/wait-command.js")).waitCommand(),
    env: async () => (await import("./cluster/env.js")).envCommand(),
    list: async () => (await import("./cluster/list.js")).listCommand(),
    delete: async () => (await import("./cluster/delete.js")).deleteCommand(),
    file: async () => (await import("./cluster/file/file-command.js")).fileCommand(),
  },
  Hosts: {
    host: async () => (await import("./cluster/host/host-command.js")).hostCommand(),
    virsh: async () => (await import("./cluster/virsh.js")).virshCommand(),
  },
  Inspect: {
    status: async () => (await import("./cluster/status.js")).statusCommand(),
    open: async () => (await import("./cluster/open.js")).openCommand(),
    logs: async () => (await import("./cluster/logs/logs-command.js")).logsCommand(),
    doctor: async () => (await import("./cluster/doctor/doctor-command.js")).doctorCommand(),
  },
  Break: {
    scenario: async () => (await import("./cluster/scenario/scenario-command.js")).scenarioCommand(),
    fault: async () => (await import("./cluster/fault.js")).faultCommand(),
  },
  State: {
    reset: async () => (await import("./cluster/snapshot/snapshot-command.js")).resetCommand(),
    snapshot: async () => (await import("./cluster/snapshot/snapshot-command.js")).snapshotCommand(),
    record: async () => (await import("./cluster/record/record-command.js")).recordCommand(),
    replay: async () => (await import("./cluster/record/replay-command.js")).replayCommand(),
  },
  Repair: {
    audit: async () => (await import("./cluster/audit.js")).auditCommand(),
    apply: async () => (await import("./cluster/apply.js")).applyCommand(),
    manage: async () => (await import("./cluster/manage.js")).manageCommand(),
  },
  Drivers: {
    driver: async () => (await import("./driver/command.js")).driverCommand(),
    "smoke-test": async () => (await import("./cluster/smoke-test/smoke-test-command.js")).smokeTestCommand(),
  },
  Machines: {
    tls: async () => (await import("./cluster/tls/tls-command.js")).tlsCommand(),
    join: async () => (await import("./cluster/join.js")).joinCommand(),
    placement: async () => (await import("./cluster/placement.js")).placementCommand(),
    "control-plane": async () => (await import("./cluster/control-plane.js")).controlPlaneCommand(),
  },
};

const LOADERS: ReadonlyMap<string, { readonly group: string; readonly load: Load }> = new Map(
  Object.entries(GROUPS).flatMap(([group, commands]) =>
    Object.entries(commands).map(([name, load]) => [name, { group, load }] as const),
  ),
);

/** Short names of commands. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ["ps", "status"],
  ["ls", "list"],
  ["rm", "delete"],
]);

/** Names of commands before release 0.2, which are still accepted, but not shown. */
const FORMER_NAMES: ReadonlyMap<string, string> = new Map([["drill", "smoke-test"]]);

/** Commands before release 0.2 whose subcommands have moved. They are still accepted, but not shown. */
const FORMER_COMMANDS: ReadonlyMap<string, Load> = new Map([
  ["db", async () => (await import("./cluster/database-migrations.js")).formerDbCommand()],
]);

/** Returns the name of the command that a word of the command line calls; undefined if there is none. */
export function commandName(word: string): string | undefined {
  const name = ALIASES.get(word) ?? FORMER_NAMES.get(word) ?? word;
  const isKnown = LOADERS.has(name) || FORMER_COMMANDS.has(name) || name === "completion" || name === "version";
  return isKnown ? name : undefined;
}

/**
 * Adds the commands to a program.
 * @param name the only command to load; undefined: all of them, as the help and the completion need
 */
export async function addCommands(program: Command, name: string | undefined): Promise<Command> {
  program.configureHelp(HELP_FORMAT);
  const isNeeded = (each: string): boolean => name === undefined || name === each;
  for (const [each, { group, load }] of LOADERS) {
    if (isNeeded(each)) {
      const command = (await load()).helpGroup(`${group}:`);
      // The complete help shows no former names.
      for (const [alias, aliased] of [...ALIASES, ...(name === undefined ? [] : FORMER_NAMES)]) {
        if (aliased === each) {
          command.alias(alias);
        }
      }
      program.addCommand(inheriting(command, program));
    }
  }
  const former = FORMER_COMMANDS.get(name ?? "");
  if (former !== undefined) {
    program.addCommand(inheriting(await former(), program), { hidden: true });
  }
  if (isNeeded("completion")) {
    const { completionCommand } = await import("./completion/completion-command.js");
    program.addCommand(inheriting(completionCommand(program.name()).helpGroup("Program:"), program));
  }
  if (isNeeded("version")) {
    program.addCommand(inheriting(versionCommand().helpGroup("Program:"), program));
  }
  return withSuggestions(program);
}

function versionCommand(): Command {
  return new Command("version").summary("Print the version").action(() => {
    process.stdout.write(`${version()}\n`);
  });
}

/** Applies the program's exit codes and the `--name` flag to nested subcommands. */
function inheriting(command: Command, parent: Command): Command {
  for (const child of command.copyInheritedSettings(parent).commands) {
    inheriting(child, command);
  }
  return withName(withSuggestions(command));
}
