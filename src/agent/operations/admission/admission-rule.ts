import type { MigrationStatus, TaskState, VmState } from "../../../records/index.js";

/** What has to be so now, whenever the message was sent, for a message to be carried out on this host. */
export interface AdmissionRule {
  /** `nowhere`: no host has it. */
  readonly instance: "here" | "here or nowhere" | "nowhere" | "elsewhere" | "anywhere";
  /** The task_states from which the operation begins; they have to be this request's. */
  readonly tasks: readonly (TaskState | null)[] | "any";
  readonly vmStates?: readonly VmState[];
  /** This host's part in the message's migration, and how far that has come. */
  readonly migration?: {
    readonly part: "source" | "destination";
    readonly statuses: readonly MigrationStatus[] | "any";
  };
  /** Carried out for a deleted instance too: it removes what is left. */
  readonly deleted?: true;
}
