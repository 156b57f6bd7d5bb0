import { placeText } from "../place.js";
import type { Scenario } from "./read-scenario.js";
import type { ScenarioCommand, ScenarioStep } from "./scenario-schema.js";

/** The parts of a scenario that an operator follows once it is there. */
const PARTS = [
  ["look", "Look at it"],
  ["mend", "Mend it"],
  ["mended", "What a mended cloud shows"],
] as const;

/**
 * A command as it is typed for a cluster.
 * @param place ` --name ci-7`, which goes before what a shell does with the output
 * @internal for tests
 */
export function commandFor(run: string, place: string): string {
  return run.trimEnd().replaceAll(OURS, `$1${place.replaceAll("$", "$$$$")}$2`);
}

const OURS = /^(compute-(?:cluster|agent) [^|>&;\n]*?)( *(?:[|>&;].*)?)$/gm;

/** What to look at, how to mend it, and what is seen then. @param root the state directory of the cluster */
export function courseText(scenario: Scenario, root: string): string {
  const place = placeText(root);
  return PARTS.map(([key, title]) =>
    [`${title}:`, ...scenario[key].flatMap((each) => renderCommand(each, place))].join("\n"),
  ).join("\n\n");
}

function renderCommand({ say, run, shows = [] }: ScenarioCommand, place: string): readonly string[] {
  const lines = commandFor(run, place).split("\n");
  return [
    `  ${say}`,
    ...lines.map((line) => `    ${line}`),
    ...(shows.length === 0 ? [] : [`    -> ${shows.join(", ")}`]),
  ];
}

/** All of a scenario, for a person who decides whether to play it. */
export function scenarioText(scenario: Scenario, root: string): string {
  return [
    `${scenario.name}: ${scenario.title}`,
    scenario.about.trim(),
    ["What brings it about:", ...scenario.steps.map((step) => `  ${step.say}\n    ${formatStep(step)}`)].join("\n"),
    ...(scenario.finds === undefined ? [] : [`The audit finds: ${scenario.finds.join(", ")}`]),
    courseText(scenario, root),
  ].join("\n\n");
}

function formatStep({ run, ask, body }: ScenarioStep): string {
  return run ?? `${ask}${body === undefined ? "" : ` ${JSON.stringify(body)}`}`;
}

/**
 * A chapter of the course that docs/scenarios.md is.
 * @internal for tests
 */
export function scenarioChapter(scenario: Scenario): string {
  const { name, title, about, steps, finds } = scenario;
  const commands = PARTS.flatMap(([key, heading]) => [
    `### ${heading}`,
    ...scenario[key].flatMap(({ say, run, shows = [] }) => [
      say,
      run.trimEnd().replaceAll(/^/gm, "    "),
      ...(shows.length === 0 ? [] : [`It prints ${shows.map((text) => `\`${text}\``).join(", ")}.`]),
    ]),
  ]);
  return [
    `## ${name}: ${title}`,
    about.trim(),
    `    compute-cluster up --scenario ${name}`,
    steps.map((step, at) => `${at + 1}. ${step.say} \`${formatStep(step).replaceAll("`", "'")}\``).join("\n"),
    ...(finds === undefined || finds.length === 0
      ? []
      : [`The audit finds ${finds.map((code) => `\`${code}\``).join(", ")}.`]),
    ...commands,
  ].join("\n\n");
}
