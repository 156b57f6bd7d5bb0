import { type Static, type TProperties, Type } from "typebox";
import type { CloudSession } from "../../../control-plane/local/cloud-session.js";
import { didYouMean } from "../../../runtime/error-messages.js";
import type { CLUSTER_FILE } from "../file/cluster-file.js";

const MAX_STEPS = 200;

function closed<P extends TProperties>(properties: P, description: string) {
  return Type.Object(properties, { additionalProperties: false, description });
}

const line = (description: string) => Type.String({ minLength: 1, maxLength: 4_000, description });

/** Services that steps can send requests to, with the microversion of each. */
export const SERVICES = { compute: "2.79", placement: "1.36", image: "2.16", baremetal: "1.82" } as const;

export type ServiceName = keyof typeof SERVICES;

const STEP = closed(
  {
    say: line("What happens, as a sentence."),
    run: Type.Optional(
      Type.String({
        pattern: "^compute-(agent|cluster) (host|fault|wait|manage|audit|apply|virsh) ",
        maxLength: 4_000,
        description:
          "A command; it is told which cluster is meant. Words may stand in quotes; there is no shell. {state_dir} is the cluster's.",
      }),
    ),
    ask: Type.Optional(
      Type.String({
        pattern: `^(GET|POST|PUT|PATCH|DELETE) (${Object.keys(SERVICES).join("|")}) /([^\\s{}]|\\{[a-z]+ [^\\s{}]+\\})*$`,
        maxLength: 4_000,
        description:
          "A request of the administrator: POST compute /servers. Names in braces stand for ids: {server vm1}, {service devstack1}.",
      }),
    ),
    body: Type.Optional(Type.Unknown({ description: "Of the request, with names in braces, too." })),
    version: Type.Optional(Type.String({ pattern: "^\\d+\\.\\d+$", description: "The request's microversion." })),
    expect: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 599, description: "Status or exit code. Default: success." }),
    ),
    within: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 600, description: "Seconds for which it is tried again until it succeeds." }),
    ),
  },
  "Either run or ask.",
);

const COMMAND = closed(
  {
    say: line("What this shows or does, as a sentence."),
    run: line(
      "What an operator types. A line that begins with compute-cluster or compute-agent is told which cluster is meant.",
    ),
    shows: Type.Optional(Type.Array(line("A part of what it prints."), { maxItems: 20 })),
  },
  "A command for the operator.",
);

/** The schema of a scenario: published as JSON Schema, and used as the type. */
export const SCENARIO_FILE = Type.Object(
  {
    title: Type.String({ minLength: 1, maxLength: 100, description: "What is wrong, in a few words." }),
    about: Type.String({ minLength: 1, maxLength: 8_000, description: "How it comes to this, and why it matters." }),
    cluster: Type.Optional(
      Type.Unsafe<unknown>({
        type: "object",
        description: "The cluster that it is played on, as in a cluster file (cluster.schema.json). Default: 3 hosts.",
      }),
    ),
    steps: Type.Array(STEP, { minItems: 1, maxItems: MAX_STEPS, description: "What brings it about." }),
    finds: Type.Optional(
      Type.Array(line("A code of compute-agent audit."), { maxItems: 20, description: "What the audit finds then." }),
    ),
    look: Type.Array(COMMAND, { minItems: 1, maxItems: MAX_STEPS, description: "What to look at." }),
    mend: Type.Array(COMMAND, { minItems: 1, maxItems: MAX_STEPS, description: "How to put it right." }),
    mended: Type.Array(COMMAND, { minItems: 1, maxItems: MAX_STEPS, description: "What a mended cloud shows." }),
  },
  {
    additionalProperties: false,
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "A scenario of compute-agent up --scenario",
  },
);

export type ScenarioFile = Static<typeof SCENARIO_FILE>;

export type ScenarioStep = Static<typeof STEP>;

export type ScenarioCommand = Static<typeof COMMAND>;

/** The hosts of a scenario without a cluster. */
export const DEFAULT_CLUSTER: Static<typeof CLUSTER_FILE> = { hosts: [{ name: "devstack", count: 3 }] };

/** Splits a command into words; a quoted word may have spaces. Returns undefined if a quote is not closed. */
export function wordsOf(command: string): readonly string[] | undefined {
  const words: string[] = [];
  const rest = command.replaceAll(/\s*((?:[^\s"']|"[^"]*"|'[^']*')+)/g, (_all, word: string) => {
    words.push(
      word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_quoted, double?: string, single?: string) => double ?? single ?? ""),
    );
    return "";
  });
  return rest.trim() === "" ? words : undefined;
}

/** How to resolve a name in braces. */
interface Reference {
  readonly service: ServiceName;
  readonly path: (name: string) => string;
  /** The key of the list in the response. */
  readonly list: string;
  readonly value: string;
  /** The field with the name. Undefined: the path selects by name, and the last element is used. */
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

/** Returns the problems of a step's references. */
export function unknownReferences(values: readonly unknown[]): readonly string[] {
  const kinds = Array.from(JSON.stringify(values).matchAll(PLACE), ([, kind = ""]) => kind);
  return [...new Set(kinds)]
    .filter((kind) => !KINDS.includes(kind))
    .map((kind) => {
      const near = didYouMean(kind, KINDS);
      return `there is no {${kind} ...}; ${near === undefined ? `expected one of ${KINDS.join(", ")}` : `did you mean ${near}?`}`;
    });
}

/**
 * Replaces the references in a value; a string that is a single reference becomes its value.
 * @throws {Error} there is no such entity
 */
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
