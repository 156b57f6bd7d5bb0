import { type Static, type TProperties, Type } from "typebox";
import type { CLUSTER_FILE } from "../file/cluster-file.js";

const MAX_STEPS = 200;

function closed<P extends TProperties>(properties: P, description: string) {
  return Type.Object(properties, { additionalProperties: false, description });
}
const line = (description: string) => Type.String({ minLength: 1, maxLength: 4_000, description });

/** Services that steps may ask, each with the microversion that it is asked in. */
export const SERVICES = { compute: "2.79", placement: "1.36", image: "2.16", baremetal: "1.82" } as const;

export type ServiceName = keyof typeof SERVICES;

const STEP = closed(
  {
    say: line("What happens, as a sentence."),
    run: Type.Optional(
      Type.String({
        pattern: "^compute-cluster (host|fault|wait|manage|audit|apply|virsh) ",
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

/** What a scenario says: the JSON Schema that is published, and the type. */
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
      Type.Array(line("A code of compute-cluster audit."), { maxItems: 20, description: "What the audit finds then." }),
    ),
    look: Type.Array(COMMAND, { minItems: 1, maxItems: MAX_STEPS, description: "What to look at." }),
    mend: Type.Array(COMMAND, { minItems: 1, maxItems: MAX_STEPS, description: "How to put it right." }),
    mended: Type.Array(COMMAND, { minItems: 1, maxItems: MAX_STEPS, description: "What a mended cloud shows." }),
  },
  {
    additionalProperties: false,
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "A scenario of compute-cluster up --scenario",
  },
);

export type ScenarioFile = Static<typeof SCENARIO_FILE>;
export type ScenarioStep = Static<typeof STEP>;
export type ScenarioCommand = Static<typeof COMMAND>;

/** The hosts of a cluster of which a scenario says nothing. */
export const DEFAULT_CLUSTER: Static<typeof CLUSTER_FILE> = { hosts: [{ name: "devstack", count: 3 }] };
