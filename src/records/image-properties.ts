import type { Flavor, Resources } from "./flavor.js";
import type { Instance } from "./instance.js";
import { flavorResources, type ServerNeed } from "./resource-request.js";

/** Before the names of an image's properties in an instance's system metadata. */
const PREFIX = "image_";

type Metadata = Instance["systemMetadata"];

/** System metadata that keeps what the image said when the server was made or rebuilt: images change and go. */
export function withImageProperties(metadata: Metadata, properties: Readonly<Record<string, string>>): Metadata {
  const rest = Object.entries(metadata).filter(([key]) => !key.startsWith(PREFIX));
  const noted = Object.entries(properties).map(([name, value]) => [`${PREFIX}${name}`, value] as const);
  return Object.fromEntries([...rest, ...noted]);
}

export function imagePropertiesOf({ systemMetadata }: Pick<Instance, "systemMetadata">): Record<string, string> {
  return Object.fromEntries(
    Object.entries(systemMetadata)
      .filter(([key]) => key.startsWith(PREFIX))
      .map(([key, value]) => [key.slice(PREFIX.length), value]),
  );
}

/** An instance without an image boots from a volume. */
export const isVolumeBacked = ({ imageRef }: Pick<Instance, "imageRef">): boolean => imageRef === "";

/** What an instance asks of Placement beside its flavor. */
function serverNeed(instance: Pick<Instance, "imageRef" | "systemMetadata">): ServerNeed {
  return { volumeBacked: isVolumeBacked(instance), imageProperties: imagePropertiesOf(instance) };
}

/** What an instance holds in Placement at rest; with another flavor: what it would hold with that. */
export function instanceResources(instance: Instance, flavor: Flavor = instance.flavor): Resources {
  return flavorResources(flavor, serverNeed(instance));
}
