import type { RunnableAction } from "../../../dashboard/actions/action.js";
import type { ActionField, DashboardAction } from "../../../dashboard/wire/actions.js";
import type { CommandActions } from "./command-action.js";

const HOST: ActionField = { name: "host", label: "Host", type: "host", required: true };

/** @param place what has a command find the cluster: ` --name ci-7` */
export function createHostActions(commands: CommandActions, place: string): readonly RunnableAction[] {
  const action = (
    name: string,
    about: Pick<DashboardAction, "label" | "summary"> & Partial<DashboardAction>,
    ...lines: readonly string[]
  ): DashboardAction => ({ name, subject: "host", destructive: false, fields: [HOST], commands: lines, ...about });
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
          fields: [HOST, { name: "rule", label: "Fault", type: "fault", required: true }],
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
          fields: [HOST, { name: "point", label: "Point", type: "fault", required: false }],
        },
        `compute-cluster fault clear {host} [{point}]${place}`,
      ),
    ),
  ];
}
