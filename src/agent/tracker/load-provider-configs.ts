import type { Runtime } from "../../runtime/runtime.js";
import { ProviderConfigException } from "./errors.js";
import type { ProviderConfig } from "./provider-config.js";

/**
 * Loads every `*.yaml` of the folder, sorted by name; an absent folder is empty. Done once a process.
 * @throws {ProviderConfigException} naming the file and the rule that it breaks.
 */
export async function loadProviderConfigs(
  folder: string,
  deps: Pick<Runtime, "files" | "modules" | "logger">,
): Promise<readonly ProviderConfig[]> {
  const loaded: ProviderConfig[] = [];
  const filesById = new Map<string, string>();
  for (const name of await deps.files.list(folder)) {
    if (!name.endsWith(".yaml")) {
      continue;
    }
    const file = `${folder.replace(/\/$/, "")}/${name}`;
    // Few have such a file, and reading YAML is much to load.
    const { parseProviderConfig } = await deps.modules.load(() => import("./parse-provider-config.js"));
    for (const config of parseProviderConfig(file, await deps.files.read(file), deps.logger)) {
      const id = "uuid" in config.identification ? config.identification.uuid : config.identification.name;
      const first = filesById.get(id);
      if (first !== undefined) {
        throw new ProviderConfigException(
          `${file}: provider ${id} is described twice (first in ${first}); describe each provider once`,
        );
      }
      filesById.set(id, file);
      loaded.push(config);
    }
  }
  return loaded;
}
