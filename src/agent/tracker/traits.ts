import type { ProviderTree } from "../../virt/provider-tree.js";

export const DISABLED_TRAIT = "COMPUTE_STATUS_DISABLED";
/** What the tracker always puts on a root (spec 4.7); OWNER_NOVA since service version 73. */
const ALWAYS = ["COMPUTE_NODE", "OWNER_NOVA"] as const;

/**
 * Puts the tracker's own traits on a root and leaves every other one (spec 4.7).
 * @param capabilities trait → supported; what is not supported goes, even if an operator added it.
 * @param disabled the Service row's flag; null: there is no row, the status trait stays as it is.
 */
export function syncRootTraits(
  tree: ProviderTree,
  root: string,
  capabilities: ReadonlyMap<string, boolean>,
  disabled: boolean | null,
): void {
  const before = tree.data(root).traits;
  let after: Set<string> | null = null;
  const put = (trait: string, desired: boolean): void => {
    if (before.has(trait) === desired) {
      return;
    }
    after ??= new Set(before);
    if (desired) {
      after.add(trait);
    } else {
      after.delete(trait);
    }
  };
  for (const trait of ALWAYS) {
    put(trait, true);
  }
  for (const [trait, supported] of capabilities) {
    put(trait, supported);
  }
  if (disabled !== null) {
    put(DISABLED_TRAIT, disabled);
  }
  if (after !== null) {
    tree.updateTraits(root, after);
  }
}
