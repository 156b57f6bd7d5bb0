import { MAX_INTEGER } from "../records/field.js";
import { isObject } from "../runtime/collections.js";
import type { ReshapeAllocations } from "./driver.js";
import { describe } from "./driver-error.js";
import { VirtDriverMisbehaved } from "./errors.js";
import type { LiveMigrateData } from "./move-methods.js";
import type { ProviderTree } from "./provider-tree.js";
import {
  type AttachedVolume,
  type AvailableResource,
  type GuestDiagnostics,
  type GuestInfo,
  POWER_STATES,
  type PowerState,
  type SharedStorageToken,
  type VolumeConnector,
} from "./types.js";
import {
  providersOf,
  type Rule,
  UUID_PATTERN,
  wrongInAllocations,
  wrongInDiagnostics,
  wrongInTree,
} from "./value-checks.js";

/** Maximum length of console output, as in Nova. */
const MAX_CONSOLE_CHARS = 100 * 1024;

const BY_DRIVER = new Map<string, DriverChecks>();

/** Returns the checks of a driver, shared by all hosts of the process that use it. */
export function checksOf(driver: string): DriverChecks {
  const checks = BY_DRIVER.get(driver) ?? new DriverChecks(driver);
  BY_DRIVER.set(driver, checks);
  return checks;
}

/**
 * Checks of the return values of one driver's methods. Each returns the value, or throws an error with the method and the
 * rule.
 */
export class DriverChecks {
  readonly #driver: string;

  constructor(driver: string) {
    this.#driver = driver;
  }

  /** Accepts any return value of methods that return nothing. */
  readonly nothing = (): void => {};

  readonly boolean = (method: string, value: unknown): boolean =>
    typeof value === "boolean" ? value : this.#fail(method, "return true or false", value);

  readonly text = (method: string, value: unknown): string =>
    typeof value === "string" && value !== "" ? value : this.#fail(method, "return a string that is not empty", value);

  /** Any string, including the empty one. */
  readonly anyText = (method: string, value: unknown): string =>
    typeof value === "string" ? value : this.#fail(method, "return a string", value);

  /** The last {@link MAX_CONSOLE_CHARS} characters. */
  readonly consoleOutput = (method: string, value: unknown): string =>
    this.anyText(method, value).slice(-MAX_CONSOLE_CHARS);

