import { BUILT_IN_DRIVERS } from "../../agent/built-in-drivers.js";
import type { CommandRow } from "./command-action.js";
import { HOST } from "./compute-actions.js";

/** The actions that add hosts to the cluster, and remove one from it. */
export const MEMBERSHIP_ACTIONS: readonly CommandRow[] = [
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
