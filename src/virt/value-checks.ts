import { MAX_INTEGER } from "../records/field.js";
import {
  CPU_DIAGNOSTICS,
  DISK_DIAGNOSTICS,
  GUEST_DIAGNOSTICS,
  MEMORY_DIAGNOSTICS,
  NIC_DIAGNOSTICS,
} from "../records/index.js";
import type { ReshapeAllocations } from "./driver.js";
import type { ProviderData } from "./provider-data.js";
import type { ProviderTree } from "./provider-tree.js";

/** A description of valid values, and a predicate for them. */
export type Rule = readonly [expected: string, holds: (value: unknown) => boolean];

/** A value that violates its rule. */
interface WrongValue {
  /** Path in the driver's data, such as `inventory VCPU.total`. */
  readonly path: string;
  readonly found: unknown;
  readonly expected: string;
}

function integerFrom(least: number, most = MAX_INTEGER): Rule {
  const range = most === MAX_INTEGER ? `at least ${least}` : `${least} to ${most}`;
  return [
    `an integer of ${range}`,
    (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most,
  ];
}

/** A ratio may be a fraction, but never 0 (bug 1789654). */
const RATIO: Rule = [
  "a number greater than 0",
  (value) => Number.isFinite(value) && Number(value) > 0 && Number(value) <= LARGEST_RATIO,
];

/** Limit of Placement's column. */
const LARGEST_RATIO = 3.40282e38;

function matching(expected: string, pattern: RegExp, longest = 255): Rule {
  return [expected, (value) => typeof value === "string" && value.length <= longest && pattern.test(value)];
}

export const UUID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const COUNTER: Rule = [
  "a whole number from -1, or null",
  (value) => value === null || (Number.isSafeInteger(value) && Number(value) >= -1),
];

const TEXT: Rule = [
  "a string of at most 255 characters, or null",
  (value) => value === null || (typeof value === "string" && value.length <= 255),
];

const FLAG: Rule = ["true or false", (value) => typeof value === "boolean"];

const KINDS = GUEST_DIAGNOSTICS.driver.enum as readonly unknown[];

const KIND: Rule = [`one of ${KINDS.join(", ")}`, (value) => KINDS.includes(value)];

const DETAILS = {
  memoryDetails: MEMORY_DIAGNOSTICS,
  cpuDetails: CPU_DIAGNOSTICS,
  nicDetails: NIC_DIAGNOSTICS,
  diskDetails: DISK_DIAGNOSTICS,
} as const;

const RULES: Readonly<Record<string, Rule>> = {
  driver: KIND,
  hypervisor: TEXT,
  hypervisorOs: TEXT,
  uptime: COUNTER,
  configDrive: FLAG,
};

/** Returns the first invalid value of a guest's diagnostics; undefined if all are valid. */
export function wrongInDiagnostics(value: Readonly<Record<string, unknown>>): WrongValue | undefined {
  const own = wrongInRecord(value, "", RULES);
  if (own) {
    return own;
  }
  for (const [name, fields] of Object.entries(DETAILS)) {
    const rules = Object.fromEntries(
      Object.keys(fields).map((field) => [field, field === "macAddress" ? TEXT : COUNTER]),
    );
    const found = value[name];
    const items = name === "memoryDetails" ? [found] : found;
    if (!Array.isArray(items)) {
      return { path: name, found, expected: "a list" };
    }
    for (const item of items as unknown[]) {
      if (typeof item !== "object" || item === null) {
        return { path: name, found: item, expected: `an object with ${Object.keys(fields).join(", ")}` };
      }
      const wrong = wrongInRecord(item as Readonly<Record<string, unknown>>, `${name}.`, rules);
      if (wrong) {
        return wrong;
      }
    }
  }
  return undefined;
}

function wrongInRecord(
  value: Readonly<Record<string, unknown>>,
  place: string,
  rules: Readonly<Record<string, Rule>>,
): WrongValue | undefined {
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(rules, name) && !Object.hasOwn(DETAILS, name));
  if (unknown !== undefined) {
    return { path: `${place}${unknown}`, found: value[unknown], expected: "no field of that name" };
  }
  for (const [name, [expected, holds]] of Object.entries(rules)) {
    if (!holds(value[name])) {
      return { path: `${place}${name}`, found: value[name], expected };
    }
  }
  return undefined;
}

