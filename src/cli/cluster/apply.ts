import { resolve } from "node:path";
import { Command } from "commander";
import { applyPlan, type Line } from "../../audit/plan/apply-plan.js";
import { describeAction, onlyOf } from "../../audit/plan/plan.js";
import { readPlan } from "../../audit/plan/plan-file.js";
import { collect } from "../ui/command-line.js";
import { exitCodeHelp } from "../ui/help-format.js";
import { type Column, renderTable } from "../ui/table.js";
import { ProgressBar } from "../ui/terminal.js";
import { auditExitCode, type CloudContext, type CloudOptions, inCloud, withCloudOptions } from "./audit-cloud.js";

interface ApplyOptions extends CloudOptions {
  readonly only: readonly string[];
  readonly undo?: true;
  readonly json?: true;
}

export function applyCommand(): Command {
  const command = new Command("apply")
    .summary("Apply the plan of an audit, or undo it")
    .description(
      "Applies the edits one by one, each only if its object has not changed since the audit; a rejected " +
        "edit does not stop the others. You can run the command again, also after it was killed.",
    )
    .argument("<plan>", "plan file of `compute-agent audit --plan`")
    .option(
      "--only <uuid>",
      "uuid of a consumer, provider, port, volume or attachment, to apply only its edits; repeatable",
      collect,
      [],
    )
    .option("--undo", "undo the edits: restore each allocation; deleted attachments of volumes stay deleted")
    .option("--json", "print the result of each edit as JSON");
  return withCloudOptions(command)
    .addHelpText(
      "after",
      exitCodeHelp({
        0: "edits done, or nothing left to do",
        1: "an edit was rejected, or the cloud failed",
        2: "wrong options, clouds.yaml or plan",
        4: "no control plane responds",
      }),
    )
    .action(inCloud("apply", apply));
}

async function apply({ cloud, runtime, terminal }: CloudContext, file: string, options: ApplyOptions): Promise<number> {
  const bar = new ProgressBar();
  const fullPlan = await readPlan(runtime.files, resolve(file), cloud.name);
  const plan = options.only.length === 0 ? fullPlan : onlyOf(fullPlan, options.only);
  let done = 0;
  const lines = await applyPlan(cloud, plan, {
    undo: options.undo === true,
    onLine: () => bar.update("edits", ++done, plan.edits.length),
  }).finally(() => bar.clear());
  terminal.print(options.json === true ? asJson(lines) : asText(lines, terminal.columns));
  if (lines.some(({ outcome }) => outcome.state === "refused")) {
    return auditExitCode("failed", options);
  }
  return auditExitCode(lines.some(({ outcome }) => outcome.state === "done") ? "applied" : "none", options);
}

function asJson(lines: readonly Line[]): string {
  return JSON.stringify(
    lines.map(({ edit: { findings, reason }, action, outcome }) => ({ findings, reason, action, ...outcome })),
    null,
    2,
  );
}

function asText(lines: readonly Line[], width: number): string {
  const count = (state: Line["outcome"]["state"]) => lines.filter(({ outcome }) => outcome.state === state).length;
  const summary = `${count("done")} done, ${count("already")} were done already, ${count("refused")} rejected`;
  return lines.length === 0 ? "the plan has no edits" : `${renderTable(COLUMNS, lines, width)}\n${summary}`;
}

const COLUMNS: readonly Column<Line>[] = [
  { title: "Outcome", value: ({ outcome }) => outcome.state },
  { title: "Edit", value: ({ action }) => describeAction(action), wraps: true },
  {
    title: "Why",
    value: ({ outcome, edit }) => (outcome.state === "refused" ? outcome.why : edit.findings.join(", ")),
    wraps: true,
  },
];