  /**
   * Returns a check that the driver's changes of the tree, and of a reshape's allocations, are valid in Placement. The
   * node's root provider must still be in the tree after the call, under the same name.
   */
  editedTree(tree: ProviderTree, node: string, allocations?: ReshapeAllocations): (method: string) => void {
    const root = tree.find(node)?.uuid;
    const before = providersOf(tree, node);
    return (method) => {
      if (root !== undefined && tree.find(root)?.name !== node) {
        const rule = "never remove or rename the root provider";
        throw new VirtDriverMisbehaved(this.#driver, method, rule, `${node} is gone`);
      }
      const wrong = wrongInTree(tree, node, before) ?? wrongInAllocations(allocations);
      if (wrong !== undefined) {
        throw VirtDriverMisbehaved.ofValue(this.#driver, method, { ...wrong, found: describe(wrong.found) });
      }
    };
  }

  readonly uuids = (method: string, value: unknown): readonly string[] => {
    const list = this.#uniqueStrings(method, "uuids", value);
    const wrong = list.find((uuid) => !UUID_PATTERN.test(uuid));
    if (wrong === undefined) {
      return list;
    }
    return this.#fail(method, "return uuids in lower case with hyphens", wrong, "in the list it returned");
  };

  readonly names = (method: string, value: unknown): readonly string[] => this.#uniqueStrings(method, "names", value);

  /** Map of uuid → name. */
  readonly namesByUuid = (method: string, value: unknown): ReadonlyMap<string, string> => {
    if (!(value instanceof Map)) {
      return this.#fail(method, "return a Map of uuid to node name", value);
    }
    const names = new Map<string, string>();
    for (const [uuid, name] of value) {
      if (typeof uuid !== "string" || !UUID_PATTERN.test(uuid)) {
        return this.#fail(method, "return uuids in lower case with hyphens as keys", uuid, "among the keys");
      }
      if (typeof name !== "string" || name === "") {
        return this.#fail(method, "return a node name for each uuid", name, `for ${uuid}`);
      }
      names.set(uuid, name);
    }
    this.#uniqueStrings(method, "node names", [...names.values()]);
    return names;
  };

  readonly guestInfo = (method: string, value: unknown): GuestInfo => {
    if (!isObject(value)) {
      return this.#fail(method, "return an object with the guest's state", value);
    }
    const { state, internalId } = value;
    if (!isPowerState(state)) {
      const states = Object.values(POWER_STATES).join(", ");
      return this.#fail(method, `return one of Nova's power states (${states}) as state`, state);
    }
    if (internalId === undefined) {
      return { state };
    }
    if (typeof internalId === "string") {
      return { state, internalId };
    }
    return this.#fail(method, "return a string as internalId, if any", internalId);
  };

  /** Numbers and strings by names of the driver's own. */
  readonly diagnostics = (method: string, value: unknown): Readonly<Record<string, number | string>> => {
    if (!isObject(value)) {
      return this.#fail(method, "return an object of numbers and strings", value);
    }
    const wrong = Object.entries(value).find(([, item]) => typeof item !== "string" && !Number.isFinite(item));
    if (wrong !== undefined) {
      return this.#fail(method, "return an object of numbers and strings", wrong[1], `as ${wrong[0]}`);
    }
    return value as Readonly<Record<string, number | string>>;
  };

  readonly instanceDiagnostics = (method: string, value: unknown): GuestDiagnostics => {
    if (!isObject(value)) {
      return this.#fail(method, "return an object with the guest's resource usage", value);
    }
    const wrong = wrongInDiagnostics(value);
    if (wrong !== undefined) {
      throw VirtDriverMisbehaved.ofValue(this.#driver, method, { ...wrong, found: describe(wrong.found) });
    }
    return value as unknown as GuestDiagnostics;
  };

  readonly token = (method: string, value: unknown): SharedStorageToken | null => {
    if (value === null) {
      return null;
    }
    if (!isObject(value)) {
      return this.#fail(method, "return a token (an object) or null", value);
    }
    return this.#plain(method, "a token", value);
  };

  readonly volumeConnector = (method: string, value: unknown): VolumeConnector => {
    const rule = "return an object of strings and booleans";
    if (!isObject(value)) {
      return this.#fail(method, rule, value);
    }
    const wrong = Object.entries(value).find(([, item]) => typeof item !== "string" && typeof item !== "boolean");
    if (wrong !== undefined) {
      return this.#fail(method, rule, wrong[1], `as ${wrong[0]}`);
    }
    return value as VolumeConnector;
  };

  readonly attachedVolumes = (method: string, value: unknown): readonly AttachedVolume[] => {
    if (!Array.isArray(value)) {
      return this.#fail(method, "return a list of the guest's volumes", value);
    }
    return value.map((item: unknown) => {
      const { volumeId, deviceName } = isObject(item) ? item : {};
      if (typeof volumeId !== "string" || typeof deviceName !== "string") {
        return this.#fail(method, "return volumeId and deviceName of each of the guest's volumes", item);
      }
      return { volumeId, deviceName };
    });
  };

  readonly liveMigrateData = (method: string, value: unknown): LiveMigrateData => {
    if (!isObject(value)) {
      return this.#fail(method, "return the migration's data (an object)", value);
    }
    const { blockMigration, sharedInstanceFiles } = value;
    for (const [name, flag] of Object.entries({ blockMigration, sharedInstanceFiles })) {
      if (typeof flag !== "boolean") {
        this.#fail(method, `return true or false as ${name} of the migration's data`, flag);
      }
    }
    return this.#plain(method, "data", value);
  };

  /** Accepts a subset of `candidates`, matched by uuid. */
  someOf<T extends { readonly uuid: string }>(method: string, value: unknown, candidates: readonly T[]): readonly T[] {
    const rule = "return a list of instances from its argument, each at most once";
    if (!Array.isArray(value)) {
      return this.#fail(method, rule, value);
    }
    const left = new Map(candidates.map((instance) => [instance.uuid, instance]));
    return value.map((item: unknown) => {
      const uuid = isObject(item) ? item.uuid : undefined;
      const instance = typeof uuid === "string" ? left.get(uuid) : undefined;
      if (!instance) {
        return this.#fail(method, rule, uuid ?? item, "in the list it returned");
      }
      left.delete(instance.uuid);
      return instance;
    });
  }

  /** Spec 4.4 step 1. */
  readonly availableResource = (method: string, value: unknown): AvailableResource => {
    if (!isObject(value)) {
      return this.#fail(method, "return an object with the node's resources", value);
    }
    for (const [key, [rule, holds]] of Object.entries(RESOURCE_RULES)) {
      if (!(key in value)) {
        if (key === "uuid" || key === "stats") {
          continue;
        }
        throw new VirtDriverMisbehaved(this.#driver, method, `return ${key} (${rule})`, "the key is missing");
      }
      if (!holds(value[key])) {
        this.#fail(method, `return ${rule} as ${key}`, value[key]);
      }
    }
    return value as unknown as AvailableResource;
  };

  /** Converts the value to plain JSON, which is the form in which it arrives on another host. */
  #plain<T>(method: string, what: string, value: unknown): T {
    try {
      return JSON.parse(JSON.stringify(value));
    } catch {
      return this.#fail(method, `return ${what} that JSON can represent`, value);
    }
  }

  #uniqueStrings(method: string, what: string, value: unknown): readonly string[] {
    if (!Array.isArray(value)) {
      return this.#fail(method, `return a list of ${what}`, value);
    }
    const unique = new Set<string>();
    for (const item of value as unknown[]) {
      if (typeof item !== "string" || item === "") {
        return this.#fail(method, `return a list of ${what}`, item, "in the list it returned");
      }
      if (unique.has(item)) {
        return this.#fail(method, `return unique ${what}`, item, "twice");
      }
      unique.add(item);
    }
    return [...unique];
  }

  #fail(method: string, rule: string, found: unknown, where = ""): never {
    throw new VirtDriverMisbehaved(this.#driver, method, rule, `found ${describe(found)}${where && ` ${where}`}`);
  }
}

const count: Rule = [
  `a whole number, 0 to ${MAX_INTEGER}`,
  (value) => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= MAX_INTEGER,
];
const amount: Rule = [
  `a number, 0 to ${MAX_INTEGER}`,
  (value) => Number.isFinite(value) && Number(value) >= 0 && Number(value) <= MAX_INTEGER,
];
const name: Rule = ["a string that is not empty", (value) => typeof value === "string" && value !== ""];
const textOrNull: Rule = ["a string or null", (value) => value === null || typeof value === "string"];

const RESOURCE_RULES: Readonly<Record<keyof AvailableResource, Rule>> = {
  vcpus: count,
  memoryMb: count,
  localGb: count,
  vcpusUsed: count,
  memoryMbUsed: count,
  localGbUsed: amount,
  cpuInfo: textOrNull,
  numaTopology: textOrNull,
  hypervisorType: name,
  hypervisorVersion: count,
  hypervisorHostname: name,
  supportedInstances: [
    "a list of [architecture, hypervisor type, vm mode]",
    (value) =>
      Array.isArray(value) &&
      value.every(
        (item: unknown) => Array.isArray(item) && item.length === 3 && item.every((part) => typeof part === "string"),
      ),
  ],
  // Negative if the disks may grow beyond the capacity.
  diskAvailableLeast: [
    "a whole number or null",
    (value) => value === null || (Number.isSafeInteger(value) && Math.abs(Number(value)) <= MAX_INTEGER),
  ],
  uuid: ["a uuid in lower case with hyphens", (value) => typeof value === "string" && UUID_PATTERN.test(value)],
  stats: [
    "an object of strings",
    (value) => isObject(value) && Object.values(value).every((item) => typeof item === "string"),
  ],
};

function isPowerState(value: unknown): value is PowerState {
  return (Object.values(POWER_STATES) as readonly unknown[]).includes(value);
}
