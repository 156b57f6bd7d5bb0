import { basename, dirname, join, resolve } from "node:path";
import { parse } from "yaml";
import { CODES } from "../../../audit/checks/finding.js";
import type { Digests } from "../../../runtime/cryptography.js";
import { didYouMean } from "../../../runtime/error-messages.js";
import type { Files } from "../../../runtime/files.js";
import { packageFolder } from "../../ui/command-line.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";
import { type ClusterDescription, describe } from "../file/read-cluster-file.js";
import { assertNoProblems, checkSchema, type Problem, readFileText, type TextPart } from "../file/yaml-file.js";
import { placeText } from "../place.js";
import type { UpOptions } from "../up-children.js";
import {
  DEFAULT_CLUSTER,
  SCENARIO_FILE,
  type ScenarioCommand,
  type ScenarioFile,
  type ScenarioStep,
  unknownReferences,
  wordsOf,
} from "./scenario-file.js";

export interface Scenario extends ScenarioFile {
  /** The file's name without extension. */
  readonly name: string;
  /** The path as messages name it. */
  readonly path: string;
}

interface ScenarioDeps {
  readonly files: Files;
  readonly digests: Pick<Digests, "sha256">;
  readonly cwd: string;
}

const ENDING = ".yaml";

const folder = (): string => join(packageFolder(), "config", "scenarios");

/** Returns the names of this package's scenarios. */
export async function scenarioNames(files: Files): Promise<readonly string[]> {
  const names = await files.list(folder());
  return names
    .filter((name) => name.endsWith(ENDING))
    .map((name) => name.slice(0, -ENDING.length))
    .toSorted();
}

/** Returns the titles of the scenarios, without parsing the rest. */
export async function scenarioTitles(
  files: Files,
): Promise<readonly { readonly name: string; readonly title: string }[]> {
  const names = await scenarioNames(files);
  return Promise.all(
    names.map(async (name) => {
      const text = await files.read(join(folder(), `${name}${ENDING}`));
      const [line = ""] = /^title:.*$/m.exec(text) ?? [];
      return { name, title: (parse(line) as { readonly title?: string } | null)?.title ?? name };
    }),
  );
}

/** @param nameOrPath a name, or a path that has a slash or ends in .yaml. @throws {CommandError} */
export async function readScenario(nameOrPath: string, deps: ScenarioDeps): Promise<Scenario> {
  return (await read(nameOrPath, deps)).scenario;
}

/**
 * Reads a scenario and the cluster for it, as `up` starts it.
 * @throws {CommandError}
 */
export async function describeScenario(
  nameOrPath: string,
  flags: { readonly options: UpOptions; readonly providedOptions: ReadonlySet<string> },
  deps: ScenarioDeps,
): Promise<{ readonly scenario: Scenario; readonly described: ClusterDescription }> {
  const { scenario, absolute, part } = await read(nameOrPath, deps);
  const problems: Problem[] = [];
  const place = { path: scenario.path, folder: dirname(absolute), text: part };
  const described = await describe(place, flags, deps, problems);
  assertNoProblems(scenario.path, problems);
  return { scenario, described };
}

async function read(nameOrPath: string, deps: ScenarioDeps) {
  const { files, cwd } = deps;
  const isPath = nameOrPath.includes("/") || nameOrPath.endsWith(ENDING) || nameOrPath.endsWith(".yml");
  const absolute = isPath ? resolve(cwd, nameOrPath) : join(folder(), `${nameOrPath}${ENDING}`);
  if (!isPath) {
    const names = await scenarioNames(files);
    if (!names.includes(nameOrPath)) {
      const near = didYouMean(nameOrPath, names);
      const help =
        near === undefined
          ? `there are ${names.join(", ")}; the path of a file ends in .yaml`
          : `did you mean ${near}?`;
      throw new CommandError(ExitCode.usage, `there is no scenario ${nameOrPath}; ${help}`);
    }
  }
  const path = isPath ? nameOrPath : `${nameOrPath}${ENDING}`;
  const text = await readFileText(path, absolute, files, "compute-agent scenario list names those of the package");
  const problems: Problem[] = [];
  const file = checkSchema(SCENARIO_FILE, text, problems);
  checkSteps(file, text, problems);
  assertNoProblems(path, problems);
  const name = basename(absolute).replace(/\.ya?ml$/, "");
  // Only the file defines the hosts of a scenario.
  const clusterPart = text.part("cluster");
  const part: TextPart = { value: clusterPart.value ?? DEFAULT_CLUSTER, place: clusterPart.place };
  return { scenario: { ...file, name, path } satisfies Scenario, absolute, part };
}

