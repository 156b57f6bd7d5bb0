import fc from "fast-check";
import { GenerationOf, type Json, Spelled } from "./json-text.js";

/** Small pools, so that requests concern the same objects. */
export const PROVIDERS = [1, 2, 3, 4, 5, 6].map((n) => `0000000${n}-1111-4111-8111-11111111111${n}`);
export const CONSUMERS = [1, 2, 3, 4].map((n) => `c000000${n}-2222-4222-8222-22222222222${n}`);
const AGGREGATES = [1, 2, 3].map((n) => `a000000${n}-3333-4333-8333-33333333333${n}`);
const CLASSES = ["VCPU", "VCPU", "VCPU", "VCPU", "DISK_GB", "DISK_GB", "DISK_GB", "MEMORY_MB", "CUSTOM_GOLD"];
const TRAITS = ["HW_CPU_X86_AVX", "CUSTOM_FAST", "COMPUTE_NODE", "MISC_SHARES_VIA_AGGREGATE", "CUSTOM_QUIET"];

/** Generates mostly good values, and rarely a bad one. */
function mostly<T>(good: readonly T[], bad: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof(
    { weight: 60, arbitrary: fc.constantFrom(...good) },
    { weight: 1, arbitrary: fc.constantFrom(...bad) },
  );
}

const BAD_UUIDS = [
  "",
  "nothing",
  "99999999-9999-4999-8999-999999999999",
  "{00000001-1111-4111-8111-111111111111}",
  "it's",
];

export const providerUuid = mostly(PROVIDERS, [
  ...BAD_UUIDS,
  "00000001111141118111111111111111",
  "0000000A-1111-4111-8111-11111111111A",
]);
/** Uuids for paths, which cannot be empty. */
export const providerInPath = mostly(PROVIDERS, ["nothing", "99999999-9999-4999-8999-999999999999", "%20", "a%2Fb"]);
export const consumerUuid = mostly(CONSUMERS, ["nothing", "c0000001222242228222222222222221"]);
export const aggregateUuid = mostly(AGGREGATES, BAD_UUIDS);
export const className = mostly(CLASSES, ["CUSTOM_NONE", "vcpu", "", "A-B", "'quoted'", `CUSTOM_${"X".repeat(250)}`]);
export const classInPath = mostly(CLASSES, ["CUSTOM_NONE", "vcpu", "CUSTOM_A-B", `CUSTOM_${"X".repeat(250)}`]);
export const traitName = mostly(TRAITS, ["CUSTOM_NONE", "", "!!CUSTOM_FAST"]);
export const traitInPath = mostly(TRAITS, ["CUSTOM_NONE", "custom_x", `CUSTOM_${"X".repeat(250)}`]);
export const providerName = mostly(
  ["one", "two", "three", "four", "five", "six"],
  ["", "x".repeat(201), 'naïve "name"', "€"],
);
export const ownerId = mostly(["p1", "p2", "u1"], ["", "x".repeat(256)]);
export const consumerType = mostly(["INSTANCE", "MIGRATION", "CUSTOM_9"], ["instance", "", "x y", "all", "unknown"]);

/** Strings with white space and quotes, numbers at the limits, and values of wrong types. */
export const junk: fc.Arbitrary<Json> = fc.constantFrom<Json>(
  null,
  true,
  false,
  0,
  -1,
  1,
  2147483648,
  new Spelled("4.0"),
  new Spelled("1.5"),
  new Spelled("1e40"),
  new Spelled("123456789012345678901234567890"),
  new Spelled("-0.0"),
  "",
  "text",
  'it\'s "quoted"\n',
  "ünïcödé \u0007",
  "long text with spaces so that it must be cut into several lines when it is printed prettily by Python's pprint",
  [],
  {},
  ["a", "a"],
  { deep: [{ a: 1, b: [1, 2, 3] }, "long enough to be broken into several lines", null, true] },
);

export function generation(uuid: string): fc.Arbitrary<Json> {
  return fc.oneof(
    { weight: 20, arbitrary: fc.constant<Json>(new GenerationOf(uuid)) },
    { weight: 1, arbitrary: fc.constant<Json>(new GenerationOf(uuid, 1)) },
    { weight: 1, arbitrary: fc.constant<Json>(null) },
  );
}

/** Mostly the newest microversion, else any. */
export const minor = fc.oneof(
  { weight: 3, arbitrary: fc.constant(39) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 39 }) },
);
