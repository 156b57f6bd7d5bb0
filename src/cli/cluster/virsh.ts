import { Command } from "commander";
import { connectionTo } from "../../../drivers/fake-libvirt/hypervisor.js";
import { NOT_CONNECTED, Virsh, VirshError, type VirshRow } from "../../../drivers/fake-libvirt/virsh.js";
import { DEFAULT_STATE_DIR, hostsWithState, stateDir } from "../../control-plane/local/state-dir.js";
import { messageOf } from "../../runtime/error-messages.js";
import { nodeClock } from "../../runtime/node/node-builtins.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import { createLogger } from "../ui/create-logger.js";
import { ExitCode } from "../ui/exit-code.js";
import { quietLogger } from "../ui/logging.js";
import { type Column, renderTable } from "../ui/table.js";
import { createTerminal, type Terminal } from "../ui/terminal.js";
import { unknownHost } from "./host-settings.js";
import { guestsReportedBy } from "./reported-guests.js";

interface VirshOptions {
  readonly host: string;
  readonly connect?: string;
  readonly stateDir: string;
}

export function virshCommand(): Command {
  const command = new Command("virsh")
    .summary("look at the guests of a host, and change those of a fake-libvirt hypervisor behind the agent's back")
    .option("--host <host>", "whose hypervisor", "devstack1")
    .option("-c, --connect <uri>", "the hypervisor itself: fake-libvirt:///absolute/folder (default: that of --host)")
    .option("--state-dir <dir>", "the cluster's state directory", DEFAULT_STATE_DIR);
  const complaining = async (work: (terminal: Terminal) => Promise<void>): Promise<void> => {
    const terminal = createTerminal();
    try {
      await work(terminal);
      process.exitCode = ExitCode.ok;
    } catch (error) {
      if (!(error instanceof VirshError)) {
        throw error;
      }
      terminal.complain(`error: ${error.message}`);
      process.exitCode = ExitCode.failure;
    }
  };
  const run =
    <Arguments extends readonly unknown[]>(
      work: (virsh: Virsh, terminal: Terminal, ...rest: Arguments) => Promise<void>,
    ) =>
    (...rest: unknown[]): Promise<void> =>
      complaining(async (terminal) => {
        const options = command.opts<VirshOptions>();
        const virsh = await open(options);
        if (virsh === null) {
          throw new VirshError(`${options.host} has another driver; use that driver's tools to change its guests`);
        }
        await work(virsh, terminal, ...(rest as unknown as Arguments));
      });
  command
    .command("list")
    .description("domains that run or are paused; of drivers other than fake-libvirt, as the host's agent says")
    .option("--all", "those that are shut off too")
    .option("--json", "as JSON")
    .action((options: ListOptions) => complaining((terminal) => list(command.opts<VirshOptions>(), terminal, options)));
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

interface ListOptions {
  readonly all?: true;
  readonly json?: true;
}

/** Returns null if the host has another driver. @throws {VirshError} there is no such host */
async function open({ connect, host, stateDir: stateDirOption }: VirshOptions): Promise<Virsh | null> {
  const files = new NodeFiles();
  const directory = stateDir(stateDirOption, process.cwd());
  const deps = { files, clock: nodeClock(), logger: createLogger({ level: "warn" }) };
  if (connect !== undefined) {
    return new Virsh(connect, deps);
  }
  const hypervisors = await files.list(directory.hypervisors);
  if (hypervisors.includes(host)) {
    return new Virsh(connectionTo(directory.hypervisor(host)), deps);
  }
  const others = await hostsWithState(files, directory);
  if (others.includes(host)) {
    return null;
  }
  const known = [...new Set([...hypervisors, ...others])];
  throw new VirshError(`${NOT_CONNECTED}: ${unknownHost(host, directory.root, known)}`);
}

async function list(place: VirshOptions, terminal: Terminal, options: ListOptions): Promise<void> {
  const virsh = await open(place);
  const rows = virsh === null ? await reportedRows(place, options) : await virsh.list(options);
  terminal.print(options.json === true ? JSON.stringify(rows, null, 2) : renderTable(COLUMNS, rows, terminal.columns));
}

/** States that `virsh list` omits; a guest in an unknown state is listed. */
const INACTIVE: readonly string[] = ["shut off", "crashed", "suspended"];

/** @throws {VirshError} The host's agent does not respond. */
async function reportedRows(
  { host, stateDir: stateDirOption }: VirshOptions,
  { all }: ListOptions,
): Promise<readonly VirshRow[]> {
  const runtime = createNodeRuntime({ logger: quietLogger });
  const directory = stateDir(stateDirOption, process.cwd());
  try {
    const guests = await guestsReportedBy(host, "virsh", { runtime, directory });
    return guests
      .filter(({ state }) => all || !INACTIVE.includes(state))
      .map(({ name, uuid, state }) => ({ id: null, name, uuid, state }))
      .toSorted((one, other) => one.name.localeCompare(other.name, "en"));
  } catch (error) {
    const reason = messageOf(error);
    throw new VirshError(`${NOT_CONNECTED}: the agent of ${host} did not report its guests: ${reason}`);
  } finally {
    await runtime.http.close();
  }
}
