import { join } from "node:path";
import { quoted } from "../../../control-plane/identity/openrc.js";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import { type RunnableAction, wordsOf } from "../../../dashboard/actions.js";
import type { ActionField, DashboardAction } from "../../../dashboard/wire/messages.js";
import type { Files } from "../../../runtime/files.js";
import { BUILT_IN_DRIVERS } from "../../agent/built-in-drivers.js";
import { HostSettingsStore } from "../host-settings.js";
import { hostArguments } from "../up-children.js";
import type { DashboardAudit } from "./audit-action.js";
import type { CommandActions, CommandRow } from "./command-action.js";
import { HOST } from "./compute-actions.js";

/** The exit code of `--dry-run` for a start that would be rejected. */
const REJECTED_EXIT_CODES = [3];

/** The fields of actions by subject, unless they have others. */
const FIELDS: Readonly<Partial<Record<DashboardAction["subject"], readonly ActionField[]>>> = {
  host: [HOST],
  finding: [{ name: "only", label: "Only this consumer or provider", type: "text", required: false }],
  snapshot: [{ name: "snapshot", label: "Name", type: "text", required: true }],
  scenario: [{ name: "scenario", label: "Scenario", type: "text", required: true }],
};

/** The actions that add hosts to the cluster, and remove one from it. */
const MEMBERSHIP_ACTIONS: readonly CommandRow[] = [
  {
    name: "host-add",
    subject: "cluster",
    label: "Add hosts",
    summary:
      "Adds hosts to the cluster and starts their agents. Each later start of the cluster starts them until they are removed.",
    command: "host add {hosts} [--driver {driver}] [--option {option}]",
    fields: [
      { name: "hosts", label: "Name or range, such as rack[01-20]", type: "text", required: true },
      {
        name: "driver",
        label: "Driver",
        type: "choice",
        required: false,
        choices: Object.keys(BUILT_IN_DRIVERS),
      },
      {
        name: "option",
        label: "Option of nova.conf, such as DEFAULT.cpu_allocation_ratio=2",
        type: "text",
        required: false,
      },
    ],
  },
  {
    name: "host-remove",
    subject: "host",
    label: "Remove",
    summary:
      "Stops the agent, deletes the compute service with its providers, and forgets the host. A host with servers is " +
      "removed only if they are evacuated first.",
    command: "host remove {host} [--evacuate {evacuate}]",
    fields: [
      HOST,
      { name: "evacuate", label: "Evacuate its servers to other hosts first", type: "flag", required: false },
    ],
    destructive: true,
  },
];

const HOST_ACTIONS: readonly CommandRow[] = [
  {
    name: "host-kill",
    subject: "host",
    label: "Kill",
    summary: "Ends the agent at once, as kill -9 does. Its guests keep running.",
    command: "host kill {host}",
    requires: { agent: "running" },
    destructive: true,
  },
  {
    name: "host-stop",
    subject: "host",
    label: "Stop",
    summary: "Stops the agent after its current operations. Its guests keep running.",
    command: "host stop {host}",
    requires: { agent: "running" },
    destructive: true,
  },
  {
    name: "host-start",
    subject: "host",
    label: "Start",
    summary: "Starts the agent, and waits until servers can be scheduled to the host.",
    command: "host start {host}",
    requires: { agent: "stopped" },
  },
  {
    name: "fault-set",
    subject: "host",
    label: "Set fault",
    summary: "Makes the driver, Placement, the conductor or a step of an operation fail, hang or slow down.",
    command: "fault set {host} {rule}",
    fields: [HOST, { name: "rule", label: "Fault", type: "fault", required: true }],
  },
  {
    name: "fault-clear",
    subject: "host",
    label: "Clear faults",
    summary: "Removes one fault of the host, or all of them.",
    command: "fault clear {host} [{point}]",
    fields: [HOST, { name: "point", label: "Fault point", type: "fault", required: false }],
    requires: { faults: true },
  },
];

