import { routes } from "../http/router.js";
import type { NetworkRoute } from "./engine/network-call.js";
import type { Registry } from "./engine/network-context.js";
import { EXTENSIONS, type Extension, FURTHER_EXTENSIONS } from "./extensions.js";

/** Extensions that add neither resources nor attributes. */
const WITHOUT_ATTRIBUTES = ["tag-creation"];

/** Creates the routes that list the extensions of the API. */
export function extensionRoutes(registry: Registry): readonly NetworkRoute[] {
  const extensions = servedExtensions(registry);
  return routes<NetworkRoute>(
    {
      "GET /": () => ({ body: { extensions: extensions.map(renderExtension) } }),
      "GET /:alias": (call) => {
        const alias = call.param("alias");
        const extension = extensions.find((one) => one.alias === alias);
        return extension === undefined ? unknownExtension(alias) : { body: { extension: renderExtension(extension) } };
      },
    },
    { prefix: "/v2.0/extensions" },
  );
}

/** Returns the extensions that the descriptions name, and those of Neutron 21. */
function servedExtensions({ all }: Registry): readonly Extension[] {
  const named = new Set([...WITHOUT_ATTRIBUTES, ...all.flatMap(({ resource }) => namedExtensions(resource))]);
  const further = FURTHER_EXTENSIONS.filter(({ alias }) => named.has(alias));
  return [...EXTENSIONS, ...further].toSorted((one, other) => (one.alias < other.alias ? -1 : 1));
}

function namedExtensions({ extension, attributes }: Registry["all"][number]["resource"]): readonly string[] {
  return [extension, ...Object.values(attributes).flatMap(({ extension: alias }) => alias ?? [])];
}

const renderExtension = (extension: Extension) => ({ ...extension, links: [] });

/** Neutron's middleware of extensions responds with text. */
function unknownExtension(alias: string) {
  const text = `404 Not Found\n\nThe resource could not be found.\n\n Extension with alias ${alias} does not exist  `;
  return { status: 404, text };
}
