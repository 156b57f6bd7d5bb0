import { Command } from "commander";
import { withName } from "./cluster/place.js";
import { unknownCommandText, version } from "./ui/command-line.js";
import { runProgram } from "./ui/run-program.js";

/** Each subcommand's module is loaded only when needed: `status` does not load the control plane. */
const COMMANDS = {
  up: async () => (await import("./cluster/up.js")).upCommand(),
  down: async () => (await import("./cluster/down.js")).downCommand(),
  wait: async () => (await import("./cluster/wait/wait-command.js")).waitCommand(),
  list: async () => (await import("./cluster/list.js")).listCommand(),
  delete: async () => (await import("./cluster/delete.js")).deleteCommand(),
  snapshot: async () => (await import("./cluster/snapshot/snapshot-command.js")).snapshotCommand(),
  reset: async () => (await import("./cluster/snapshot/snapshot-command.js")).resetCommand(),
  status: async () => (await import("./cluster/status.js")).statusCommand(),
  open: async () => (await import("./cluster/open.js")).openCommand(),
  host: async () => (await import("./cluster/host/host-command.js")).hostCommand(),
  logs: async () => (await import("./cluster/logs/logs-command.js")).logsCommand(),
  scenario: async () => (await import("./cluster/scenario/scenario-command.js")).scenarioCommand(),
  file: async () => (await import("./cluster/file/file-command.js")).fileCommand(),
  env: async () => (await import("./cluster/env.js")).envCommand(),
  virsh: async () => (await import("./cluster/virsh.js")).virshCommand(),
  "smoke-test": async () => (await import("./cluster/smoke-test/smoke-test-command.js")).smokeTestCommand(),
  fault: async () => (await import("./cluster/fault.js")).faultCommand(),
  db: async () => (await import("./cluster/db.js")).dbCommand(),
  record: async () => (await import("./cluster/record/record-command.js")).recordCommand(),
  replay: async () => (await import("./cluster/record/replay-command.js")).replayCommand(),
  doctor: async () => (await import("./cluster/doctor/doctor-command.js")).doctorCommand(),
  audit: async () => (await import("./cluster/audit.js")).auditCommand(),
  apply: async () => (await import("./cluster/apply.js")).applyCommand(),
  manage: async () => (await import("./cluster/manage.js")).manageCommand(),
  placement: async () => (await import("./cluster/placement.js")).placementCommand(),
  tls: async () => (await import("./cluster/tls/tls-command.js")).tlsCommand(),
  join: async () => (await import("./cluster/join.js")).joinCommand(),
  completion: async () => (await import("./completion/completion-command.js")).completionCommand("compute-cluster"),
  "control-plane": async () => (await import("./cluster/control-plane.js")).controlPlaneCommand(),
} satisfies Record<string, () => Promise<Command>>;

/** Names of commands before release 0.2, which are still accepted. */
const FORMER_COMMANDS = new Map([["drill", "smoke-test"]]);

async function parse(): Promise<void> {
  const [, , first = "", , line = ""] = process.argv;
  if (first === "complete") {
    const { printCompletion } = await import("./completion/completion-command.js");
    await printCompletion(line, programWith);
    return;
  }
  await (await programWith(first)).parseAsync();
}

/** @param first the word after the program's name; if it is not a command, all commands are loaded */
async function programWith(first: string): Promise<Command> {
  const commandName = Object.keys(COMMANDS).find(
    (name): name is keyof typeof COMMANDS => name === (FORMER_COMMANDS.get(first) ?? first),
  );
  const program = new Command("compute-cluster")
    .description("A devstack-like local cluster: embedded Placement, Compute API, Identity, conductor, and agents.")
    .version(version())
    .showHelpAfterError("(--help shows what there is)")
    .exitOverride();
  for (const load of commandName === undefined ? Object.values(COMMANDS) : [COMMANDS[commandName]]) {
    program.addCommand(inheriting(await load(), program));
  }
  return suggestingSafely(program);
}

/** Applies the program's exit codes and the `--name` flag to nested subcommands. */
function inheriting(command: Command, parent: Command): Command {
  for (const child of command.copyInheritedSettings(parent).commands) {
    inheriting(child, command);
  }
  return withName(suggestingSafely(command));
}

/** Excludes destructive commands from the suggestions for unknown subcommands. */
function suggestingSafely(command: Command): Command {
  const fail = command.error.bind(command);
  command.error = (message, options) =>
    fail(options?.code === "commander.unknownCommand" ? unknownCommandText(command) : message, options);
  return command;
}

void runProgram("compute-cluster", parse);
