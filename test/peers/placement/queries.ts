import fc from "fast-check";
import { aggregateUuid, className, consumerType, ownerId, providerName, providerUuid, traitName } from "./pools.js";

type Parameter = readonly [string, string];

const amount = fc.constantFrom("30", "0", "-1", "x", "", " 2", "1_0");
const resource = fc.tuple(
  className,
  fc.oneof({ weight: 30, arbitrary: fc.constantFrom("1", "1", "2", "4") }, { weight: 1, arbitrary: amount }),
);
export const resources = fc
  .uniqueArray(resource, { minLength: 1, maxLength: 3, selector: ([name]) => name })
  .map((pairs) => pairs.map(([name, count]) => `${name}:${count}`).join(","));

const traitList = fc
  .array(fc.tuple(fc.constantFrom("", "", "!"), traitName), { minLength: 1, maxLength: 2 })
  .map((traits) => traits.map(([mark, name]) => mark + name).join(","));
export const required = fc.oneof(
  { weight: 3, arbitrary: traitList },
  { weight: 1, arbitrary: fc.array(traitName, { minLength: 1, maxLength: 2 }).map((names) => `in:${names.join(",")}`) },
);
export const memberOf = fc
  .tuple(fc.constantFrom("", "", "!", "in:", "!in:"), fc.array(aggregateUuid, { minLength: 1, maxLength: 2 }))
  .map(([mark, uuids]) => mark + (mark.endsWith(":") ? uuids.join(",") : uuids[0]));

function some(...parameters: readonly fc.Arbitrary<Parameter>[]): fc.Arbitrary<Parameter[]> {
  return fc.array(fc.oneof(...parameters), { maxLength: 3 });
}

function named(name: string, value: fc.Arbitrary<string>): fc.Arbitrary<Parameter> {
  return value.map((text) => [name, text] as const);
}

export const providerFilters = some(
  named("name", providerName),
  named("uuid", providerUuid),
  named("in_tree", providerUuid),
  named("resources", resources),
  named("required", required),
  named("required", required),
  named("member_of", memberOf),
  named("member_of", memberOf),
  fc.constantFrom(["other", "x"] as const, ["name", ""] as const),
);

export const traitFilters = some(
  named("name", fc.constantFrom("in:CUSTOM_FAST,CUSTOM_QUIET", "startswith:CUSTOM", "startswith:custom_f", "x", "y:z")),
  named("associated", fc.constantFrom("true", "False", "maybe")),
  fc.constant(["other", "x"] as const),
);

export const usageFilters = some(
  named("project_id", ownerId),
  named("project_id", ownerId),
  named("user_id", ownerId),
  named("consumer_type", consumerType),
);

/** Candidates' parameters for groups with these suffixes, of which the first is always asked for resources. */
export function candidateFilters(minor: number): fc.Arbitrary<Parameter[]> {
  const suffixes = minor < 25 ? [""] : minor < 33 ? ["", "1", "2"] : ["", "1", "_B", "-c"];
  const groups = fc.uniqueArray(fc.constantFrom(...suffixes), { minLength: 1, maxLength: minor < 25 ? 1 : 3 });
  return groups.chain((used) => {
    const own = used.flatMap((suffix) => [
      rarelyNot(named(`resources${suffix}`, resources)),
      sometimes(named(`required${suffix}`, required)),
      sometimes(named(`member_of${suffix}`, memberOf)),
      sometimes(named(`member_of${suffix}`, memberOf)),
      minor < 31 ? never : sometimes(named(`in_tree${suffix}`, providerUuid)),
    ]);
    const granular = used.filter((suffix) => suffix !== "");
    const subtrees = fc.subarray([...granular, "zz"], { minLength: 1 }).map((each) => each.join(","));
    const wide = [
      (granular.length > 1 ? rarelyNot : sometimes)(
        named("group_policy", fc.constantFrom("none", "isolate", "none", "isolate", "none", "isolate", "other")),
      ),
      sometimes(named("limit", fc.constantFrom("1", "2", "1000", "1000", "0", "x"))),
      minor < 35 ? never : sometimes(named("root_required", traitList)),
      minor < 36 ? never : sometimes(named("same_subtree", subtrees)),
    ];
    return fc.tuple(...own, ...wide).map((all) => all.filter((each): each is Parameter => each !== null));
  });
}

const never: fc.Arbitrary<Parameter | null> = fc.constant(null);

function sometimes(parameter: fc.Arbitrary<Parameter>): fc.Arbitrary<Parameter | null> {
  return fc.oneof({ weight: 4, arbitrary: never }, { weight: 1, arbitrary: parameter });
}

function rarelyNot(parameter: fc.Arbitrary<Parameter>): fc.Arbitrary<Parameter | null> {
  return fc.oneof({ weight: 1, arbitrary: never }, { weight: 25, arbitrary: parameter });
}
