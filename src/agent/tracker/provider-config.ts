import { SparseSet } from "../../runtime/collections.js";
import type { Logger, Runtime } from "../../runtime/runtime.js";
import type { InventoryRecord, ProviderTree } from "../../virt/provider-tree.js";
import { EVERY_COMPUTE_NODE, type ProviderConfig, TrackerError } from "./contract.js";

/** Adds provider.yaml's inventories and traits to trees (spec 4.9). One per agent: remembers missing providers. */
export class ProviderMerge {
  readonly #configs: readonly ProviderConfig[];
  readonly #logger: Logger;
  /** Entries whose provider was found since the last {@link endPass}. */
  readonly #met = new SparseSet<ProviderConfig>();
  /** Entries with a logged warning; not repeated until their provider reappears. */
  readonly #absent = new SparseSet<ProviderConfig>();

  constructor(configs: readonly ProviderConfig[], logger: Logger) {
    this.#configs = configs;
    this.#logger = logger;
  }

  /** @throws {TrackerError} one provider is named twice, or the driver sets the same inventory */
  apply(tree: ProviderTree): void {
    if (this.#configs.length === 0) {
      return;
    }
    const chosen = this.#explicit(tree);
    const general = this.#configs.find(isGeneral);
    if (general) {
      for (const root of tree.roots) {
        if (!chosen.has(root) && tree.data(root).traits.has("COMPUTE_NODE")) {
          chosen.set(root, general);
        }
      }
    }
    for (const [uuid, config] of chosen) {
      merge(tree, uuid, config);
    }
  }

  /** Call this when every node of the agent has passed through {@link apply}: warns about entries that match no tree. */
  endPass(): void {
    for (const config of this.#configs) {
      if (isGeneral(config) || this.#met.has(config)) {
        this.#absent.delete(config);
      } else if (!this.#absent.has(config)) {
        this.#absent.add(config);
        this.#logger.warn("provider.yaml describes a provider that is not known", {
          file: config.file,
          provider: idOf(config),
        });
      }
    }
    this.#met.clear();
  }

  #explicit(tree: ProviderTree): Map<string, ProviderConfig> {
    const chosen = new Map<string, ProviderConfig>();
    for (const config of this.#configs) {
      if (isGeneral(config)) {
        continue;
      }
      const id = idOf(config);
      const provider = tree.find(id);
      // A name may have the form of a uuid: only the entry's own kind of identification may match.
      if (!provider || ("uuid" in config.identification ? provider.uuid : provider.name) !== id) {
        continue;
      }
      this.#met.add(config);
      const other = chosen.get(provider.uuid);
      if (other) {
        throw new TrackerError(
          "ValueError",
          `provider ${provider.name} (${provider.uuid}) is named by its uuid and by its name, in ${other.file} and ` +
            `${config.file}; describe it once`,
        );
      }
      chosen.set(provider.uuid, config);
    }
    return chosen;
  }
}

function idOf({ identification }: ProviderConfig): string {
  return "uuid" in identification ? identification.uuid : identification.name;
}

function isGeneral({ identification }: ProviderConfig): boolean {
  return "uuid" in identification && identification.uuid === EVERY_COMPUTE_NODE;
}

function merge(tree: ProviderTree, uuid: string, config: ProviderConfig): void {
  const { name, inventory } = tree.data(uuid);
  for (const [resourceClass, record] of Object.entries(config.inventories)) {
    const found = inventory[resourceClass];
    // A provider that the driver does not rewrite retains the last pass's inventories: that is no conflict.
    if (found && !equalRecords(found, record)) {
      throw new TrackerError(
        "ValueError",
        `${config.file} adds inventory ${resourceClass} to provider ${name} (${uuid}), which has one already; ` +
          "remove it from the file, or choose a class of your own",
      );
    }
  }
  tree.updateInventory(uuid, { ...inventory, ...config.inventories });
  tree.addTraits(uuid, ...config.traits, "OWNER_NOVA");
}

function equalRecords(found: InventoryRecord, record: InventoryRecord): boolean {
  return (Object.keys(record) as (keyof InventoryRecord)[]).every((key) => found[key] === record[key]);
}

/**
 * Loads every `*.yaml` of the folder, sorted by name; a missing folder counts as empty. Done once per process.
 * @throws {ProviderConfigException} naming the file and the violated rule
 */
export async function loadProviderConfigs(
  folder: string,
  { files, modules, logger }: Pick<Runtime, "files" | "modules" | "logger">,
): Promise<readonly ProviderConfig[]> {
  const loaded: ProviderConfig[] = [];
  const filesById = new Map<string, string>();
  for (const name of await files.list(folder)) {
    if (!name.endsWith(".yaml")) {
      continue;
    }
    const file = `${folder.replace(/\/$/, "")}/${name}`;
    // Loaded lazily: few hosts have such a file, and the YAML parser is large.
    const { parseProviderConfig } = await modules.load(() => import("./parse-provider-config.js"));
    for (const config of parseProviderConfig(file, await files.read(file), logger)) {
      const id = idOf(config);
      const first = filesById.get(id);
      if (first !== undefined) {
        throw new TrackerError(
          "ProviderConfigException",
          `${file}: provider ${id} is described twice (first in ${first}); describe each provider once`,
        );
      }
      filesById.set(id, file);
      loaded.push(config);
    }
  }
  return loaded;
}
