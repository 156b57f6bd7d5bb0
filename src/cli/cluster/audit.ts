import { resolve } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { type Audit, audit } from "../../audit/audit.js";
import type { Finding, Remedy } from "../../audit/checks/finding.js";
import { DEFAULT_MOVE_TIMEOUTS, type MoveTimeouts } from "../../audit/checks/inputs.js";
import { writePlan } from "../../audit/plan/plan-file.js";
import { withFormerNames } from "../ui/former-names.js";
import { exitCodeHelp } from "../ui/help-format.js";
import { type Column, renderTable } from "../ui/table.js";
import { ProgressBar } from "../ui/terminal.js";
import { auditExitCode, type CloudContext, type CloudOptions, inCloud, withCloudOptions } from "./audit-cloud.js";
import { guestsByHost } from "./reported-guests.js";

interface AuditCommandOptions extends CloudOptions {
  readonly plan?: string;
  readonly json?: true;
  readonly maxShare: number;
  readonly thorough?: true;
  readonly settledFor: number;
  readonly stuckAfter: number;
}

export function auditCommand(): Command {
  const command = new Command("audit")
    .summary("Find wrong allocations, providers, ports and volumes")
    .description(
      "Compares Placement, the ports of servers and volumes with the records of the Compute API, of this cluster or of any " +
        "OpenStack cloud. Changes nothing. Each finding is checked twice, and servers that are being built or moved are skipped.",
    )
    .option("--plan <file>", "file for the edits that correct the findings, for `compute-agent apply`")
    .option("--json", "print the findings as JSON")
    .option(
      "--max-share <share>",
      "maximum share of a provider's consumers that can count as orphaned, from 0 to 1",
      share,
      0.5,
    )
    .addOption(
      moveTimeoutOption(
        "--settled-for <seconds>",
        "time in seconds after its last move until a server is checked",
        "settles",
      ),
    )
    .addOption(
      moveTimeoutOption(
        "--stuck-after <seconds>",
        "time in seconds without progress after which a move counts as stuck",
        "stuck",
      ),
    )
    .option(
      "--thorough",
      "check the owner of each consumer, the bindings of each port, the block device of each attachment, and guests of " +
        "local hypervisors",
    );
  return withCloudOptions(command)
    .addHelpText(
      "after",
      exitCodeHelp({
        0: "done, with or without findings",
        1: "failed",
        2: "wrong options or clouds.yaml",
        4: "no control plane responds",
      }),
    )
    .action(inCloud("audit", printAudit));
}

function share(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= 0 && value <= 1)) {
    throw new InvalidArgumentError("expected a number from 0 to 1.");
  }
  return value;
}

function moveTimeoutOption(flags: string, description: string, of: keyof MoveTimeouts): Option {
  const milliseconds = DEFAULT_MOVE_TIMEOUTS[of];
  return new Option(flags, description).argParser(seconds).default(milliseconds, String(milliseconds / 1_000));
}

/** Parses seconds to milliseconds. */
function seconds(text: string): number {
  if (!/^\d{1,7}$/.test(text)) {
    throw new InvalidArgumentError("expected seconds.");
  }
  return Number(text) * 1_000;
}

async function printAudit(
  { cloud, local, runtime, terminal }: CloudContext,
  options: AuditCommandOptions,
): Promise<number> {
  const { clock, files } = runtime;
  const bar = new ProgressBar();
  const result = await audit(cloud, {
    clock,
    maxShare: options.maxShare,
    thorough: options.thorough === true,
    ...(options.thorough === true && local !== null
      ? { readGuests: (hosts) => guestsByHost(hosts, "audit", { runtime, directory: local }) }
      : {}),
    moveTimeouts: { settles: options.settledFor, stuck: options.stuckAfter },
    onProgress: (what, done, total) => bar.update(what, done, total),
  }).finally(() => bar.clear());
  if (options.plan !== undefined) {
    await writePlan(files, resolve(options.plan), result.plan);
  }
  terminal.print(options.json === true ? asJson(result) : asText(result, terminal.columns, options.plan));
  return auditExitCode(result.findings.length === 0 ? "none" : "found", options);
}

function asJson({ findings, plan, scope }: Audit): string {
  return JSON.stringify(
    {
      cloud: plan.cloud,
      ...(withFormerNames({ scope }, { scope: "seen", unchecked: "notJudged" }) as object),
      findings: findings.map(({ remedies, ...finding }) => ({ ...finding, remedies: describeAll(remedies) })),
      edits: plan.edits.length,
    },
    null,
    2,
  );
}

function asText({ findings, plan, scope }: Audit, width: number, file: string | undefined): string {
  const left = scope.unchecked === 0 ? "" : ` (${scope.unchecked} not checked: ${UNCHECKED_REASONS})`;
  const { servers, providers, consumers, ports, volumes } = scope;
  const counts = [counted(servers, "server") + left, counted(providers, "provider"), counted(consumers, "consumer")];
  const more = [
    ports === null ? [] : counted(ports, "port"),
    volumes === null ? [] : counted(volumes, "volume"),
  ].flat();
  const skipped = (ports === null ? NO_NETWORK : "") + (volumes === null ? NO_BLOCK_STORAGE : "");
  const looked = `${enumerate([...counts, ...more])} checked${skipped}`;
  if (findings.length === 0) {
    return `nothing wrong; ${looked}`;
  }
  const summary = `${counted(findings.length, "finding")}; ${looked}\n${nextStep(plan.edits.length, file)}`;
  return `${renderTable(COLUMNS, findings, width)}\n${summary}`;
}

const UNCHECKED_REASONS = "they build, move or have changed within the last minute, or their host is not known";

function nextStep(edits: number, file: string | undefined): string {
  if (edits === 0) {
    return "no edit repairs this; an operator has to decide";
  }
  const summary = `${counted(edits, "edit")} can repair this`;
  return file === undefined ? `${summary}; --plan FILE writes a plan` : `${summary}: compute-agent apply ${file}`;
}

const NO_NETWORK = "; ports were skipped, since the catalog has no network endpoint";

const NO_BLOCK_STORAGE = "; volumes were skipped, since the catalog has no endpoint of Block Storage";

const enumerate = (parts: readonly string[]): string => `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

const COLUMNS: readonly Column<Finding>[] = [
  {
    title: "Found",
    value: ({ code, subject }) =>
      `${code}\n${subject.kind}${subject.name === "" ? "" : ` ${subject.name}`}\n${subject.uuid}`,
  },
  { title: "What is wrong", value: ({ explanation }) => explanation, wraps: true },
  {
    title: "apply would",
    value: ({ remedies, left }) => (left === null ? describeAll(remedies).join("\n") : `leave it: ${left}`),
    wraps: true,
  },
];

function describeAll(remedies: readonly Remedy[]): readonly string[] {
  return [...new Set(remedies.map((each) => REMEDY_ACTIONS[each.kind]))];
}

const REMEDY_ACTIONS: Readonly<Record<Remedy["kind"], string>> = {
  "take-over": "give them to the server",
  clear: "remove its allocations",
  drop: "take the provider out of its allocations",
  hold: "set its amounts",
  own: "set project and user",
  "create-provider": "create the provider",
  "rename-provider": "rename the provider",
  "delete-provider": "delete the provider",
  "set-inventories": "set the totals",
  "set-port": "correct the port's server and host",
  "delete-binding": "delete the binding",
  "set-volume": "reset the volume's status",
  "delete-attachment": "delete the attachment",
};
