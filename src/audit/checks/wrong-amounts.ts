import type { ConsumerRemedy, Finding } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";
import { type Difference, differences, needOf } from "./need.js";
import { offering } from "./place-need.js";
import { reference, serverSubject } from "./subjects.js";
import { total, type Whereabouts } from "./whereabouts.js";

/** A server that holds on its own compute node something else than its flavor asks for. */
export function wrongAmounts(index: SnapshotIndex, placed: readonly Whereabouts[]): Finding[] {
  return placed.flatMap((where) => {
    const { server, root, own } = where;
    if (Object.keys(own).length === 0 || mayBeTwoFlavors(index, where)) {
      return [];
    }
    const wrong = differences(total(own), needOf(server));
    if (wrong.length === 0) {
      return [];
    }
    const remedies = wrong.map((difference) => remedyOf(index, where, difference));
    const possible = remedies.filter((remedy) => remedy !== undefined);
    const all = possible.length === remedies.length;
    const details = wrong.map((each) => `${each.resourceClass} ${each.held} instead of ${each.needed}`).join(", ");
    return {
      code: "wrong-amounts" as const,
      subject: serverSubject(server),
      provider: reference(index, root),
      explanation: `the server holds ${details} on ${index.name(root)}, by what its flavor needs`,
      remedies: all ? possible : [],
      left: all ? null : "which provider should serve it cannot be told; set its allocations by hand",
    };
  });
}

/** A resize on one host, accounted the Pike way: the old flavor, which the API does not tell, is in the sum (6.4). */
function mayBeTwoFlavors(index: SnapshotIndex, { server, root }: Whereabouts): boolean {
  const move = index.unconfirmed(server);
  return (
    move !== undefined &&
    index.sourceOf(move)?.uuid === root &&
    (move.uuid === null || Object.keys(index.heldBy(move.uuid)).length === 0)
  );
}

function remedyOf(
  index: SnapshotIndex,
  { server, root, own }: Whereabouts,
  { resourceClass, needed }: Difference,
): ConsumerRemedy | undefined {
  const holding = Object.entries(own).filter(([, amounts]) => resourceClass in amounts);
  const [only, more] = holding.map(([uuid]) => uuid);
  const provider = only ?? offering(index, root, resourceClass);
  if (more !== undefined || provider === undefined) {
    return undefined;
  }
  return { kind: "hold", consumer: server.id, provider, amounts: { [resourceClass]: needed } };
}
