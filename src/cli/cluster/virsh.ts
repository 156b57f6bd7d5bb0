import { Command } from "commander";
import { connectionTo } from "../../../drivers/fake-libvirt/connection-uri.js";
import { NOT_CONNECTED, Virsh, VirshError, type VirshRow } from "../../../drivers/fake-libvirt/virsh.js";
import { DEFAULT_STATE_DIR, stateDir } from "../../cluster/local/state-dir.js";
import { nodeClock } from "../../runtime/node/node-clock.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { createLogger } from "../ui/create-logger.js";
import { ExitCode } from "../ui/exit-code.js";
import { type Column, renderTable } from "../ui/table.js";
import { createTerminal, type Terminal } from "../ui/terminal.js";
import { unknownHost } from "./unknown-host.js";

interface VirshOptions {
  readonly host: string;
  readonly connect?: string;
  readonly stateDir: string;
}

export function virshCommand(): Command {
  const command = new Command("virsh")
    .summary("look at the guests of a fake-libvirt hypervisor, and change them behind the agent's back")
    .option("--host <host>", "whose hypervisor", "devstack1")
    .option("-c, --connect <uri>", "the hypervisor itself: fake-libvirt:///absolute/folder (default: that of --host)")
    .option("--state-dir <dir>", "the cluster's state directory", DEFAULT_STATE_DIR);
  const run =
    <Arguments extends readonly unknown[]>(
      work: (virsh: Virsh, terminal: Terminal, ...rest: Arguments) => Promise<void>,
    ) =>
    async (...rest: unknown[]): Promise<void> => {
      const terminal = createTerminal();
      try {
        await work(await open(command.opts<VirshOptions>()), terminal, ...(rest as unknown as Arguments));
        process.exitCode = ExitCode.ok;
      } catch (error) {
        if (!(error instanceof VirshError)) {
          throw error;
        }
        terminal.complain(`error: ${error.message}`);
        process.exitCode = ExitCode.failure;
      }
    };
  command
    .command("list")
    .description("domains that run or are paused")
    .option("--all", "those that are shut off too")
    .option("--json", "as JSON")
    .action(run<[{ all?: true; json?: true }]>(list));
  for (const [name, done, description] of CHANGES) {
    command
      .command(`${name} <domain>`)
      .description(description)
      .action(
        run<[string]>(async (virsh, terminal, domain) => {
          await virsh[name](domain);
          terminal.print(`Domain '${domain}' ${done}`);
        }),
      );
  }
  command
    .command("dumpxml <domain>")
    .description("the domain's XML")
    .action(run<[string]>(async (virsh, terminal, domain) => terminal.print(await virsh.dumpxml(domain))));
  return command;
}

const CHANGES = [
  ["start", "started", "start a domain that is shut off"],
  ["shutdown", "is being shutdown", "ask a domain to shut down; it does"],
  ["destroy", "destroyed", "pull a domain's plug"],
  ["suspend", "suspended", "pause a domain"],
  ["resume", "resumed", "let a paused domain run on"],
  ["undefine", "has been undefined", "remove a domain that is shut off; its disks stay"],
] as const;

const COLUMNS: readonly Column<VirshRow>[] = [
  { title: "Id", value: (row) => (row.id === null ? "-" : String(row.id)), align: "right" },
  { title: "Name", value: (row) => row.name },
  { title: "State", value: (row) => row.state },
  { title: "UUID", value: (row) => row.uuid },
];

async function open({ connect, host, stateDir: given }: VirshOptions): Promise<Virsh> {
  const files = new NodeFiles();
  const directory = stateDir(given, process.cwd());
  const doors = { files, clock: nodeClock(), logger: createLogger({ level: "warn" }) };
  if (connect !== undefined) {
    return new Virsh(connect, doors);
  }
  const hosts = await files.list(directory.hypervisors);
  if (!hosts.includes(host)) {
    throw new VirshError(`${NOT_CONNECTED}: ${unknownHost(host, directory.root, hosts)}`);
  }
  return new Virsh(connectionTo(directory.hypervisor(host)), doors);
}

async function list(virsh: Virsh, terminal: Terminal, options: { all?: true; json?: true }): Promise<void> {
  const rows = await virsh.list(options);
  terminal.print(options.json === true ? JSON.stringify(rows, null, 2) : renderTable(COLUMNS, rows, terminal.columns));
}