/** Checks what the schema cannot express. */
function checkSteps({ steps = [], finds = [] }: Partial<ScenarioFile>, text: TextPart, problems: Problem[]): void {
  steps.forEach((step, at) => {
    const complain = (key: string, message: string) => {
      problems.push({ ...text.place(["steps", at, key], true), text: `steps.${at}: ${message}` });
    };
    if ((step.run === undefined) === (step.ask === undefined)) {
      complain("say", `found ${step.run === undefined ? "neither" : "both"}, expected one of run and ask`);
    }
    for (const key of ["body", "version"] as const) {
      if (step[key] !== undefined && step.ask === undefined) {
        complain(key, `${key} requires ask`);
      }
    }
    if (step.run !== undefined && wordsOf(step.run) === undefined) {
      complain("run", "found an unclosed quote");
    }
    for (const message of unknownReferences([step.ask, step.body])) {
      complain(step.ask === undefined ? "say" : "ask", message);
    }
  });
  finds.forEach((code, at) => {
    if (!CODES.some((known) => known === code)) {
      const near = didYouMean(code, CODES);
      const help = near === undefined ? `expected one of ${CODES.join(", ")}` : `did you mean ${near}?`;
      problems.push({ ...text.place(["finds", at]), text: `finds.${at}: the audit finds no ${code}; ${help}` });
    }
  });
}

/** The sections of a scenario for the operator. */
export const PARTS = [
  ["look", "Inspect it"],
  ["mend", "Repair it"],
  ["mended", "Verify the repair"],
] as const;

/**
 * Returns a command with the option that selects the cluster.
 * @param place option such as ` --name ci-7`, inserted before a pipe or redirection
 */
export function commandFor(run: string, place: string): string {
  return run.trimEnd().replaceAll(OURS, `$1${place.replaceAll("$", "$$$$")}$2`);
}

const OURS = /^(compute-(?:cluster|agent) [^|>&;\n]*?)( *(?:[|>&;].*)?)$/gm;

/**
 * Returns the sections for the operator: inspection, repair and expected result.
 * @param root the state directory of the cluster
 */
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

/** The address of a bug's page, without its number. */
export const BUG_URL = "https://bugs.launchpad.net/nova/+bug/";

/** Returns a complete scenario as text, for users who decide whether to play it. */
export function scenarioText(scenario: Scenario, root: string): string {
  const { bugs = [] } = scenario;
  return [
    `${scenario.name}: ${scenario.title}`,
    ...(scenario.symptom === undefined ? [] : [`Symptom: ${scenario.symptom.trim()}`]),
    scenario.about.trim(),
    ...(bugs.length === 0 ? [] : [`Bugs of Nova: ${bugs.map((bug) => `${BUG_URL}${bug}`).join(", ")}`]),
    ["How it comes about:", ...scenario.steps.map((step) => `  ${step.say}\n    ${formatStep(step)}`)].join("\n"),
    ...(scenario.finds === undefined ? [] : [`The audit finds: ${scenario.finds.join(", ")}`]),
    courseText(scenario, root),
  ].join("\n\n");
}

export function formatStep({ run, ask, body }: ScenarioStep): string {
  return run ?? `${ask}${body === undefined ? "" : ` ${JSON.stringify(body)}`}`;
}
