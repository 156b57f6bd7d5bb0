import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { expect, test } from "vitest";
import { CODES } from "../../src/audit/checks/finding.js";
import { agentCommand } from "../../src/cli/agent/options.js";
import { allPointGroups } from "../../src/cli/cluster/fault.js";
import { addCommands } from "../../src/cli/commands.js";
import { NOVA_OPTIONS } from "../../src/config/nova-config.js";
import { Derived, type OptionTable } from "../../src/config/option.js";
import { BLOCK_STORAGE_ROUTES } from "../../src/control-plane/block-storage/block-storage-routes.js";
import { BLOCK_STORAGE_RESOURCES } from "../../src/control-plane/block-storage/block-storage-tables.js";
import type { BlockStorageResource } from "../../src/control-plane/block-storage/engine/block-storage-resource.js";
import type { NetworkAttribute, NetworkResource } from "../../src/control-plane/network/engine/network-resource.js";
import { NETWORK_RESOURCES } from "../../src/control-plane/network/network-resources.js";

const DOCS = fileURLToPath(new URL("../../docs/reference/", import.meta.url));
/** Loaded with the module: the commands import most of the code. */
const program = await addCommands(new Command("compute-agent"), undefined);

const GENERATED = "This page is generated from the code.";

const cell = (text: string): string => text.replaceAll("|", "\\|").replace(/\s+/g, " ").trim();

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heads, heads.map(() => "---"), ...rows.map((row) => row.map(cell))];
  return lines.map((row) => `| ${row.join(" | ")} |`).join("\n");
}

const usage = (line: string): string => `\`\`\`text\n${line.trimEnd()}\n\`\`\``;

function optionsTable(command: Command): string {
  const rows = command.options
    .filter(({ hidden, long }) => !hidden && long !== "--version")
    .map((option) => {
      const { defaultValue, defaultValueDescription, argChoices } = option;
      const hasDefault = defaultValue !== undefined && !(Array.isArray(defaultValue) && defaultValue.length === 0);
      const choices = argChoices === undefined ? "" : ` (one of ${argChoices.join(", ")})`;
      return [
        `\`${option.flags}\``,
        option.description + choices,
        hasDefault ? `\`${defaultValueDescription ?? String(defaultValue)}\`` : "",
      ];
    });
  return rows.length === 0 ? "" : table(["option", "meaning", "default"], rows);
}

const sentence = (text: string): string => (text.endsWith(".") ? text : `${text}.`);

