import fc from "fast-check";
import { aggregateUuid, className, consumerType, ownerId, providerName, providerUuid, traitName } from "./pools.js";

type Parameter = readonly [string, string];

const amount = fc.constantFrom("30", "0", "-1", "x", "", " 2", "1_0");
const resource = fc.tuple(
  className,
  fc.oneof({ weight: 30, arbitrary: fc.constantFrom("1", "1", "2", "4") }, { weight: 1, arbitrary: amount }),
);
const resources = fc
  .uniqueArray(resource, { minLength: 1, maxLength: 3, selector: ([name]) => name })
  .map((pairs) => pairs.map(([name, count]) => `${name}:${count}`).join(","));

const traitList = fc
  .array(fc.tuple(fc.constantFrom("", "", "!"), traitName), { minLength: 1, maxLength: 2 })
  .map((traits) => traits.map(([mark, name]) => mark + name).join(","));
const required = fc.oneof(
  { weight: 3, arbitrary: traitList },
  { weight: 1, arbitrary: fc.array(traitName, { minLength: 1, maxLength: 2 }).map((names) => `in:${names.join(",")}`) },
);
const memberOf = fc
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

/**
 * Generates parameters of allocation candidates for groups with these suffixes, nearly always parameters that the
 * microversion knows.
 */
export function candidateFilters(minor: number): fc.Arbitrary<Parameter[]> {
  const suffixes = minor < 25 ? [""] : minor < 33 ? ["", "1", "2"] : ["", "1", "_B", "-c"];
  const groups = fc.uniqueArray(fc.constantFrom(...suffixes), { minLength: 1, maxLength: minor < 25 ? 1 : 3 });
  const traits = fitting(required, (text) => (minor >= 22 || !text.includes("!")) && (minor >= 39 || !isAnyOf(text)));
  const members = fitting(memberOf, (text) => minor >= 32 || !text.startsWith("!"));
  return groups.chain((used) => {
    const own = used.flatMap((suffix) => [
      rarelyNot(named(`resources${suffix}`, resources)),
      since(minor, 17, named(`required${suffix}`, traits)),
      since(minor, 21, named(`member_of${suffix}`, members)),
      since(minor, 24, named(`member_of${suffix}`, members)),
      since(minor, 31, named(`in_tree${suffix}`, providerUuid)),
    ]);
    const granular = used.filter((suffix) => suffix !== "");
    const subtrees = fc.oneof(
      {
        weight: 12,
        arbitrary: fc.subarray(granular, { minLength: Math.min(1, granular.length) }),
      },
      { weight: 1, arbitrary: fc.subarray([...granular, "zz"], { minLength: 1 }) },
    );
    const policy = fc.oneof(
      { weight: 30, arbitrary: fc.constantFrom("none", "isolate") },
      { weight: 1, arbitrary: fc.constant("other") },
    );
    const limit = fc.oneof(
      { weight: 15, arbitrary: fc.constantFrom("1", "2", "1000") },
      { weight: 1, arbitrary: fc.constantFrom("0", "x") },
    );
    const sameSubtree = named(
      "same_subtree",
      subtrees.map((each) => each.join(",")),
    );
    const wide = [
      minor < 25 ? never : (granular.length > 1 ? rarelyNot : sometimes)(named("group_policy", policy)),
      sometimes(named("limit", limit)),
      since(minor, 35, named("root_required", traitList)),
      granular.length === 0 ? never : since(minor, 36, sameSubtree),
    ];
    return fc.tuple(...own, ...wide).map((all) => all.filter((each): each is Parameter => each !== null));
  });
}

function isAnyOf(text: string): boolean {
  return text.startsWith("in:");
}

/** Generates mostly strings that fit, and rarely any. */
function fitting(strings: fc.Arbitrary<string>, fits: (text: string) => boolean): fc.Arbitrary<string> {
  return fc.oneof({ weight: 25, arbitrary: strings.filter(fits) }, { weight: 1, arbitrary: strings });
}

/** Generates a parameter for some requests from a microversion on, and for very few before. */
function since(minor: number, first: number, parameter: fc.Arbitrary<Parameter>): fc.Arbitrary<Parameter | null> {
  if (minor >= first) {
    return sometimes(parameter);
  }
  return fc.oneof({ weight: 50, arbitrary: never }, { weight: 1, arbitrary: parameter });
}

const never: fc.Arbitrary<Parameter | null> = fc.constant(null);

function sometimes(parameter: fc.Arbitrary<Parameter>): fc.Arbitrary<Parameter | null> {
  return fc.oneof({ weight: 4, arbitrary: never }, { weight: 1, arbitrary: parameter });
}

function rarelyNot(parameter: fc.Arbitrary<Parameter>): fc.Arbitrary<Parameter | null> {
  return fc.oneof({ weight: 1, arbitrary: never }, { weight: 25, arbitrary: parameter });
}
