import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { CONTRACT_CASES } from "../../src/testing/index.js";
import { DRIVER_ERRORS } from "../../src/virt/driver-error.js";
import { DRIVER_METHODS, type DriverMethod } from "../../src/virt/driver-methods.js";
import { CAPABILITY_TRAITS, VIRT_API_VERSION } from "../../src/virt/index.js";
import { type ContractType, membersIn, typesBehind, typesIn } from "./support/contract-types.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

interface Member {
  readonly name: string;
  readonly signature: string;
  readonly text: string;
  readonly calledBy: string;
}

/** Returns the members `/** … *\/ name?(…): …;` of the interfaces in a module. */
function membersOf(source: string): readonly Member[] {
  return [...source.matchAll(/^ {2}\/\*\*\n((?: {3}\*.*\n)+?) {3}\*\/\n {2}([a-zA-Z]+)(\??\([\s\S]*?);$/gm)].map(
    ([, comment = "", name = "", rest = ""]) => {
      const lines = comment.split("\n").map((line) => line.replace(/^ {3}\* ?/, ""));
      const [text = "", calledBy = ""] = lines.join(" ").split("@calledBy");
      return { name, signature: `${name}${rest}`.replace(/\s+/g, " "), text: plain(text), calledBy: calledBy.trim() };
    },
  );
}

/** Methods by which a driver changes a provider tree, in the order of the class. */
const TREE_METHODS: ReadonlySet<string> = new Set([
  "newChild",
  "remove",
  "exists",
  "data",
  "find",
  "providerUuids",
  "updateInventory",
  "addTraits",
  "removeTraits",
  "addAggregates",
  "removeAggregates",
]);

/** Returns the methods `/** … *\/ name(…): … {` of a class. */
function methodsOf(source: string): readonly Omit<Member, "calledBy">[] {
  return [...source.matchAll(/^ {2}\/\*\*((?:(?!\*\/)[\s\S])+?)\*\/\n {2}([a-zA-Z]+)(\([\s\S]*?) \{$/gm)].map(
    ([, comment = "", name = "", rest = ""]) => ({
      name,
      signature: `${name}${rest}`.replace(/\s+/g, " "),
      text: plain(comment.replace(/\n \* ?|\s+\* /g, " ").replace(/\s+/g, " ")),
    }),
  );
}

function plain(text: string): string {
  return text
    .replace(/\{@link (\w+)\}/g, "`$1`")
    .replace(/@throws \{(\w+)\}(?=\.|$)/g, "Throws `$1`")
    .replace(/@throws \{(\w+)\}/g, "Throws `$1`:")
    .replace(/(Throws `\w+`):(?= *(?:$|Throws|\n))/g, "$1.")
    .replace(/@throws /g, "Throws ")
    .trim();
}

/** Returns links to the descriptions of the types in a signature. */
function linksOf(signature: string): readonly string[] {
  const links = typesIn(signature).map((name) => `[\`${name}\`](#${name.toLowerCase()})`);
  return links.length === 0 ? [] : [`Types: ${links.join(", ")}.`, ""];
}

/** Returns the capabilities without a Placement trait, with their descriptions. */
function withoutTrait(source: string): readonly string[] {
  const declared = /^export interface Capabilities extends \w+ \{\n[\s\S]*?^\}/m.exec(source)?.[0] ?? "";
  return membersIn(declared)
    .filter(({ name }) => !Object.hasOwn(CAPABILITY_TRAITS, name))
    .map(({ name, comment }) => `- \`${name}\`${comment === "" ? "" : `: ${plain(oneLine(comment))}`}`);
}

/** Returns the text of a comment on one line. */
function oneLine(comment: string): string {
  return comment
    .replace(/^\s*\/\*\*|\*\/\s*$/g, "")
    .replace(/\n\s*\*/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

/** Formats a declaration for the reference. */
function renderDeclaration(declaration: string): string {
  return declaration.replace(/^export /m, "").replace(/\{@link (\w+)\}/g, "`$1`");
}

const minutes = (milliseconds: number): string => `${milliseconds / 60_000} min`;

const isMethod = (name: string): name is DriverMethod => Object.hasOwn(DRIVER_METHODS, name);

function referenceOf(
  members: readonly Member[],
  tree: readonly Omit<Member, "calledBy">[],
  types: readonly ContractType[],
  capabilities: string,
): string {
  const methods = members.filter(({ name }) => isMethod(name));
  const row = ({ name, calledBy }: Member) => {
    const rule = isMethod(name) ? DRIVER_METHODS[name] : undefined;
    if (rule === undefined) {
      return "";
    }
    const changes = rule.changesGuests ? "yes" : "";
    return `| [\`${name}\`](#${name.toLowerCase()}) | ${rule.without === undefined ? "yes" : ""} | ${changes} | ${minutes(rule.timeout)} | ${calledBy} |`;
  };
  return [
    "# Reference of the virt driver contract",
    "",
    "For authors of virt drivers. To begin, run `compute-agent driver new my-driver`, which creates a package with a working driver, and",
    "follow [Your first driver](../tutorials/first-driver.md). [Write a driver](../how-to/write-a-driver.md) has the rules that matter most.",
    "",
    "This page is generated from the contract (`src/virt`). Section numbers are those of the [specification](specification/README.md); its",
    "page [8 Drivers](specification/8-drivers.md) lists a driver's duties.",
    "",
    "## Which method is called when",
    "",
    "A driver may omit methods that are not required; their descriptions state what the agent does instead. A method that changes guests is called",
    "only while the agent holds its host. Time is what a call may take before its signal is aborted.",
    "",
    "| method | required | changes guests | time | called by |",
    "|---|---|---|---|---|",
    ...methods.map(row),
    "",
    "## Methods",
    "",
    ...methods.flatMap(({ name, signature, text }) => [
      `### ${name}`,
      "",
      "```ts",
      signature,
      "```",
      "",
      text || "See the table.",
      "",
      ...linksOf(signature),
    ]),
    "## Parameters and results",
    "",
    "All of them are types of the package (`compute-agent`). `Instance`, `Flavor` and `Migration` are records as Nova has them: times are",
    "milliseconds since the epoch, sizes MiB of memory and of swap, and GiB of disk.",
    "",
    ...types.flatMap(({ name, text }) => [`### ${name}`, "", "```ts", renderDeclaration(text), "```", ""]),
    "## ProviderTree",
    "",
    "The tree that `updateProviderTree` edits. Methods take the name or the uuid of a provider; the provider of a node exists already, under the node's name. `nodeInventory` creates the usual inventory",
    "of a node, with the ratios and the reserve of nova.conf.",
    "",
    ...tree.flatMap(({ signature, text }) => ["```ts", signature, "```", "", text, "", ...linksOf(signature)]),
    "## Versions",
    "",
    `This is version ${VIRT_API_VERSION} of the contract. A minor adds methods, options and capabilities that may be left out; a major changes or removes`,
    "something. `apiVersion` is the version that a driver was written for: its major must be the host's, its minor at most the host's. Or it is a range",
    "that has to include the host's version, as `>=1.0 <2`. When a new major comes, hosts run drivers of the one before for another year.",
    "",
    "## Errors",
    "",
    "By class, or by these names on any `Error`, so that a plain JavaScript driver needs no import:",
    `${DRIVER_ERRORS.map((name) => `\`${name}\``).join(", ")}.`,
    "",
    "## Capabilities and their traits",
    "",
    "| capability | trait |",
    "|---|---|",
    ...Object.entries(CAPABILITY_TRAITS).map(([capability, trait]) => `| \`${capability}\` | ${trait} |`),
    "",
    "Without a trait:",
    "",
    ...withoutTrait(capabilities),
    "",
    "## Rules that the contract tests check",
    "",
    "| section | rule | meaning |",
    "|---|---|---|",
    ...CONTRACT_CASES.map(({ section, code, rule }) => `| ${section} | \`${code}\` | ${rule} |`),
    "",
  ].join("\n");
}

/** Returns the expected text of the reference; fails if a description is missing. */
async function reference(): Promise<string> {
  const sources = await Promise.all(
    ["driver.ts", "move-methods.ts", "volume-methods.ts"].map((name) => readFile(`${ROOT}src/virt/${name}`, "utf8")),
  );
  const members = sources.flatMap(membersOf);
  const tree = methodsOf(await readFile(`${ROOT}src/virt/provider-tree.ts`, "utf8"));
  const edits = tree.filter(({ name }) => TREE_METHODS.has(name));
  expect(edits.map(({ name }) => name)).toEqual([...TREE_METHODS]);
  const documented = members.map(({ name }) => name);
  expect(
    Object.keys(DRIVER_METHODS).filter((name) => !documented.includes(name)),
    "without a docstring",
  ).toEqual([]);
  expect(
    members.filter(({ name, calledBy }) => isMethod(name) && calledBy === ""),
    "without @calledBy",
  ).toEqual([]);
  const signatures = [...members, ...edits].map(({ signature }) => signature);
  const { types, unknown } = await typesBehind(`${ROOT}src/`, signatures);
  // The tree has its own chapter.
  expect(unknown, "without a declaration").toEqual(["ProviderTree"]);
  expect(
    types.flatMap(({ untold }) => untold),
    "without a docstring",
  ).toEqual([]);
  const capabilities = await readFile(`${ROOT}src/virt/capabilities.ts`, "utf8");
  return referenceOf(members, edits, types, capabilities);
}

test("docs/reference/driver-contract.md says what the contract says", async () => {
  await expect(await reference()).toMatchFileSnapshot(`${ROOT}docs/reference/driver-contract.md`);
});

test("every type that a method or another type names has a chapter in the reference", async () => {
  const text = await reference();
  const chapters = new Set([...text.matchAll(/^##+ (\w+)$/gm)].map(([, name]) => name));
  const blocks = [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => code);
  const named = new Set(blocks.flatMap(typesIn));
  expect([...named]).toEqual(expect.arrayContaining(["SpawnOptions", "Image", "LiveMigrateData", "ProviderData"]));
  expect([...named].filter((name) => !chapters.has(name))).toEqual([]);
  const methods = Object.keys(DRIVER_METHODS).filter(
    (name) => !blocks.some((code) => new RegExp(`^${name}\\??\\(`).test(code)),
  );
  expect(methods, "without a signature").toEqual([]);
});
