import { join } from "node:path";
import { parse, stringify } from "yaml";
import type { SectionTable } from "../../../config/option.js";
import type { Digests } from "../../../runtime/cryptography.js";
import { didYouMean } from "../../../runtime/error-messages.js";
import type { Files } from "../../../runtime/files.js";
import type { GroupText } from "./cluster-file.js";
import { formatValue } from "./yaml-file.js";

/** Keys of a group that set driver options of the same name. */
const OF_DRIVER = ["vcpus", "memory_mb", "disk_gb", "devices"] as const;

const RATIOS = ["cpu", "ram", "disk"] as const;

const DELAY = "delay_";

/** Options of a group's driver. */
export interface DriverOptions {
  readonly driver: string;
  /** Undefined if the driver is not built in; such a driver is loaded only by its agent. */
  readonly sections: SectionTable | undefined;
}

/** Reports a problem at a path below the group. */
type Complain = (path: readonly string[], text: string) => void;

/** Returns a group's values for `-o`, sorted, so that equal groups have equal options however they are written. */
export function optionsOfGroup(
  group: GroupText,
  { driver, sections }: DriverOptions,
  known: SectionTable,
  complain: Complain,
): string[] {
  const [section = "", table] = Object.entries(sections ?? {})[0] ?? [];
  const own = (path: readonly string[], name: string, value: string) => {
    if (table !== undefined && Object.hasOwn(table, name)) {
      return [`${section}.${name}=${value}`];
    }
    const near = path.length > 1 && table !== undefined ? didYouMean(name, Object.keys(table)) : undefined;
    const help = near === undefined ? "" : `; did you mean ${near.replace(DELAY, "")}?`;
    complain(
      path,
      sections === undefined
        ? `driver ${driver} is not built in: set its options by name, under options`
        : `driver ${driver} has no option ${name}${help}`,
    );
    return [];
  };
  const driverOptions = OF_DRIVER.flatMap((key) => {
    const value = group[key];
    return value === undefined ? [] : own([key], key, Array.isArray(value) ? value.join(",") : String(value));
  });
  const delays = Object.entries(group.delays ?? {}).flatMap(([name, seconds]) =>
    own(["delays", name], `${DELAY}${name}`, String(seconds)),
  );
  const ratios = RATIOS.flatMap((key) => {
    const value = group.allocation_ratios?.[key];
    return value === undefined ? [] : [`${key}_allocation_ratio=${value}`];
  });
  const free = Object.entries(group.options ?? {}).flatMap(([name, value]) => {
    checkOption(name, value, known, sections !== undefined, complain);
    return [value].flat().map((one) => `${name}=${one}`);
  });
  // The sort is stable, so that a repeated option keeps its order.
  const all = [...driverOptions, ...delays, ...ratios, ...free];
  const nameOf = (option: string) => option.slice(0, option.indexOf("="));
  const twice = free.find((option) =>
    [...driverOptions, ...delays, ...ratios].some((other) => nameOf(other) === nameOf(option)),
  );
  if (twice !== undefined) {
    complain(["options", nameOf(twice)], `${nameOf(twice)} is set twice: also by a key of the group`);
  }
  return all.sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : nameOf(one) > nameOf(other) ? 1 : 0));
}

/** @param isComplete whether `known` has every section */
function checkOption(
  optionName: string,
  value: unknown,
  known: SectionTable,
  isComplete: boolean,
  complain: Complain,
): void {
  const path = ["options", optionName];
  const [section = "", name] = optionName.includes(".") ? optionName.split(".") : ["DEFAULT", optionName];
  if (!Object.hasOwn(known, section)) {
    if (isComplete) {
      complain(path, `there is no section [${section}]${hint(section, Object.keys(known))}`);
    }
    return;
  }
  const table = known[section] ?? {};
  const option = Object.hasOwn(table, name ?? "") ? table[name ?? ""] : undefined;
  if (option === undefined) {
    complain(path, `there is no option ${name} in [${section}]${hint(name ?? "", Object.keys(table))}`);
  } else if (!String(value).includes("$") && option.type.parse([value].flat().map(String)) === undefined) {
    complain(path, `${optionName}: found ${formatValue(value)}, expected ${option.type.expected}`);
  }
}

function hint(name: string, known: readonly string[]): string {
  const near = didYouMean(name, known);
  return near === undefined ? "" : `; did you mean ${near}?`;
}

