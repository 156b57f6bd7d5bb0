import fc from "fast-check";
import { allocations } from "./bodies.js";
import type { Json } from "./json-text.js";
import { CONSUMERS, PROVIDERS } from "./pools.js";
import { newest, put } from "./requests.js";
import type { Step } from "./step.js";

type Parameter = readonly [string, string];

const AGGREGATE = "a0000001-3333-4333-8333-333333333331";

/**
 * Typical trees of compute hosts, as parent indexes: resources of all guests at the root, those of graphics cards below
 * it.
 */
const SHAPES: readonly (readonly (number | null)[])[] = [
  [null, 0, 0],
  [null, 0, 0, 0],
  [null, 0, 0, null, 3],
  [null, 0, 1, 1],
  [null, 0, 0, null, 3, 3],
  [null, 0, 0, null, 3, null],
];

const TRAITS = ["COMPUTE_NODE", "CUSTOM_FAST", "HW_NUMA_ROOT"];

interface Node {
  readonly stock: Readonly<Record<string, Json>>;
  readonly traits: readonly string[];
  readonly shares: boolean;
  readonly member: boolean;
}

function node(isRoot: boolean, sharing: boolean): fc.Arbitrary<Node> {
  const names = isRoot ? ["VCPU", "MEMORY_MB", "DISK_GB"] : ["VGPU", "DISK_GB"];
  const rare = isRoot ? ["VGPU"] : ["VCPU"];
  return fc
    .record({
      usual: fc.subarray(names, { minLength: isRoot ? 2 : 1 }),
      odd: rarely(fc.constantFrom(...rare)),
      total: fc.integer({ min: 2, max: 8 }),
      most: fc.constantFrom(1, 2, 8, 8),
      traits: fc.subarray(TRAITS),
      shares: sharing && isRoot ? fc.boolean() : fc.constant(false),
      member: fc.boolean(),
    })
    .map(({ usual, odd, total, most, traits, shares, member }) => ({
      stock: Object.fromEntries(
        [...usual, ...(odd === null ? [] : [odd])].map((name) => [name, { total, max_unit: most }]),
      ),
      traits,
      shares,
      member,
    }));
}

function world(sharing: boolean): fc.Arbitrary<Step[]> {
  return fc.constantFrom(...SHAPES).chain((shape) =>
    fc.tuple(...shape.map((up) => node(up === null, sharing))).map((nodes) =>
      [put("/traits/CUSTOM_FAST")].concat(
        nodes.flatMap(({ stock, traits, shares, member }, index) => {
          const uuid = PROVIDERS[index] ?? "";
          const up = shape[index] ?? null;
          const base = `/resource_providers/${uuid}`;
          const body = {
            name: `tree ${index}`,
            uuid,
            parent_provider_uuid: up === null ? null : (PROVIDERS[up] ?? ""),
          };
          const aggregates = member && sharing ? [AGGREGATE] : [];
          return [
            { ...put("/resource_providers", body), method: "POST" },
            put(`${base}/inventories`, { resource_provider_generation: 0, inventories: stock }),
            put(`${base}/aggregates`, { aggregates, resource_provider_generation: 1 }),
            put(`${base}/traits`, {
              traits: shares ? [...traits, "MISC_SHARES_VIA_AGGREGATE"] : traits,
              resource_provider_generation: 2,
            }),
          ];
        }),
      ),
    ),
  );
}

function rarely<T>(one: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: one });
}

const amount = fc.constantFrom(1, 1, 2);

function resources(minLength: number): fc.Arbitrary<string> {
  const pair = fc.tuple(fc.constantFrom("VGPU", "VGPU", "VGPU", "DISK_GB", "VCPU"), amount);
  return fc
    .uniqueArray(pair, { minLength, maxLength: 2, selector: ([name]) => name })
    .map((pairs) => pairs.map(([name, count]) => `${name}:${count}`).join(","));
}

const traitQuery = fc
  .tuple(fc.constantFrom("", "", "!"), fc.constantFrom(...TRAITS))
  .map(([mark, name]) => `${mark}${name}`);

/** Generates one group's parameters. A group without resources has a trait and is listed in `same_subtree`. */
function group(suffix: string, resourceless: boolean): fc.Arbitrary<Parameter[]> {
  const parameter = (kind: string, value: fc.Arbitrary<string>) =>
    value.map((text): Parameter => [`${kind}${suffix}`, text]);
  const parts = resourceless
    ? [parameter("required", fc.constantFrom(...TRAITS))]
    : [
        parameter("resources", resources(1)),
        rarely(parameter("required", traitQuery)),
        rarely(parameter("in_tree", fc.constantFrom(...PROVIDERS.slice(0, 3)))),
        rarely(parameter("member_of", fc.constantFrom(AGGREGATE, `!${AGGREGATE}`))),
      ];
  return fc.tuple(...parts).map((all) => all.filter((each) => each !== null));
}

const query: fc.Arbitrary<Parameter[]> = fc
  .record({
    suffixes: fc.subarray(["1", "2", "_A", "_B"], { minLength: 1, maxLength: 3 }),
    unnumbered: fc.integer({ min: 0, max: 3 }),
    resourceless: fc.integer({ min: 0, max: 5 }),
    subtree: fc.boolean(),
  })
  .chain(({ suffixes, unnumbered, resourceless, subtree }) => {
    const used = unnumbered === 0 ? suffixes : ["", ...suffixes];
    const bare = resourceless === 0 && used.length > 1 ? suffixes[0] : undefined;
    const named = fc
      .subarray(suffixes, { minLength: 1 })
      .map((some) => [...new Set([...some, ...(bare === undefined ? [] : [bare])])]);
    return fc
      .tuple(
        fc.tuple(...used.map((suffix) => group(suffix, suffix === bare && suffix !== ""))),
        fc.constantFrom("none", "none", "isolate"),
        rarely(traitQuery),
        subtree || bare !== undefined ? named : fc.constant(null),
      )
      .map(([groups, policy, root, sameSubtree]): Parameter[] => [
        ...groups.flat(),
        ["group_policy", policy],
        ...(root === null ? [] : [["root_required", root] as const]),
        ...(sameSubtree === null ? [] : [["same_subtree", sameSubtree.join(",")] as const]),
      ]);
  });

/** Searches with several groups that request the same classes, on trees with and without sharing providers. */
export const treeSearches: fc.Arbitrary<Step[]> = fc.boolean().chain((sharing) =>
  fc
    .tuple(
      world(sharing),
      fc.array(
        fc
          .constantFrom(...CONSUMERS)
          .chain((uuid) => allocations(uuid, 39).map((body) => put(`/allocations/${uuid}`, body))),
        { maxLength: 2 },
      ),
      fc.array(
        query.map(
          (parameters): Step => ({ method: "GET", path: "/allocation_candidates", query: parameters, headers: newest }),
        ),
        { minLength: 1, maxLength: 40, size: "max" },
      ),
    )
    .map(([start, changes, queries]) => [...start, ...changes, ...queries]),
);
