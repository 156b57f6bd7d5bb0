import { parse, YAMLParseError } from "yaml";
import { isObject } from "../../runtime/collections.js";
import type { Logger } from "../../runtime/runtime.js";
import type { InventoryRecord } from "../../virt/provider-tree.js";
import { EVERY_COMPUTE_NODE, type ProviderConfig, TrackerError } from "./contract.js";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const CUSTOM = /^CUSTOM_[A-Z0-9_]+$/;
/** The key under which Nova stores the file's name. */
const SOURCE_FILE = "__source_file";
const MAX_INTEGER = 2_147_483_647;

/** Keys of an inventory in the file: the record's key, and the min value. */
const INVENTORY_KEYS = {
  total: { key: "total", least: 1 },
  reserved: { key: "reserved", least: 0 },
  min_unit: { key: "minUnit", least: 1 },
  max_unit: { key: "maxUnit", least: 1 },
  step_size: { key: "stepSize", least: 1 },
  allocation_ratio: { key: "allocationRatio", least: 0 },
} as const;

/** Parses the entries of one file. @throws {ProviderConfigException} */
export function parseProviderConfig(file: string, text: string, logger: Logger): readonly ProviderConfig[] {
  const root = mapping(file, "the file", read(file, text));
  if (Object.hasOwn(root, SOURCE_FILE)) {
    throw broken(file, `${SOURCE_FILE} is reserved; remove it`);
  }
  checkVersion(file, root.meta, logger);
  const entries = list(file, "providers", root.providers);
  return entries.flatMap((entry, index) => {
    const where = `providers[${index}]`;
    const config = providerConfig(file, where, mapping(file, where, entry));
    if (Object.keys(config.inventories).length > 0 || config.traits.length > 0) {
      return [config];
    }
    logger.warn("provider has neither additional inventories nor additional traits; the entry is ignored", {
      file,
      entry: where,
    });
    return [];
  });
}

function read(file: string, text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof YAMLParseError) {
      throw broken(file, `it is no valid YAML: ${error.message}`);
    }
    throw error;
  }
}

function checkVersion(file: string, meta: unknown, logger: Logger): void {
  const version = mapping(file, "meta", meta).schema_version;
  const tracker = /^(\d+)\.(\d+)$/.exec(typeof version === "string" ? version : "");
  if (!tracker) {
    throw broken(file, `meta.schema_version must be a quoted version such as '1.0', found ${formatValue(version)}`);
  }
  if (tracker[1] !== "1") {
    throw broken(file, `schema version ${version} is not supported; this agent reads major version 1, such as '1.0'`);
  }
  if (tracker[2] !== "0") {
    logger.warn("minor schema version is newer than this agent knows; it is read as 1.0", { file, version });
  }
}

function providerConfig(file: string, where: string, entry: Record<string, unknown>): ProviderConfig {
  return {
    file,
    identification: identification(file, `${where}.identification`, entry.identification),
    inventories: Object.fromEntries(
      additional(file, `${where}.inventories`, entry.inventories).flatMap((item, index) => {
        const path = `${where}.inventories.additional[${index}]`;
        return Object.entries(mapping(file, path, item)).map(([resourceClass, values]) => [
          custom(file, path, resourceClass, "resource class"),
          inventory(file, `${path}.${resourceClass}`, mapping(file, `${path}.${resourceClass}`, values)),
        ]);
      }),
    ),
    traits: additional(file, `${where}.traits`, entry.traits).map((trait, index) =>
      custom(file, `${where}.traits.additional[${index}]`, trait, "trait"),
    ),
  };
}

function identification(file: string, where: string, value: unknown): ProviderConfig["identification"] {
  const { uuid, name, ...others } = mapping(file, where, value);
  if ((uuid === undefined) === (name === undefined) || Object.keys(others).length > 0) {
    throw broken(
      file,
      `${where} must have exactly one of uuid and name, found ${formatValue(Object.keys(value ?? {}))}`,
    );
  }
  if (typeof name === "string" && name !== "") {
    return { name };
  }
  if (uuid === EVERY_COMPUTE_NODE) {
    return { uuid };
  }
  if (typeof uuid === "string" && UUID.test(uuid)) {
    return { uuid: uuid.toLowerCase() };
  }
  throw broken(file, `${where} must be a uuid, '${EVERY_COMPUTE_NODE}' or a name, found ${formatValue(uuid ?? name)}`);
}

function inventory(file: string, where: string, values: Record<string, unknown>): InventoryRecord {
  const record: Record<string, number> = {};
  for (const [name, value] of Object.entries(values)) {
    const rule = Object.entries(INVENTORY_KEYS).find(([key]) => key === name)?.[1];
    if (!rule) {
      throw broken(file, `${where}.${name} is unknown; allowed are ${Object.keys(INVENTORY_KEYS).join(", ")}`);
    }
    const isRatio = name === "allocation_ratio";
    const valid = typeof value === "number" && (isRatio ? value > 0 : Number.isInteger(value) && value >= rule.least);
    if (!valid || value > MAX_INTEGER) {
      const allowed = isRatio ? "a number over 0" : `a whole number from ${rule.least} to ${MAX_INTEGER}`;
      throw broken(file, `${where}.${name} must be ${allowed}, found ${formatValue(value)}`);
    }
    record[rule.key] = value;
  }
  const { total, ...others } = record;
  if (total === undefined) {
    throw broken(file, `${where} must have a total`);
  }
  return { total, ...others };
}

function additional(file: string, where: string, value: unknown): readonly unknown[] {
  if (value === undefined || value === null) {
    return [];
  }
  return list(file, `${where}.additional`, mapping(file, where, value).additional);
}

function custom(file: string, where: string, value: unknown, what: string): string {
  if (typeof value === "string" && CUSTOM.test(value) && value.length <= 255) {
    return value;
  }
  throw broken(
    file,
    `${where}: ${what} must start with CUSTOM_ and go on with A-Z, 0-9 or _, at most 255 characters; found ${formatValue(value)}`,
  );
}

function mapping(file: string, where: string, value: unknown): Record<string, unknown> {
  if (isObject(value)) {
    return { ...value };
  }
  throw broken(file, `${where} must be a mapping, found ${formatValue(value)}`);
}

function list(file: string, where: string, value: unknown): readonly unknown[] {
  if (value === undefined || value === null) {
    return [];
  }
  if (Array.isArray(value)) {
    return value;
  }
  throw broken(file, `${where} must be a list, found ${formatValue(value)}`);
}

const formatValue = (value: unknown): string => (value === undefined ? "nothing" : JSON.stringify(value));

function broken(file: string, rule: string): TrackerError {
  return new TrackerError("ProviderConfigException", `${file}: ${rule}`);
}
