import { type RunnableAction, wordsOf } from "../../../dashboard/actions.js";
import type { DashboardAction } from "../../../dashboard/wire/messages.js";
import type { FindingRow } from "../../../dashboard/wire/rows.js";
import type { CommandActions } from "./command-action.js";

/** A finding in the output of `compute-agent audit --json`. */
interface ReportedFinding {
  readonly code: string;
  readonly subject: { readonly kind: string; readonly uuid: string; readonly name: string };
  readonly provider: { readonly uuid: string; readonly name: string } | null;
  readonly explanation: string;
  readonly remedies: readonly string[];
  readonly left: string | null;
}

interface AuditReport {
  readonly findings: readonly ReportedFinding[];
  readonly edits: number;
  readonly scope: { readonly servers: number; readonly providers: number; readonly consumers: number };
}

/** Runs audits, and holds the findings of the last one. */
export class DashboardAudit {
  readonly #commands: Pick<CommandActions, "run">;
  /** Options of commands that apply the plan: its path and the cluster. */
  readonly #plan: string;
  #findings: ReadonlyMap<string, FindingRow> = new Map();
  #hasRun = false;

  /** @param plan path of the plan and option that selects the cluster, as in a shell: `plan.json --name ci-7` */
  constructor(commands: Pick<CommandActions, "run">, plan: string) {
    this.#commands = commands;
    this.#plan = plan;
  }

  get findings(): ReadonlyMap<string, FindingRow> {
    return this.#findings;
  }

  /** Creates the action that runs an audit. Its command also gets `--json`. */
  toRunnable(action: DashboardAction): RunnableAction {
    return {
      action,
      run: async (body) => {
        const report = await this.#run(action.commands.flatMap((command) => wordsOf(command, body)));
        return { lines: linesOf(report) };
      },
    };
  }

  /**
   * Creates an action that applies or undoes the plan. Afterwards another audit reports what is left, if one has run
   * before; it keeps the plan, so that the edits can be undone.
   */
  withAudit({ action, run }: RunnableAction, audit: readonly string[]): RunnableAction {
    return {
      action,
      run: async (body) => {
        const result = await run(body);
        if (this.#hasRun) {
          // The edits are done, whether or not the audit succeeds.
          await this.#run(audit).catch(() => undefined);
        }
        return result;
      },
    };
  }

  async #run(words: readonly string[]): Promise<AuditReport> {
    const lines = await this.#commands.run([...words, "--json"], []);
    const report = JSON.parse(lines.join("\n")) as AuditReport;
    this.#hasRun = true;
    this.#findings = new Map(
      report.findings.map((finding) => [
        `audit ${finding.code} ${finding.subject.uuid} ${finding.provider?.uuid ?? ""}`,
        this.#rowOf(finding),
      ]),
    );
    return report;
  }

  #rowOf({ code, subject, provider, explanation, remedies, left }: ReportedFinding): FindingRow {
    const { kind, uuid } = subject;
    return {
      code,
      text: `${nameOf(subject)}: ${explanation}`,
      explanation: left ?? `The plan of the audit repairs it: ${remedies.join(", ")}.`,
      commands: remedies.length === 0 ? [] : [`compute-agent apply --only ${uuid} ${this.#plan}`],
      host: null,
      server: kind === "server" ? uuid : null,
      consumer: kind === "consumer" || kind === "migration" ? uuid : null,
      provider: kind === "provider" || kind === "node" ? uuid : concernedProvider({ code, provider }),
    };
  }
}

/** Codes of findings that name a host or a volume in place of the provider. */
const WITHOUT_PROVIDER = [
  "leftover-binding",
  "orphaned-attachment",
  "leftover-attachment",
  "misplaced-attachment",
  "missing-attachment",
];

function concernedProvider({ code, provider }: Pick<ReportedFinding, "code" | "provider">): string | null {
  return WITHOUT_PROVIDER.includes(code) ? null : (provider?.uuid ?? null);
}

function nameOf({ kind, uuid, name }: ReportedFinding["subject"]): string {
  return name === "" || name === uuid ? `${kind} ${uuid}` : `${kind} ${name} (${uuid})`;
}

function linesOf({ findings, edits, scope }: AuditReport): readonly string[] {
  const { servers, providers, consumers } = scope;
  return [
    ...findings.map(({ code, subject, explanation }) => `${code}: ${nameOf(subject)}: ${explanation}`),
    `${counted(findings.length, "finding")} in ${counted(servers, "server")}, ${counted(providers, "provider")} and ` +
      `${counted(consumers, "consumer")}; the plan has ${counted(edits, "edit")}`,
  ];
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
