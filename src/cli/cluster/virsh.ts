import type { Command } from "commander";
import { connectionTo } from "../../../drivers/fake-libvirt/hypervisor.js";
import { NOT_CONNECTED, Virsh, VirshError, type VirshRow } from "../../../drivers/fake-libvirt/virsh.js";
import { hostsWithState } from "../../control-plane/local/state-dir.js";
import { errorMessage } from "../../runtime/error-messages.js";
import { createLogger } from "../ui/create-logger.js";
import { ExitCode } from "../ui/exit-code.js";
import { type Column, renderTable } from "../ui/table.js";
import { type ClusterContext, clusterCommand, inCluster } from "./cluster-command.js";
import { unknownHost } from "./host-settings.js";
import { guestsReportedBy } from "./reported-guests.js";

interface VirshOptions {
  readonly host: string;
  readonly connect?: string;
}

interface VirshContext extends ClusterContext {
  readonly host: string;
  /** Null if the host has another driver. */
  readonly virsh: Virsh | null;
}

export function virshCommand(): Command {
  const command = clusterCommand("virsh")
    .summary("Inspect and change guests without their agent")
    .description(
      "Lists the guests of a host, and changes guests of a fake-libvirt hypervisor without the knowledge of its agent.",
    )
    .option("--host <host>", "host of the hypervisor", "devstack1")
    .option("-c, --connect <uri>", "URI of the hypervisor: fake-libvirt:///absolute/folder (default: that of --host)");
  command
    .command("list")
    .summary("List running and paused domains")
    .description("Lists running and paused domains. The host's agent reports them if the driver is not fake-libvirt.")
    .option("--all", "include domains that are shut off")
    .option("--json", "print JSON")
    .action(inVirsh(list));
  for (const [name, done, description] of CHANGES) {
    command
      .command(`${name} <domain>`)
      .description(description)
      .action(
        inVirsh(async (context, domain: string) => {
          await fakeLibvirt(context)[name](domain);
          context.terminal.print(`Domain '${domain}' ${done}`);
        }),
      );
  }
  command
    .command("dumpxml <domain>")
    .description("Print the XML of a domain")
    .action(
      inVirsh(async (context, domain: string) => context.terminal.print(await fakeLibvirt(context).dumpxml(domain))),
    );
  return command;
}

/** Returns an action that runs `work` with the hypervisor of the selected host, and prints errors as virsh does. */
function inVirsh<Arguments extends readonly unknown[]>(
  work: (context: VirshContext, ...args: Arguments) => Promise<void>,
): ReturnType<typeof inCluster<Arguments>> {
  return inCluster(async (context, ...args: Arguments) => {
    const options = context.options as unknown as VirshOptions;
    try {
      await work({ ...context, host: options.host, virsh: await open(options, context) }, ...args);
      return ExitCode.ok;
    } catch (error) {
      if (!(error instanceof VirshError)) {
        throw error;
      }
      context.terminal.complain(`error: ${error.message}`);
      return ExitCode.failure;
    }
  });
}

/** @throws {VirshError} the host has another driver */
function fakeLibvirt({ virsh, host }: VirshContext): Virsh {
  if (virsh === null) {
    throw new VirshError(`${host} has another driver; use that driver's tools to change its guests`);
  }
  return virsh;
}

const CHANGES = [
  ["start", "started", "Start a domain that is shut off"],
  ["shutdown", "is being shutdown", "Shut down a domain; it always complies"],
  ["destroy", "destroyed", "Power off a domain immediately"],
  ["suspend", "suspended", "Pause a domain"],
  ["resume", "resumed", "Resume a paused domain"],
  ["undefine", "has been undefined", "Remove a domain that is shut off; its disks stay"],
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
async function open({ connect, host }: VirshOptions, { directory, runtime }: ClusterContext): Promise<Virsh | null> {
  const { files, clock } = runtime;
  const deps = { files, clock, logger: createLogger({ level: "warn" }) };
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

async function list(context: VirshContext, options: ListOptions): Promise<void> {
  const { virsh, terminal } = context;
  const rows = virsh === null ? await reportedRows(context, options) : await virsh.list(options);
  terminal.print(options.json === true ? JSON.stringify(rows, null, 2) : renderTable(COLUMNS, rows, terminal.columns));
  if (rows.length === 0 && options.json !== true) {
    // Scripts that parse virsh's table read standard output alone.
    terminal.complain(
      options.all === true
        ? `No guests on ${context.host}: servers that Nova builds there appear here.`
        : `No running guests on ${context.host}: --all also lists those that are shut off.`,
    );
  }
}

/** States that `virsh list` omits; a guest in an unknown state is listed. */
const INACTIVE: readonly string[] = ["shut off", "crashed", "suspended"];

/** @throws {VirshError} The host's agent does not respond. */
async function reportedRows(context: VirshContext, { all }: ListOptions): Promise<readonly VirshRow[]> {
  try {
    const guests = await guestsReportedBy(context.host, "virsh", context);
    return guests
      .filter(({ state }) => all || !INACTIVE.includes(state))
      .map(({ name, uuid, state }) => ({ id: null, name, uuid, state }))
      .toSorted((one, other) => one.name.localeCompare(other.name, "en"));
  } catch (error) {
    throw new VirshError(
      `${NOT_CONNECTED}: the agent of ${context.host} did not report its guests: ${errorMessage(error)}`,
    );
  }
}
