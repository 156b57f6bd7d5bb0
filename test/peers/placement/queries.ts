import fc from "fast-check";
import { aggregateUuid, className, consumerType, ownerId, providerName, providerUuid, traitName } from "./pools.js";

type Parameter = readonly [string, string];

const amount = fc.constantFrom("1", "2", "4", "4", "30", "0", "-1", "x", "");
const resource = fc.tuple(
  className,
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom("1", "2", "4") }, { weight: 1, arbitrary: amount }),
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
      fc.option(named(`resources${suffix}`, resources), { freq: 12 }),
      fc.option(named(`required${suffix}`, required), { freq: 1 }),
      fc.option(named(`member_of${suffix}`, memberOf), { freq: 1 }),
      fc.option(named(`in_tree${suffix}`, providerUuid), { freq: 1 }).map((each) => (minor < 31 ? null : each)),
    ]);
    const granular = used.filter((suffix) => suffix !== "");
    const subtrees = fc.subarray(
      [...used, "zz"].filter((suffix) => suffix !== ""),
      { minLength: 1 },
    );
    const wide = [
      fc.option(named("group_policy", fc.constantFrom("none", "isolate", "none", "isolate", "other")), {
        freq: granular.length > 1 ? 20 : 1,
      }),
      fc.option(named("limit", fc.constantFrom("1", "2", "1000", "0", "x")), { freq: 1 }),
      fc.option(named("root_required", traitList), { freq: 1 }).map((each) => (minor < 35 ? null : each)),
      fc
        .option(
          named(
            "same_subtree",
            subtrees.map((each) => each.join(",")),
          ),
          { freq: 1 },
        )
        .map((each) => (minor < 36 ? null : each)),
    ];
    return fc.tuple(...own, ...wide).map((all) => all.filter((each): each is Parameter => each !== null));
  });
}
