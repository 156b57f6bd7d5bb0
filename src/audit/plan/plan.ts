import type { Held, Inventory } from "../read/records.js";

/** What `audit --plan` writes and `apply` carries out. */
export interface Plan {
  readonly version: 1;
  /** The name by which the audit knew it; `apply` takes the plan to no other. */
  readonly cloud: string;
  /** The lines in the order in which they can be done; `--undo` goes from the last to the first. */
  readonly edits: readonly Edit[];
}

export interface Edit {
  /** Codes of the findings that it removes. */
  readonly findings: readonly string[];
  readonly reason: string;
  readonly action: Action;
  /** What takes it back. */
  readonly inverse: Action;
}

export type Action = AllocationsAction | ProviderAction;

/** Replaces what some consumers hold, all or none of them. */
export interface AllocationsAction {
  readonly kind: "allocations";
  readonly consumers: readonly ConsumerChange[];
}

export interface ConsumerChange {
  readonly uuid: string;
  /** The consumer's, assumed to be there before; null: Placement must not know it. */
  readonly generation: number | null;
  readonly before: ConsumerState;
  readonly after: ConsumerState;
}

export interface ConsumerState {
  readonly allocations: Held;
  /** The owner; null where nothing is held, or Placement does not know it. */
  readonly project_id: string | null;
  readonly user_id: string | null;
  /** `unknown` for those that never got a type; null below Placement 1.38. */
  readonly consumer_type: string | null;
}

export type ProviderAction =
  | { readonly kind: "create-provider"; readonly provider: ProviderState }
  | {
      readonly kind: "delete-provider";
      /** The provider's, assumed to be there before. */
      readonly generation: number;
      readonly provider: ProviderState;
    }
  | {
      readonly kind: "rename-provider";
      readonly uuid: string;
      /** Null: the name alone is compared. */
      readonly generation: number | null;
      readonly before: string;
      readonly after: string;
    }
  | {
      readonly kind: "set-inventories";
      readonly uuid: string;
      /** Null: the inventories alone are compared. */
      readonly generation: number | null;
      readonly before: Inventories;
      readonly after: Inventories;
    };

export type Inventories = Readonly<Record<string, Inventory>>;

export interface ProviderState {
  readonly uuid: string;
  readonly name: string;
  readonly parent: string | null;
  readonly inventories: Inventories;
  readonly traits: readonly string[];
  readonly aggregates: readonly string[];
}

/** The consumers or the provider that it changes. */
export function subjectsOf(action: Action): readonly string[] {
  switch (action.kind) {
    case "allocations":
      return action.consumers.map(({ uuid }) => uuid);
    case "create-provider":
    case "delete-provider":
      return [action.provider.uuid];
    case "rename-provider":
    case "set-inventories":
      return [action.uuid];
  }
}

/** The plan with the edits alone that change one of these consumers and providers. @throws {NotInPlan} none changes one of them */
export function onlyOf(plan: Plan, uuids: readonly string[]): Plan {
  const edits = plan.edits.filter(({ action }) => subjectsOf(action).some((uuid) => uuids.includes(uuid)));
  const changed = new Set(edits.flatMap(({ action }) => subjectsOf(action)));
  const strange = uuids.filter((uuid) => !changed.has(uuid));
  if (strange.length > 0) {
    throw new NotInPlan(
      `the plan changes no consumer and no provider ${strange.join(", ")}; audit --plan writes one of what is wrong now`,
    );
  }
  return { ...plan, edits };
}

/** Something was chosen of a plan that is not in it. */
export class NotInPlan extends Error {
  override readonly name = "NotInPlan";
}

/** One line for an operator. */
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
  }
}

function describeChange({ uuid, before, after }: ConsumerChange): string {
  const [had, gets] = [Object.keys(before.allocations).length, Object.keys(after.allocations).length];
  if (gets === 0) {
    return `remove all allocations of ${uuid}`;
  }
  return `${had === 0 ? "create" : "rewrite"} the allocations of ${uuid}`;
}