/** Placement's limits for an inventory. */
const INVENTORY_RULES: Readonly<Record<string, Rule>> = {
  total: integerFrom(1),
  reserved: integerFrom(0),
  minUnit: integerFrom(1),
  maxUnit: integerFrom(1),
  stepSize: integerFrom(1),
  allocationRatio: RATIO,
};

const CLASS = matching("a resource class of capitals, digits and underscores", /^[A-Z0-9_]+$/);

const TRAIT = matching("a trait of capitals, digits and underscores", /^[A-Z0-9_]+$/);

const UUID = matching("a uuid in lower case with hyphens", UUID_PATTERN);

const NAME = matching("a name of 1 to 200 characters", /^[\s\S]+$/, 200);

const AMOUNT = integerFrom(1);

/** Returns the node's providers before the driver edits them; unchanged providers are not checked again. */
export function providersOf(tree: ProviderTree, node: string): ReadonlyMap<string, ProviderData> {
  const uuids = tree.exists(node) ? tree.providerUuidsInTree(node) : [];
  return new Map(uuids.map((uuid) => [uuid, tree.data(uuid)]));
}

/** Returns the first value set by the driver that Placement would reject. */
export function wrongInTree(
  tree: ProviderTree,
  node: string,
  before: ReadonlyMap<string, ProviderData>,
): WrongValue | undefined {
  for (const uuid of tree.exists(node) ? tree.providerUuidsInTree(node) : []) {
    const data = tree.data(uuid);
    if (data !== before.get(uuid)) {
      const wrong = wrongInProvider(data);
      if (wrong !== undefined) {
        return data.name === node ? wrong : { ...wrong, path: `${wrong.path} of provider ${data.name}` };
      }
    }
  }
  return undefined;
}

/** Returns the first amount of a reshape that Placement would reject. */
export function wrongInAllocations(allocations: ReshapeAllocations | undefined): WrongValue | undefined {
  for (const [consumer, byProvider] of allocations ?? []) {
    for (const [provider, amounts] of byProvider) {
      const of = `allocations of ${consumer} on ${provider}`;
      const wrong = Object.entries(amounts).flatMap(([name, amount]) =>
        broken(CLASS, `${of}: the class`, name).concat(broken(AMOUNT, `${of}: ${name}`, amount)),
      );
      if (wrong[0] !== undefined) {
        return wrong[0];
      }
    }
  }
  return undefined;
}

function wrongInProvider({ uuid, name, inventory, traits, aggregates }: ProviderData): WrongValue | undefined {
  const [first] = [
    ...broken(UUID, "the uuid", uuid),
    ...broken(NAME, "the name", name),
    ...Object.entries(inventory).flatMap(([resourceClass, record]) => wrongInInventory(resourceClass, record)),
    ...[...traits].flatMap((trait) => broken(TRAIT, "a trait", trait)),
    ...[...aggregates].flatMap((aggregate) => broken(UUID, "an aggregate", aggregate)),
  ];
  return first;
}

function wrongInInventory(resourceClass: string, record: unknown): readonly WrongValue[] {
  const path = `inventory ${resourceClass}`;
  if (typeof record !== "object" || record === null) {
    return [{ path, found: record, expected: "an object with the total" }];
  }
  const values: Readonly<Record<string, unknown>> = { total: undefined, ...record };
  const wrong = Object.entries(values)
    .filter(([key, value]) => value !== undefined || key === "total")
    .flatMap(([key, value]) => {
      const rule = INVENTORY_RULES[key];
      return rule === undefined
        ? [{ path: `${path}.${key}`, found: value, expected: `one of ${Object.keys(INVENTORY_RULES).join(", ")}` }]
        : broken(rule, `${path}.${key}`, value);
    });
  const units = wrong.length === 0 ? checkCombination(path, values) : [];
  return [...broken(CLASS, "a resource class", resourceClass), ...wrong, ...units];
}

/** Checks combinations that Placement rejects although each value is valid. */
function checkCombination(path: string, { total, reserved }: Readonly<Record<string, unknown>>): readonly WrongValue[] {
  return broken(integerFrom(0, Number(total)), `${path}.reserved`, reserved ?? 0);
}

function broken([expected, holds]: Rule, path: string, found: unknown): WrongValue[] {
  return holds(found) ? [] : [{ path, found, expected }];
}
