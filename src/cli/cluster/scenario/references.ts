import type { CloudSession } from "../../../control-plane/local/cloud-session.js";
import { didYouMean } from "../../../runtime/did-you-mean.js";
import { SERVICES, type ServiceName } from "./scenario-schema.js";

/** Where what a name in braces stands for is read. */
interface Reference {
  readonly service: ServiceName;
  readonly path: (name: string) => string;
  /** The key of the list in the answer. */
  readonly list: string;
  readonly value: string;
  /** The field that has the name; absent: the path asks for the name alone, the last one counts. */
  readonly by?: string;
}

const query = encodeURIComponent;

const REFERENCES: Readonly<Record<string, Reference>> = {
  server: {
    service: "compute",
    path: (name) => `/servers/detail?all_tenants=1&name=${query(name)}`,
    list: "servers",
    value: "id",
    by: "name",
  },
  flavor: { service: "compute", path: () => "/flavors?is_public=None", list: "flavors", value: "id", by: "name" },
  image: { service: "image", path: (name) => `/v2/images?name=${query(name)}`, list: "images", value: "id" },
  service: {
    service: "compute",
    path: (host) => `/os-services?binary=nova-compute&host=${query(host)}`,
    list: "services",
    value: "id",
  },
  provider: {
    service: "placement",
    path: (name) => `/resource_providers?name=${query(name)}`,
    list: "resource_providers",
    value: "uuid",
  },
  generation: {
    service: "placement",
    path: (name) => `/resource_providers?name=${query(name)}`,
    list: "resource_providers",
    value: "generation",
  },
  node: { service: "baremetal", path: () => "/v1/nodes", list: "nodes", value: "uuid", by: "name" },
};

const KINDS = Object.keys(REFERENCES);
/** `{server vm1}` */
const PLACE = /\{([a-z]+) ([^{}]+)\}/g;

/** What is wrong with the references of a step. */
export function unknownReferences(values: readonly unknown[]): readonly string[] {
  const kinds = Array.from(JSON.stringify(values).matchAll(PLACE), ([, kind = ""]) => kind);
  return [...new Set(kinds)]
    .filter((kind) => !KINDS.includes(kind))
    .map((kind) => {
      const near = didYouMean(kind, KINDS);
      return `there is no {${kind} ...}; ${near === undefined ? `expected one of ${KINDS.join(", ")}` : `did you mean ${near}?`}`;
    });
}

/** The value with what its names stand for; a text that is one name becomes what that is. @throws {Error} there is no such thing. */
export async function resolveReferences(value: unknown, cloud: CloudSession): Promise<unknown> {
  if (Array.isArray(value)) {
    return Promise.all(value.map((each) => resolveReferences(each, cloud)));
  }
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(async ([key, each]) => [
      await resolveText(key, cloud),
      await resolveReferences(each, cloud),
    ]);
    return Object.fromEntries(await Promise.all(entries));
  }
  if (typeof value !== "string") {
    return value;
  }
  const [only] = value.matchAll(PLACE);
  return only?.[0] === value ? lookUp(only[1] ?? "", only[2] ?? "", cloud) : resolveText(value, cloud);
}

export async function resolveText(text: string, cloud: CloudSession): Promise<string> {
  const found = Array.from(text.matchAll(PLACE), ([, kind = "", name = ""]) => lookUp(kind, name, cloud));
  const values = await Promise.all(found);
  let at = 0;
  return text.replaceAll(PLACE, () => String(values[at++]));
}

async function lookUp(kind: string, name: string, cloud: CloudSession): Promise<unknown> {
  const reference = REFERENCES[kind];
  if (reference === undefined) {
    throw new Error(`there is no {${kind} ...}`);
  }
  const { service, path, list, value, by } = reference;
  const response = (await cloud.request(service, "GET", path(name), SERVICES[service])) as Readonly<
    Record<string, readonly Readonly<Record<string, unknown>>[]>
  >;
  const found = (response[list] ?? []).filter((each) => by === undefined || each[by] === name).at(-1)?.[value];
  if (found === undefined) {
    throw new Error(`there is no ${kind} ${name} in the cluster`);
  }
  return found;
}
