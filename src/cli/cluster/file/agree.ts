import type { Change } from "../../../control-plane/seed/change.js";
import { ExitCode } from "../../ui/exit-code.js";
import { wrapWords } from "../../ui/table.js";
import type { Terminal } from "../../ui/terminal.js";
import { confirm } from "../losses.js";

/** Flags of `up` that are about its file. */
export interface FileFlags {
  readonly file?: string | undefined;
  /** The cluster of a scenario stands for a file. */
  readonly scenario?: string | undefined;
  readonly check?: true | undefined;
  readonly yes?: true | undefined;
}

/**
 * Says what a start with the file changes, and asks where something is lost.
 * @param flags `yes`: the answer is yes @returns an exit code to end with; undefined: go on
 */
export async function agree(
  path: string,
  changes: readonly Change[],
  flags: Pick<FileFlags, "check" | "yes">,
  { terminal, interrupt }: { readonly terminal: Terminal; readonly interrupt: AbortSignal },
): Promise<number | undefined> {
  terminal.print(
    changes.length === 0
      ? `${path}: nothing changes`
      : `${path} changes:\n${changesText(changes, Math.max(terminal.columns, NARROWEST))}`,
  );
  if (flags.check === true) {
    return ExitCode.ok;
  }
  if (!changes.some(({ destroys }) => destroys) || flags.yes === true) {
    return undefined;
  }
  const reason = `${path} destroys what the cluster has, as said above`;
  return confirm({ reason, question: "Some of this destroys what the cluster has. Go on?" }, { terminal, interrupt });
}

/** For a person: what continues a change stands below it. */
function changesText(changes: readonly Change[], columns: number): string {
  return changes
    .map(({ sign, text, destroys }) => {
      const lines = wrapWords(`${text}${destroys ? " (destroys)" : ""}`, columns - INDENT);
      return `  ${sign} ${lines.replaceAll("\n", `\n${" ".repeat(INDENT)}`)}`;
    })
    .join("\n");
}

const INDENT = 4;
/** A terminal may not say how wide it is. */
const NARROWEST = 40;
