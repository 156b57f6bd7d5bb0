import { AuditError } from "../errors.js";
import type { Held, Inventory, PortBinding } from "../read/records.js";

/** The plan that `audit --plan` writes and `apply` applies. */
export interface Plan {
  readonly version: 1;
  /** The audited cloud's name; `apply` rejects any other cloud. */
  readonly cloud: string;
  /** The edits in the order of application; `--undo` processes them in reverse. */
  readonly edits: readonly Edit[];
}

export interface Edit {
  /** Codes of the findings that the edit removes. */
  readonly findings: readonly string[];
  readonly reason: string;
  readonly action: Action;
  /** The action that undoes the edit. */
  readonly inverse: Action;
}

export type Action = AllocationsAction | ProviderAction | PortAction | VolumeAction;

/** Replaces the allocations of some consumers atomically. */
export interface AllocationsAction {
  readonly kind: "allocations";
  readonly consumers: readonly ConsumerChange[];
}

export interface ConsumerChange {
  readonly uuid: string;
  /** The consumer's expected generation before the change; null if the consumer must not exist. */
  readonly generation: number | null;
  readonly before: ConsumerState;
  readonly after: ConsumerState;
}

export interface ConsumerState {
  readonly allocations: Held;
  /** The owner; null if there are no allocations or Placement does not know it. */
  readonly project_id: string | null;
  readonly user_id: string | null;
  /** `unknown` if the consumer never got a type; null below Placement 1.38. */
  readonly consumer_type: string | null;
}

export type ProviderAction =
  | { readonly kind: "create-provider"; readonly provider: ProviderState }
  | {
      readonly kind: "delete-provider";
      /** The provider's expected generation before the change. */
      readonly generation: number;
      readonly provider: ProviderState;
    }
  | {
      readonly kind: "rename-provider";
      readonly uuid: string;
      /** If null, only the name is compared. */
      readonly generation: number | null;
      readonly before: string;
      readonly after: string;
    }
  | {
      readonly kind: "set-inventories";
      readonly uuid: string;
      /** If null, only the inventories are compared. */
      readonly generation: number | null;
      readonly before: Inventories;
      readonly after: Inventories;
    };

export type PortAction =
  | { readonly kind: "set-port"; readonly uuid: string; readonly before: PortState; readonly after: PortState }
  | { readonly kind: "create-binding"; readonly port: string; readonly binding: PortBinding }
  | { readonly kind: "delete-binding"; readonly port: string; readonly binding: PortBinding };

/** The device and the host of a port; empty: none. */
export interface PortState {
  readonly device_id: string;
  readonly device_owner: string;
  readonly host: string;
}

export type VolumeAction =
  /** Sets the status of a volume. */
  | { readonly kind: "set-volume"; readonly uuid: string; readonly before: string; readonly after: string }
  | {
      readonly kind: "delete-attachment";
      readonly attachment: string;
      readonly volume: string;
      readonly server: string;
    }
  /** The inverse of an action that cannot be undone. */
  | { readonly kind: "irreversible"; readonly uuid: string; readonly reason: string };

export type Inventories = Readonly<Record<string, Inventory>>;

export interface ProviderState {
  readonly uuid: string;
  readonly name: string;
  readonly parent: string | null;
  readonly inventories: Inventories;
  readonly traits: readonly string[];
  readonly aggregates: readonly string[];
}

/** Returns the uuids of the consumers, the provider, the port, or the attachment and its volume that the action changes. */
export function subjectsOf(action: Action): readonly string[] {
  switch (action.kind) {
    case "allocations":
      return action.consumers.map(({ uuid }) => uuid);
    case "create-provider":
    case "delete-provider":
      return [action.provider.uuid];
    case "rename-provider":
    case "set-inventories":
    case "set-port":
    case "set-volume":
    case "irreversible":
      return [action.uuid];
    case "delete-attachment":
      return [action.attachment, action.volume];
    case "create-binding":
    case "delete-binding":
      return [action.port];
  }
}

/**
 * Returns the plan reduced to the edits of these consumers, providers, ports, volumes and attachments.
 * @throws {AuditError} no edit changes one of them
 */
export function onlyOf(plan: Plan, uuids: readonly string[]): Plan {
  const edits = plan.edits.filter(({ action }) => subjectsOf(action).some((uuid) => uuids.includes(uuid)));
  const changed = new Set(edits.flatMap(({ action }) => subjectsOf(action)));
  const strange = uuids.filter((uuid) => !changed.has(uuid));
  if (strange.length > 0) {
    throw new AuditError(
      "NotInPlan",
      `the plan changes no consumer, provider, port, volume or attachment ${strange.join(", ")}; write a current plan with audit --plan`,
    );
  }
  return { ...plan, edits };
}

/** Describes the action on one line for an operator. */
export function describeAction(action: Action): string {
  switch (action.kind) {
    case "allocations":
      return action.consumers.map(describeChange).join("; ");
    case "create-provider":
      return `create provider ${action.provider.name} (${action.provider.uuid})`;
    case "delete-provider":
      return `delete provider ${action.provider.name} (${action.provider.uuid})`;
    case "rename-provider":
      return `rename provider ${action.uuid} from ${action.before} to ${action.after}`;
    case "set-inventories":
      return `set inventories of provider ${action.uuid}`;
    case "set-port":
      return describePort(action);
    case "create-binding":
    case "delete-binding":
      return `${action.kind === "create-binding" ? "create" : "delete"} the inactive binding of port ${action.port} on ${action.binding.host}`;
    case "set-volume":
      return `set the status of volume ${action.uuid} from ${action.before} to ${action.after}`;
    case "delete-attachment":
      return `delete attachment ${action.attachment} of volume ${action.volume} to server ${action.server}`;
    case "irreversible":
      return `${action.uuid} stays as it is`;
  }
}

function describePort({ uuid, before, after }: Extract<PortAction, { readonly kind: "set-port" }>): string {
  if (before.device_id !== after.device_id) {
    return after.device_id === ""
      ? `remove port ${uuid} from server ${before.device_id}`
      : `give port ${uuid} to server ${after.device_id}`;
  }
  return after.host === "" ? `unbind port ${uuid}` : `bind port ${uuid} to host ${after.host}`;
}

function describeChange({ uuid, before, after }: ConsumerChange): string {
  const [had, gets] = [Object.keys(before.allocations).length, Object.keys(after.allocations).length];
  if (gets === 0) {
    return `remove all allocations of ${uuid}`;
  }
  return `${had === 0 ? "create" : "rewrite"} the allocations of ${uuid}`;
}
