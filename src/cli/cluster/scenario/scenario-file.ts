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
    say: line("Description of the step, as a sentence."),
    run: Type.Optional(
      Type.String({
        pattern: "^compute-(agent|cluster) (host|fault|wait|manage|audit|apply|virsh) ",
        maxLength: 4_000,
        description:
          "Command. The cluster's --state-dir is added to it. Words can be quoted; there is no shell. " +
          "{state_dir} is the state directory.",
      }),
    ),
    ask: Type.Optional(
      Type.String({
        pattern: `^(GET|POST|PUT|PATCH|DELETE) (${Object.keys(SERVICES).join("|")}) /([^\\s{}]|\\{[a-z]+ [^\\s{}]+\\})*$`,
        maxLength: 4_000,
        description:
          "Request of the administrator: POST compute /servers. Names in braces are replaced by ids: {server " +
          "vm1}, {service devstack1}.",
      }),
    ),
    body: Type.Optional(Type.Unknown({ description: "Body of the request. Names in braces are replaced by ids." })),
    version: Type.Optional(Type.String({ pattern: "^\\d+\\.\\d+$", description: "Microversion of the request." })),
    expect: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 599, description: "Expected status or exit code. Default: success." }),
    ),
    within: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 600,
        description: "Seconds during which the step is retried until it succeeds.",
      }),
    ),
  },
  "Step, with either run or ask.",
);

const COMMAND = closed(
  {
    say: line("Description of the command, as a sentence."),
    run: line(
      "Command that an operator types. The option that selects the cluster is added to compute-agent and " +
        "compute-cluster commands.",
    ),
    shows: Type.Optional(Type.Array(line("Part of the output."), { maxItems: 20 })),
  },
  "Command for the operator.",
);

/** The schema of a scenario: published as JSON Schema, and used as the type. */
export const SCENARIO_FILE = Type.Object(
  {
    title: Type.String({ minLength: 1, maxLength: 100, description: "Short description of the problem." }),
    symptom: Type.Optional(line("What an operator notices first.")),
    about: Type.String({ minLength: 1, maxLength: 8_000, description: "Cause of the problem, and its effects." }),
    bugs: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1, description: "Number of a bug." }), {
        maxItems: 20,
        description: "Bugs of Nova behind the problem: https://bugs.launchpad.net/nova/+bug/NUMBER.",
      }),
    ),
    cluster: Type.Optional(
      Type.Unsafe<unknown>({
        type: "object",
        description: "Cluster of the scenario, as in a cluster file (cluster.schema.json). Default: 3 hosts.",
      }),
    ),
    steps: Type.Array(STEP, { minItems: 1, maxItems: MAX_STEPS, description: "Steps that produce the problem." }),
    finds: Type.Optional(
      Type.Array(line("Code of a finding of compute-agent audit."), {
        maxItems: 20,
        description: "Findings of the audit after the steps.",
      }),
    ),
    look: Type.Array(COMMAND, { minItems: 1, maxItems: MAX_STEPS, description: "Commands that inspect the problem." }),
    mend: Type.Array(COMMAND, { minItems: 1, maxItems: MAX_STEPS, description: "Commands that repair the cluster." }),
    mended: Type.Array(COMMAND, {
      minItems: 1,
      maxItems: MAX_STEPS,
      description: "Commands that show the repaired cluster.",
    }),
  },
  {
    additionalProperties: false,
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Scenario file of compute-agent up --scenario",
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
