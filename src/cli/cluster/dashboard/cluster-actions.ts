import { join } from "node:path";
import { quoted } from "../../../control-plane/identity/openrc.js";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import type { RunnableAction } from "../../../dashboard/actions.js";
import type { ActionField, DashboardAction } from "../../../dashboard/wire/messages.js";
import type { Files } from "../../../runtime/files.js";
import { HostSettingsStore } from "../host-settings.js";
import { hostArguments } from "../up-children.js";
import type { CommandActions } from "./command-action.js";

/** The exit code of `--dry-run` for a start that would be rejected. */
const REJECTED_EXIT_CODES = [3];

const ONLY: ActionField = { name: "only", label: "Only of this consumer or provider", type: "text", required: false };

const HOST: ActionField = { name: "host", label: "Host", type: "host", required: true };

type About = Pick<DashboardAction, "name" | "label" | "summary" | "subject"> & Partial<DashboardAction>;

const clusterAction = (about: About, command: string): DashboardAction => ({
  destructive: false,
  fields: [],
  commands: [command],
  ...about,
});

/**
 * Creates the actions for the cluster, which run commands.
 * @param place option that selects the cluster: ` --name ci-7`
 */
export function createClusterActions(
  commands: CommandActions,
  place: string,
  { directory, files }: { readonly directory: StateDir; readonly files: Files },
): readonly RunnableAction[] {
  const plan = quoted(auditPlanFile(directory));
  return [
    createDryRunAction(commands, { directory, files }),
    commands.toRunnable(
      clusterAction(
        {
          name: "audit",
          label: "Audit",
          summary: "Finds allocations, providers and inventories that are wrong, and writes a plan that mends them",
          subject: "cluster",
        },
        `compute-cluster audit --plan ${plan}${place}`,
      ),
    ),
    commands.toRunnable(
      clusterAction(
        {
          name: "apply",
          label: "Apply",
          summary: "Carries out the plan of the last audit, where nobody has changed anything since",
          subject: "finding",
          destructive: true,
          fields: [ONLY],
        },
        `compute-cluster apply ${plan} [--only {only}]${place}`,
      ),
    ),
    commands.toRunnable(
      clusterAction(
        {
          name: "undo",
          label: "Undo",
          summary: "Takes the edits of the plan back",
          subject: "finding",
          destructive: true,
          fields: [ONLY],
        },
        `compute-cluster apply --undo ${plan} [--only {only}]${place}`,
      ),
    ),
    commands.toRunnable(
      clusterAction(
        {
          name: "snapshot-save",
          label: "Save a snapshot",
          summary: "Saves the whole state; the cluster stands for that, for a second at most",
          subject: "snapshot",
          fields: [{ name: "snapshot", label: "Name", type: "text", required: true }],
        },
        `compute-cluster snapshot save {snapshot}${place}`,
      ),
    ),
    commands.farewell(
      clusterAction(
        {
          name: "snapshot-restore",
          label: "Restore",
          summary: "Goes back to a saved state: the cluster, and this page's session, start again",
          subject: "snapshot",
          destructive: true,
          fields: [{ name: "snapshot", label: "Name", type: "text", required: true }],
        },
        `compute-cluster snapshot restore {snapshot} --yes${place}`,
      ),
    ),
    commands.farewell(
      clusterAction(
        {
          name: "reset",
          label: "Reset",
          summary: "Goes back to the state after the start: the cluster, and this page's session, start again",
          subject: "cluster",
          destructive: true,
        },
        `compute-cluster reset --yes${place}`,
      ),
    ),
    commands.toRunnable(
      clusterAction(
        {
          name: "scenario-run",
          label: "Run a scenario",
          summary: "Brings the cluster into a bad state, and says what to look at",
          subject: "scenario",
          destructive: true,
          fields: [{ name: "scenario", label: "Scenario", type: "text", required: true }],
        },
        `compute-cluster scenario run {scenario}${place}`,
      ),
    ),
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
  const about: DashboardAction = clusterAction(
    {
      name: "dry-run",
      label: "Dry run",
      summary: "Says what the start of its agent would destroy, and which allocations it would edit; does nothing",
      subject: "host",
      fields: [HOST],
    },
    `compute-agent --host {host} --dry-run --state-dir ${quoted(directory.root)}`,
  );
  return {
    action: about,
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

const REQUIRED_HOST: ActionField = { name: "host", label: "Host", type: "host", required: true };

/** @param place option that selects the cluster: ` --name ci-7` */
export function createHostActions(commands: CommandActions, place: string): readonly RunnableAction[] {
  const action = (
    name: string,
    about: Pick<DashboardAction, "label" | "summary"> & Partial<DashboardAction>,
    ...lines: readonly string[]
  ): DashboardAction => ({
    name,
    subject: "host",
    destructive: false,
    fields: [REQUIRED_HOST],
    commands: lines,
    ...about,
  });
  return [
    commands.toRunnable(
      action(
        "host-kill",
        {
          label: "Kill",
          summary: "Ends its agent as kill -9 does, at any moment; its guests go on",
          destructive: true,
        },
        `compute-cluster host kill {host}${place}`,
      ),
    ),
    commands.toRunnable(
      action(
        "host-stop",
        { label: "Stop", summary: "Has its agent end what it does, and stop; its guests go on", destructive: true },
        `compute-cluster host stop {host}${place}`,
      ),
    ),
    commands.toRunnable(
      action(
        "host-start",
        { label: "Start", summary: "Starts its agent, and waits until servers can be scheduled to it" },
        `compute-cluster host start {host}${place}`,
      ),
    ),
    commands.toRunnable(
      action(
        "fault-set",
        {
          label: "Set a fault",
          summary: "Makes its driver, its Placement, its conductor or a step of an operation fail, hang or be slow",
          fields: [REQUIRED_HOST, { name: "rule", label: "Fault", type: "fault", required: true }],
        },
        `compute-cluster fault set {host} {rule}${place}`,
      ),
    ),
    commands.toRunnable(
      action(
        "fault-clear",
        {
          label: "Clear faults",
          summary: "Takes away one fault, or all of the host",
          fields: [REQUIRED_HOST, { name: "point", label: "Point", type: "fault", required: false }],
        },
        `compute-cluster fault clear {host} [{point}]${place}`,
      ),
    ),
  ];
}
