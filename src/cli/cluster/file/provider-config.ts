import { join } from "node:path";
import { parse, stringify } from "yaml";
import type { Digests } from "../../../runtime/digests.js";
import type { Files } from "../../../runtime/files.js";
import type { GroupText } from "./cluster-file.js";

/** A provider.yaml that hosts share, in a folder of its own below the state directory. */
export interface ProviderConfigFile {
  /** Absolute; the value of `[compute] provider_config_location`. */
  readonly folder: string;
  readonly text: string;
}

const LOCATION = "compute.provider_config_location=";
const FILE = "cluster-file.yaml";

/** What gives hosts these resources and traits; undefined: there are none. */
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
  // Named after what it says: a group that changes has another one, and agents that run keep theirs.
  return { folder: join(root, "provider-config", digests.sha256(text).slice(0, 16)), text };
}

export function locationOption({ folder }: ProviderConfigFile): string {
  return `${LOCATION}${folder.replaceAll("$", "$$$$")}`;
}

export async function writeProviderConfig({ folder, text }: ProviderConfigFile, files: Files): Promise<void> {
  await files.write(join(folder, FILE), text);
}

/** What {@link writeProviderConfig} wrote for a host with these options, and the other options. */
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
