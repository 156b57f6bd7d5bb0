import {
  CPU_DIAGNOSTICS,
  DISK_DIAGNOSTICS,
  GUEST_DIAGNOSTICS,
  MEMORY_DIAGNOSTICS,
  NIC_DIAGNOSTICS,
} from "../records/index.js";
import type { Rule, WrongValue } from "./value-rules.js";

const COUNTER: Rule = [
  "a whole number from -1, or null",
  (value) => value === null || (Number.isSafeInteger(value) && Number(value) >= -1),
];
const TEXT: Rule = [
  "a text of at most 255 characters, or null",
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

/** The first value of a guest's diagnostics that is none; undefined: all are right. */
export function wrongInDiagnostics(value: Readonly<Record<string, unknown>>): WrongValue | undefined {
  const own = wrongIn(value, "", RULES);
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
      const wrong = wrongIn(item as Readonly<Record<string, unknown>>, `${name}.`, rules);
      if (wrong) {
        return wrong;
      }
    }
  }
  return undefined;
}

function wrongIn(
  value: Readonly<Record<string, unknown>>,
  place: string,
  rules: Readonly<Record<string, Rule>>,
): WrongValue | undefined {
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(rules, name) && !Object.hasOwn(DETAILS, name));
  if (unknown !== undefined) {
    return { path: `${place}${unknown}`, found: value[unknown], expected: "nothing of that name" };
  }
  for (const [name, [expected, holds]] of Object.entries(rules)) {
    if (!holds(value[name])) {
      return { path: `${place}${name}`, found: value[name], expected };
    }
  }
  return undefined;
}