/** @param plan the path where audits write their plan, quoted for a shell */
const clusterActions = (plan: string): readonly CommandRow[] => [
  {
    name: "audit",
    subject: "cluster",
    label: "Audit",
    summary: "Finds wrong allocations, providers and inventories, and writes a plan that repairs them.",
    command: `audit --plan ${plan}`,
  },
  {
    name: "apply",
    subject: "finding",
    label: "Apply",
    summary: "Applies the plan of the last audit. Objects that have changed since then are skipped.",
    command: `apply ${plan} [--only {only}]`,
    destructive: true,
  },
  {
    name: "undo",
    subject: "finding",
    label: "Undo",
    summary: "Reverts the edits of the plan.",
    command: `apply --undo ${plan} [--only {only}]`,
    destructive: true,
  },
  {
    name: "snapshot-save",
    subject: "snapshot",
    label: "Save snapshot",
    summary: "Saves the complete state of the cluster, which pauses for at most a second.",
    command: "snapshot save {snapshot}",
  },
  {
    name: "snapshot-restore",
    subject: "snapshot",
    label: "Restore",
    summary: "Returns to a saved state. The cluster restarts, and this session ends.",
    command: "snapshot restore {snapshot} --yes",
    destructive: true,
    restarts: true,
  },
  {
    name: "reset",
    subject: "cluster",
    label: "Reset",
    summary: "Returns to the state after the first start. The cluster restarts, and this session ends.",
    command: "reset --yes",
    destructive: true,
    restarts: true,
  },
  {
    name: "scenario-run",
    subject: "scenario",
    label: "Run scenario",
    summary: "Brings the cluster into a broken state, and describes what to look at.",
    command: "scenario run {scenario}",
    destructive: true,
  },
];

/**
 * Creates the actions for hosts and the cluster that run commands.
 * @param place option that selects the cluster: ` --name ci-7`
 */
export function createCommandActions(
  { commands, audit }: { readonly commands: CommandActions; readonly audit: DashboardAudit },
  place: string,
  { directory, files }: { readonly directory: StateDir; readonly files: Files },
): readonly RunnableAction[] {
  const toRunnable = ({ command, restarts = false, destructive = false, fields, ...about }: CommandRow) => {
    const action: DashboardAction = {
      ...about,
      destructive,
      fields: fields ?? FIELDS[about.subject] ?? [],
      commands: [`compute-agent ${command}${place}`],
    };
    if (about.name === "audit") {
      return audit.toRunnable(action);
    }
    const runnable = restarts ? commands.farewell(action) : commands.toRunnable(action);
    return about.subject === "finding"
      ? audit.withAudit(runnable, wordsOf(`compute-agent audit${place}`, {}))
      : runnable;
  };
  return [
    ...HOST_ACTIONS.map(toRunnable),
    ...MEMBERSHIP_ACTIONS.map(toRunnable),
    createDryRunAction(commands, { directory, files }),
    ...clusterActions(quoted(auditPlanFile(directory))).map(toRunnable),
  ];
}

/** Returns the path where the dashboard's audits write their plan. */
export function auditPlanFile(directory: StateDir): string {
  return join(directory.root, "window-plan.json");
}

/** Runs with the arguments that the host was started with: other options would inspect another hypervisor. */
function createDryRunAction(
  commands: CommandActions,
  { directory, files }: { readonly directory: StateDir; readonly files: Files },
): RunnableAction {
  return {
    action: {
      name: "dry-run",
      subject: "host",
      label: "Dry run",
      summary:
        "Lists the guests that a start of the agent would destroy, and the allocations that it would edit. Changes nothing.",
      destructive: false,
      fields: [HOST],
      commands: [`compute-agent --host {host} --dry-run --state-dir ${quoted(directory.root)}`],
    },
    run: async (body) => {
      const savedSettings = await new HostSettingsStore(files, directory).read();
      const host = String(body.host);
      const setting = Object.hasOwn(savedSettings, host) ? savedSettings[host] : undefined;
      const words = ["compute-agent", "--host", host, "--dry-run", "--state-dir", directory.root];
      words.push(...(setting === undefined ? [] : hostArguments(setting)));
      return { lines: await commands.run(words, REJECTED_EXIT_CODES), commands: [words.map(quoted).join(" ")] };
    },
  };
}
