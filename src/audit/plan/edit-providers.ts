import type { ProviderRemedy } from "../checks/finding.js";
import type { Provider, Snapshot } from "../read/records.js";
import type { Edit, ProviderState } from "./plan.js";

/** What has to be asked for before a provider is deleted, so that it can be made again. */
export interface ProviderDetails {
  readonly traits: readonly string[];
  readonly aggregates: readonly string[];
}

/** Undefined: the provider is gone by now. @param wipes generations that earlier edits of the plan raise it by */
export function editProvider(
  remedy: ProviderRemedy,
  { providers }: Snapshot,
  details: ReadonlyMap<string, ProviderDetails>,
  wipes: ReadonlyMap<string, number>,
): Pick<Edit, "action" | "inverse"> | undefined {
  const { uuid } = remedy;
  if (remedy.kind === "create-provider") {
    const made: ProviderState = { uuid, name: remedy.name, parent: null, inventories: {}, traits: [], aggregates: [] };
    return {
      action: { kind: "create-provider", provider: made },
      inverse: { kind: "delete-provider", generation: 0, provider: made },
    };
  }
  const provider = providers.get(uuid);
  if (!provider) {
    return undefined;
  }
  const { generation, name, inventories } = provider;
  switch (remedy.kind) {
    case "rename-provider":
      return {
        action: { kind: "rename-provider", uuid, generation, before: name, after: remedy.name },
        inverse: { kind: "rename-provider", uuid, generation: null, before: remedy.name, after: name },
      };
    case "set-inventories":
      return {
        action: { kind: "set-inventories", uuid, generation, before: inventories, after: remedy.inventories },
        inverse: { kind: "set-inventories", uuid, generation: null, before: remedy.inventories, after: inventories },
      };
    case "delete-provider": {
      const state = stateOf(provider, details.get(uuid));
      return {
        action: { kind: "delete-provider", generation: generation + (wipes.get(uuid) ?? 0), provider: state },
        inverse: { kind: "create-provider", provider: state },
      };
    }
  }
}

function stateOf(
  { uuid, name, parent, inventories }: Provider,
  { traits, aggregates }: ProviderDetails = { traits: [], aggregates: [] },
): ProviderState {
  return { uuid, name, parent, inventories, traits, aggregates };
}
