import type { ProviderRow } from "../../wire/placement-rows.js";
import { useDashboard } from "../context.js";
import { barsOf } from "../model/bars.js";
import { byName } from "../model/filters.js";
import { Bar } from "../parts/bar.js";
import { ProviderLink } from "../parts/links.js";

/** A tree of providers; the one that is looked at is marked. */
export function ProviderTree({ root, at = null }: { readonly root: string; readonly at?: string | null }) {
  const tree = useDashboard().cluster.providersOfRoot.get(root);
  const children = new Map<string | null, ProviderRow[]>();
  for (const provider of tree) {
    children.set(provider.parent, [...(children.get(provider.parent) ?? []), provider]);
  }
  return (
    <div class="panel">
      <h2>Provider tree</h2>
      <Branch of={null} children={children} at={at} />
    </div>
  );
}

interface BranchProps {
  readonly of: string | null;
  readonly children: ReadonlyMap<string | null, readonly ProviderRow[]>;
  readonly at: string | null;
}

function Branch({ of, children, at }: BranchProps) {
  const providers = children.get(of) ?? [];
  if (providers.length === 0) {
    return null;
  }
  return (
    <ul class="tree">
      {[...providers]
        .sort((a, b) => byName(a.name, b.name))
        .map((provider) => (
          <li key={provider.uuid}>
            <div class={`tree-node${provider.uuid === at ? " tree-at" : ""}`}>
              <ProviderLink uuid={provider.uuid} />
              <span class="quiet">generation {provider.generation}</span>
              <div class="meters">
                {barsOf([provider]).map((bar) => (
                  <Bar key={bar.resourceClass} bar={bar} />
                ))}
              </div>
            </div>
            <Branch of={provider.uuid} children={children} at={at} />
          </li>
        ))}
    </ul>
  );
}