/** Returns the section of a command, and of its subcommands below it. */
function commandSection(command: Command, path: string, level: string): string {
  const visible = command.commands.filter((each) => !("_hidden" in each && each._hidden === true));
  const aliases = command.aliases().length === 0 ? "" : ` Also called ${command.aliases().join(", ")}.`;
  return [
    `${level} ${path}`,
    usage(`${path} ${command.usage()}`),
    `${sentence(command.description() || command.summary())}${aliases}`,
    optionsTable(command),
    ...visible.map((each) => commandSection(each, `${path} ${each.name()}`, `${level}#`)),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

test("docs/reference/command-line.md lists the commands and options of the programs", async () => {
  const groups = [...new Set(program.commands.map((command) => command.helpGroup()))];
  const sections = groups.map((group) =>
    [
      `## ${group.replace(":", "")}`,
      ...program.commands
        .filter((command) => command.helpGroup() === group)
        .map((command) => commandSection(command, `compute-agent ${command.name()}`, "###")),
    ].join("\n\n"),
  );
  const agent = agentCommand(async () => undefined);
  const page = [
    "# The command line",
    `For everybody who looks up a command or an option. ${GENERATED}`,
    "`compute-agent` without a command runs one compute host, or several. `compute-cluster` is an alias with the same commands. " +
      "[Exit codes](exit-codes.md) are the same for all commands.",
    "## A compute host",
    usage("compute-agent [options]"),
    agent.description(),
    optionsTable(agent),
    ...sections,
  ].join("\n\n");
  await expect(`${page}\n`).toMatchFileSnapshot(`${DOCS}command-line.md`);
});

function configTable(options: OptionTable): string {
  return table(
    ["option", "value", "default", "meaning"],
    Object.entries(options).map(([name, { type, default: value, help }]) => {
      const text = value instanceof Derived ? value.documented : value === null ? "" : type.format(value);
      return [`\`${name}\``, type.expected, text === "" ? "" : `\`${text}\``, help];
    }),
  );
}

test("docs/reference/configuration.md lists the options of nova.conf", async () => {
  const page = [
    "# Configuration",
    `For everybody who sets options of nova.conf. ${GENERATED}`,
    "The format is oslo.config's. Values come from `--config-file`, `--config-dir`, the environment as `OS_SECTION__OPTION`, " +
      "and `-o section.option=value`; a later source replaces an earlier one. `compute-agent --show-config` prints each " +
      "effective value and its source. [config/compute-agent.conf](../../config/compute-agent.conf) is a sample with all of them; " +
      "`compute-agent driver sample NAME` prints the options of a driver.",
    ...Object.entries(NOVA_OPTIONS).flatMap(([section, options]) => [`## [${section}]`, configTable(options)]),
  ].join("\n\n");
  await expect(`${page}\n`).toMatchFileSnapshot(`${DOCS}configuration.md`);
});

test("docs/reference/fault-points.md lists where faults can be injected", async () => {
  const sections = allPointGroups().flatMap(({ program, name, points }) => [
    `## ${name} (${program})`,
    table(
      ["point", "kinds"],
      points.map(({ point, kinds }) => [`\`${point}\``, kinds.map((kind) => `\`${kind}\``).join(", ")]),
    ),
  ]);
  const page = [
    "# Fault points",
    `For everybody who injects faults. ${GENERATED}`,
    "`compute-agent fault set HOST POINT=SETTING` sets a fault; [Inject faults](../how-to/inject-faults.md) describes the syntax.",
    ...sections,
  ].join("\n\n");
  await expect(`${page}\n`).toMatchFileSnapshot(`${DOCS}fault-points.md`);
});

/** Returns the section of a resource of the Network API: its requests, and its attributes. */
function resourceSection(resource: NetworkResource): string {
  const { collection, path, extension, quota, attributes } = resource;
  const operations = resource.operations ?? ["list", "show", "create", "update", "delete"];
  const actions = Object.entries(resource.actions ?? {}).map(([name, method]) => `\`${method} .../${name}\``);
  const facts = [
    `\`${path.replace(/:(\w+)/g, "{$1}")}\`: ${operations.join(", ")}.`,
    actions.length === 0 ? "" : `Actions: ${actions.join(", ")}.`,
    resource.tagged ? "It has tags." : "",
    resource.rbac ? "RBAC policies share it." : "",
    quota ? `Quota \`${quota.name}\`: ${quota.default === -1 ? "none" : quota.default}.` : "",
    `Extension \`${extension}\`.`,
  ];
  const visible = Object.entries(attributes).filter(([, { visible: isVisible, post }]) => isVisible !== false || post);
  const rows = visible.map(([name, attribute]) => [`\`${name}\``, useOf(attribute), defaultOf(attribute)]);
  return [
    `## ${collection}`,
    facts.filter((fact) => fact !== "").join(" "),
    table(["attribute", "in", "default"], rows),
  ].join("\n\n");
}

/** Returns the requests that may contain an attribute. */
function useOf({ post, put, filter, sort }: NetworkAttribute): string {
  const uses = [post && "create", put && "update", filter && "filter", sort && "sort"].filter((use) => use);
  return uses.length === 0 ? "responses" : uses.join(", ");
}

function defaultOf({ post, default: value }: NetworkAttribute): string {
  if (!post) {
    return "";
  }
  return value === undefined ? "required" : typeof value === "symbol" ? "" : `\`${JSON.stringify(value)}\``;
}

test("docs/reference/network.md lists the resources of the Network API", async () => {
  const sections = NETWORK_RESOURCES.map(({ resource }) => resource)
    .sort((one, other) => (one.path < other.path ? -1 : 1))
    .map(resourceSection);
  const page = [
    "# Network API",
    `For everybody who uses the Network API of a cluster. ${GENERATED}`,
    "The embedded service is a Neutron of records: it has Neutron's resources, rules, policies (2026.2) and errors, and moves no " +
      "packets. Lists take `fields`, `sort_key` with `sort_dir`, `limit`, `marker` and `page_reverse`, and filters by tags: " +
      "`tags`, `tags-any`, `not-tags` and `not-tags-any`. Updates and deletes take `If-Match: revision_number=N`. Several " +
      "records are created by one request with the key of the list. [Networks](../how-to/networks.md) shows how to use it; " +
      "quotas, extensions and tags have Neutron's paths.",
    ...sections,
  ].join("\n\n");
  await expect(`${page}\n`).toMatchFileSnapshot(`${DOCS}network.md`);
});

/** Returns the section of a resource of the Block Storage API: its lists, and its attributes in responses. */
function volumeSection({ collection, from = 0, response, list }: BlockStorageResource): string {
  const named = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(", ");
  const filters = Object.keys(list?.filters ?? {});
  const users = list?.userFilters ?? filters;
  const facts = [
    from === 0 ? "" : `From 3.${from}.`,
    users.length === 0 ? "" : `Filters: ${named(users)}.`,
    filters.every((name) => users.includes(name))
      ? ""
      : `Filters of administrators: ${named(filters.filter((name) => !users.includes(name)))}.`,
    list === undefined || list.sortKeys.length === 0 ? "" : `Sort keys: ${named(list.sortKeys)}.`,
  ];
  const places = {
    summary: "all responses",
    detail: "all but lists without details",
    show: "show, lists with details",
  };
  const rows = Object.entries(response).map(([name, { level = "detail", from: since, until, policy }]) => [
    `\`${name}\``,
    places[level],
    [since === undefined ? "" : `from 3.${since}`, until === undefined ? "" : `to 3.${until}`].join(" "),
    policy === undefined ? "" : `\`${policy}\``,
  ]);
  return [
    `## ${collection}`,
    facts.filter((fact) => fact !== "").join(" "),
    table(["attribute", "in", "microversions", "rule"], rows),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

test("docs/reference/block-storage.md lists the requests and the resources of the Block Storage API", async () => {
  const requests = BLOCK_STORAGE_ROUTES.flatMap(({ method, path, from = 0, actions }) => {
    const request = [`\`${method} ${path.replace(/:(\w+)/g, "{$1}")}\``, from === 0 ? "" : `3.${from}`];
    return [
      [...request, ""],
      ...Object.entries(actions ?? {}).map(([name, action]) => [
        request[0] ?? "",
        (action.from ?? from) === 0 ? "" : `3.${action.from ?? from}`,
        `\`${name}\``,
      ]),
    ].slice(actions === undefined ? 0 : 1);
  });
  const page = [
    "# Block Storage API",
    `For everybody who uses the Block Storage API of a cluster. ${GENERATED}`,
    "The embedded service is a Cinder of records: it has Cinder's resources, microversions (3.0 to 3.70), rules, policies and " +
      "errors, and moves no bytes. Paths follow `/volume/v3/{project_id}`; the project may be absent. Lists take `limit`, " +
      "`offset`, `marker` and `sort` (or `sort_key` with `sort_dir`), administrators also `all_tenants` and `project_id`. " +
      "[Volumes](../how-to/volumes.md) shows how to use it.",
    "## Requests",
    table(["request", "first microversion", "action"], requests),
    ...BLOCK_STORAGE_RESOURCES.filter(({ response }) => Object.keys(response).length > 0).map(volumeSection),
  ].join("\n\n");
  await expect(`${page}\n`).toMatchFileSnapshot(`${DOCS}block-storage.md`);
});

test("docs/reference/audit-codes.md explains each audit code", async () => {
  const page = await readFile(`${DOCS}audit-codes.md`, "utf8");
  const explained = [...page.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, code]) => code);
  expect(new Set(explained)).toEqual(new Set(CODES));
});
