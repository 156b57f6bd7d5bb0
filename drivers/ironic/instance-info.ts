import type { ImageMeta, Instance, NetworkInfo } from "../../src/virt/index.js";
import type { PatchStep } from "./client/ironic-api.js";
import type { IronicNode } from "./client/ironic-node.js";

interface InstanceInfoOptions {
  readonly image: ImageMeta;
  readonly network: readonly NetworkInfo[];
  /** `--host` */
  readonly host: string;
  /** Given by a rebuild only. */
  readonly preserveEphemeral?: boolean;
}

/** What Ironic knows of an instance; all values but traits are texts. The order is nova's. */
export function instanceInfoPatch(
  node: IronicNode,
  instance: Instance,
  { image, network, host, preserveEphemeral }: InstanceInfoOptions,
): readonly PatchStep[] {
  const { flavor, systemMetadata } = instance;
  const capabilities = specs(flavor.extraSpecs, "capabilities:");
  const traits = requiredTraits(flavor.extraSpecs, image.properties);
  const fixedIps = network.map(({ address }) => address).filter((address) => address !== "");
  const info: readonly (readonly [key: string, value: unknown])[] = [
    ...(image.id === "" ? [] : [["image_source", image.id] as const]),
    ["root_gb", String(instance.rootGb)],
    ["swap_mb", String(flavor.swap)],
    ["display_name", instance.displayName],
    ["vcpus", String(instance.vcpus)],
    ["nova_host_id", host],
    ["memory_mb", String(instance.memoryMb)],
    ["local_gb", node.properties.localGb ?? "0"],
    ["project_id", instance.projectId],
    ["project_name", systemMetadata.owner_project_name ?? ""],
    ["user_id", instance.userId],
    ["user_name", systemMetadata.owner_user_name ?? ""],
    ["flavor_name", flavor.name],
    ["fixed_ips", pythonJson(fixedIps)],
    ["floating_ips", "[]"],
    ...(instance.ephemeralGb > 0 ? [["ephemeral_gb", String(instance.ephemeralGb)] as const] : []),
    ...(preserveEphemeral === undefined ? [] : [["preserve_ephemeral", preserveEphemeral ? "True" : "False"] as const]),
    ...(Object.keys(capabilities).length > 0 ? [["capabilities", pythonJson(capabilities)] as const] : []),
    ...(traits.length > 0 ? [["traits", traits] as const] : []),
  ];
  return info.map(([key, value]) => ({ path: `/instance_info/${key}`, op: "add", value }));
}

function specs(properties: Readonly<Record<string, string>>, prefix: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, value]) => [key.slice(prefix.length), value]),
  );
}

/** `trait:T=required` and `trait<group>:T=required` of the flavor, and those of the image. */
function requiredTraits(...sources: readonly Readonly<Record<string, string>>[]): readonly string[] {
  const traits = sources.flatMap((properties) =>
    Object.entries(properties).flatMap(([key, value]) => {
      const [, trait] = /^trait[^:]*:(.+)$/.exec(key) ?? [];
      return trait !== undefined && value === "required" ? [trait] : [];
    }),
  );
  return [...new Set(traits)].sort();
}

/** JSON with Python's spaces, as recorded. */
function pythonJson(value: readonly string[] | Readonly<Record<string, string>>): string {
  return Array.isArray(value)
    ? `[${value.map((item) => JSON.stringify(item)).join(", ")}]`
    : `{${Object.entries(value)
        .map(([key, item]) => `${JSON.stringify(key)}: ${JSON.stringify(item)}`)
        .join(", ")}}`;
}