/** Converts options back to keys of a group; the rest becomes its `options`. */
export function keysOfOptions(options: readonly string[], section: string | undefined): Partial<GroupText> {
  const found: Record<string, unknown> = {};
  const delays: Record<string, number> = {};
  const ratios: Record<string, number> = {};
  const free: Record<string, string | string[]> = {};
  for (const option of options) {
    const at = option.indexOf("=");
    const [name, value] = [option.slice(0, at), option.slice(at + 1)];
    const own = section !== undefined && name.startsWith(`${section}.`) ? name.slice(section.length + 1) : "";
    const ratio = RATIOS.find((key) => name === `${key}_allocation_ratio`);
    const isNumber = /^\d+(\.\d+)?$/.test(value);
    if (own === "devices") {
      found.devices = value.split(",").map((device) => device.trim());
    } else if (OF_DRIVER.some((key) => key === own) && isNumber) {
      found[own] = Number(value);
    } else if (own.startsWith(DELAY) && isNumber) {
      delays[own.slice(DELAY.length)] = Number(value);
    } else if (ratio !== undefined && isNumber) {
      ratios[ratio] = Number(value);
    } else {
      const before = free[name];
      free[name] = before === undefined ? value : [before, value].flat();
    }
  }
  const some = (name: string, record: object) => (Object.keys(record).length === 0 ? {} : { [name]: record });
  return { ...found, ...some("delays", delays), ...some("allocation_ratios", ratios), ...some("options", free) };
}

/** A provider.yaml that hosts share, in a separate folder below the state directory. */
export interface ProviderConfigFile {
  /** Absolute; the value of `[compute] provider_config_location`. */
  readonly folder: string;
  readonly text: string;
}

const LOCATION = "compute.provider_config_location=";

const FILE = "cluster-file.yaml";

/** Creates the provider.yaml with these resources and traits; undefined if there are none. */
export function providerConfigOf(
  { resources = {}, traits = [] }: Pick<GroupText, "resources" | "traits">,
  { root }: { readonly root: string },
  digests: Pick<Digests, "sha256">,
): ProviderConfigFile | undefined {
  const inventories = Object.entries(resources).map(([name, inventory]) => ({ [name]: inventory }));
  if (inventories.length === 0 && traits.length === 0) {
    return undefined;
  }
  const text = stringify({
    meta: { schema_version: "1.0" },
    providers: [
      {
        identification: { uuid: "$COMPUTE_NODE" },
        ...(inventories.length === 0 ? {} : { inventories: { additional: inventories } }),
        ...(traits.length === 0 ? {} : { traits: { additional: traits } }),
      },
    ],
  });
  // The folder is named after the content: a changed group gets a new one, and running agents keep theirs.
  return { folder: join(root, "provider-config", digests.sha256(text).slice(0, 16)), text };
}

export function locationOption({ folder }: ProviderConfigFile): string {
  return `${LOCATION}${folder.replaceAll("$", "$$$$")}`;
}

export async function writeProviderConfig({ folder, text }: ProviderConfigFile, files: Files): Promise<void> {
  await files.write(join(folder, FILE), text);
}

/** Reads what {@link writeProviderConfig} wrote for a host with these options, and returns the other options. */
export async function readProviderConfig(
  options: readonly string[],
  { root }: { readonly root: string },
  files: Files,
): Promise<{ readonly keys: Pick<GroupText, "resources" | "traits">; readonly others: readonly string[] }> {
  const option = options.find((one) => one.startsWith(LOCATION));
  const folder = option?.slice(LOCATION.length).replaceAll("$$", "$") ?? "";
  const text = folder.startsWith(join(root, "provider-config"))
    ? await files.readIfPresent(join(folder, FILE))
    : undefined;
  if (text === undefined) {
    return { keys: {}, others: options };
  }
  const [provider] = (parse(text) as { providers: [Written] }).providers;
  const resources = Object.assign({}, ...(provider.inventories?.additional ?? []));
  const traits = provider.traits?.additional ?? [];
  return {
    keys: {
      ...(Object.keys(resources).length === 0 ? {} : { resources }),
      ...(traits.length === 0 ? {} : { traits: [...traits] }),
    },
    others: options.filter((one) => one !== option),
  };
}

interface Written {
  readonly inventories?: { readonly additional: readonly Readonly<Record<string, object>>[] };
  readonly traits?: { readonly additional: readonly string[] };
}
