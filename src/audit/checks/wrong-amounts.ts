import type { ConsumerRemedy, Finding } from "./finding.js";
import type { Facts } from "./inputs.js";
import { type Difference, differences, needOf } from "./need.js";
import { offering } from "./place-need.js";
import { reference, serverSubject } from "./subjects.js";
import { total, type Whereabouts } from "./whereabouts.js";

/** A server that holds on its own compute node something else than its flavor asks for. */
export function wrongAmounts(facts: Facts, placed: readonly Whereabouts[]): Finding[] {
  return placed.flatMap((where) => {
    const { server, root, own } = where;
    if (Object.keys(own).length === 0 || mayBeTwoFlavors(facts, where)) {
      return [];
    }
    const wrong = differences(total(own), needOf(server));
    if (wrong.length === 0) {
      return [];
    }
    const remedies = wrong.map((difference) => remedyOf(facts, where, difference));
    const possible = remedies.filter((remedy) => remedy !== undefined);
    const all = possible.length === remedies.length;
    const told = wrong.map((each) => `${each.resourceClass} ${each.held} instead of ${each.needed}`).join(", ");
    return {
      code: "wrong-amounts" as const,
      subject: serverSubject(server),
      provider: reference(facts, root),
      explanation: `the server holds ${told} on ${facts.name(root)}, by what its flavor needs`,
      remedies: all ? possible : [],
      left: all ? null : "which provider should serve it cannot be told; set its allocations by hand",
    };
  });
}

/** A resize on one host, accounted the Pike way: the old flavor, which the API does not tell, is in the sum (6.4). */
function mayBeTwoFlavors(facts: Facts, { server, root }: Whereabouts): boolean {
  const move = facts.unconfirmed(server);
  return (
    move !== undefined &&
    facts.sourceOf(move)?.uuid === root &&
    (move.uuid === null || Object.keys(facts.heldBy(move.uuid)).length === 0)
  );
}

function remedyOf(
  facts: Facts,
  { server, root, own }: Whereabouts,
  { resourceClass, needed }: Difference,
): ConsumerRemedy | undefined {
  const holding = Object.entries(own).filter(([, amounts]) => resourceClass in amounts);
  const [only, more] = holding.map(([uuid]) => uuid);
  const provider = only ?? offering(facts, root, resourceClass);
  if (more !== undefined || provider === undefined) {
    return undefined;
  }
  return { kind: "hold", consumer: server.id, provider, amounts: { [resourceClass]: needed } };
}
