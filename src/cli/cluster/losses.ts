import { createInterface } from "node:readline/promises";
import { isClusterError } from "../../control-plane/cluster-error.js";
import type { StateDir } from "../../control-plane/local/state-dir.js";
import type { Snapshot } from "../../control-plane/snapshot/snapshot-file.js";
import { Snapshots } from "../../control-plane/snapshot/snapshots.js";
import { openStoreToRead } from "../../control-plane/store/open-store.js";
import { foldHosts } from "../../records/host-names.js";
import type { Runtime } from "../../runtime/runtime.js";
import { ExitCode } from "../ui/exit-code.js";
import { interruptSignal } from "../ui/process-lifecycle.js";
import type { Terminal } from "../ui/terminal.js";

/** Maximum number of names of one kind in a list; further names are only counted. */
const MAX_NAMES = 20;

/** Returns whether stdin and stdout are terminals, so that the user can reply to a question. */
const canAsk = (): boolean => process.stdin.isTTY === true && process.stdout.isTTY === true;

/** Asks a yes-or-no question. Other input, and the end of input, count as no. @param signal aborted: no */
async function ask(question: string, signal: AbortSignal): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  // While readline is active, Ctrl-C arrives here and not as a signal.
  lines.on("SIGINT", () => lines.close());
  try {
    const reply = await Promise.race([lines.question(`${question} [y/N] `, { signal }), ended]);
    return /^y(es)?$/i.test(reply.trim());
  } catch (error) {
    if (signal.aborted) {
      return false;
    }
    throw error;
  } finally {
    lines.close();
  }
}

/**
 * Asks for confirmation on a terminal; without one, rejects the command.
 * @param reason completes `compute-agent: `, before the hint at `--yes`
 * @returns an exit code to end with; undefined to continue
 */
export async function confirm(
  { reason, question }: { readonly reason: string; readonly question: string },
  { terminal, interrupt }: { readonly terminal: Terminal; readonly interrupt: AbortSignal },
): Promise<number | undefined> {
  if (!canAsk()) {
    terminal.complain(`compute-agent: ${reason}: confirm it with --yes; nothing was changed`);
    return ExitCode.rejected;
  }
  if (await ask(question, interrupt)) {
    return undefined;
  }
  terminal.complain("compute-agent: nothing was changed");
  return ExitCode.rejected;
}

/**
 * Lists what a command destroys or stops, and asks for confirmation.
 * @param command such as `compute-agent reset`
 * @param losses empty: no confirmation is needed
 * @param yes `--yes` was passed
 * @returns an exit code to end with; undefined to continue
 */
export async function confirmLosses(
  { command, verb = "destroys", losses, yes }: LossQuestion,
  terminal: Terminal,
): Promise<number | undefined> {
  if (losses.length === 0 || yes) {
    return undefined;
  }
  terminal.complain(`${command} ${verb}:\n${losses.map((loss) => `  - ${loss}`).join("\n")}`);
  const reason = `${command} ${verb} what is listed above`;
  return confirm({ reason, question: "Continue?" }, { terminal, interrupt: interruptSignal() });
}

interface LossQuestion {
  readonly command: string;
  /** Default: destroys. */
  readonly verb?: string;
  readonly losses: readonly string[];
  readonly yes: boolean;
}

/** Returns everything that the deletion of a cluster destroys. */
export async function clusterLosses(directory: StateDir, runtime: Runtime): Promise<readonly string[]> {
  const snapshots = await new Snapshots(directory, runtime.files).list();
  return [...(await addedSince(0, directory, runtime)), ...named("snapshot", snapshots)];
}

/** Returns the servers and hosts that a restore of the snapshot removes. */
export function lossesSince({ metadata }: Pick<Snapshot, "metadata">, directory: StateDir, runtime: Runtime) {
  // An imported snapshot contains nothing of this cluster.
  return addedSince(metadata.isImported === true ? 0 : metadata.savedAt, directory, runtime);
}

/** Returns the servers and hosts created after a time; works while the cluster runs. */
async function addedSince(time: number, directory: StateDir, runtime: Runtime): Promise<readonly string[]> {
  try {
    const store = await openStoreToRead({ path: directory.database, runtime });
    try {
      const servers = store.instances.byFilters({ deleted: false }).filter(({ createdAt }) => createdAt > time);
      const services = store.services.list({ binary: "nova-compute" }).filter(({ createdAt }) => createdAt > time);
      const hosts = foldHosts(services.map(({ host }) => host));
      return [
        ...named(
          "server",
          servers.map(({ displayName: name }) => ({ name })),
        ),
        ...(services.length === 0 ? [] : [`${services.length === 1 ? "host" : "hosts"} ${hosts}`]),
      ];
    } finally {
      store.close();
    }
  } catch (error) {
    if (isClusterError(error, "DatabaseUnusable", "DatabaseTooOld", "DatabaseTooNew")) {
      return [`servers and hosts that this program cannot read: ${error.message}`];
    }
    throw error;
  }
}

function named(kind: string, items: readonly { readonly name: string }[]): readonly string[] {
  const rest = items.length - MAX_NAMES;
  const listedNames = items.slice(0, MAX_NAMES).map(({ name }) => name);
  return items.length === 0
    ? []
    : [`${kind}${items.length === 1 ? "" : "s"} ${listedNames.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`];
}
