import { readFile } from "node:fs/promises";
import type { TSchema } from "typebox";
import type { JsonSchema } from "../../../src/records/field.js";
import { FLAVOR } from "../../../src/records/flavor.js";
import {
  CPU_DIAGNOSTICS,
  DISK_DIAGNOSTICS,
  GUEST_DIAGNOSTICS,
  MEMORY_DIAGNOSTICS,
  NIC_DIAGNOSTICS,
} from "../../../src/records/guest.js";
import { INJECTED_FILE, INSTANCE, TASK_STATES, VM_STATES } from "../../../src/records/instance.js";
import { MIGRATION, MIGRATION_CONTEXT } from "../../../src/records/migration.js";
import { POWER_STATES } from "../../../src/virt/index.js";

/** A type of the contract, with its comment, as it is declared. */
export interface ContractType {
  readonly name: string;
  readonly text: string;
  /** It, or a member of it, has no comment that says what it is. */
  readonly untold: readonly string[];
}

/** Modules of types that methods are given and return, in the order in which they are shown. */
const MODULES = [
  "virt/driver.ts",
  "virt/types.ts",
  "virt/move-methods.ts",
  "virt/provider-data.ts",
  "runtime/http.ts",
  "records/flavor.ts",
];

/** Types of the language and its platform. */
const BUILT_IN: ReadonlySet<string> = new Set([
  "AbortSignal",
  "AsyncIterable",
  "Map",
  "Omit",
  "Partial",
  "Pick",
  "Promise",
  "Readonly",
  "ReadonlyMap",
  "ReadonlySet",
  "Record",
  "Uint8Array",
]);

/** Names of the contract's types in a signature or a declaration, without those in comments and texts. */
export function typesIn(code: string): readonly string[] {
  const bare = code.replace(/\/\*[\s\S]*?\*\/|"[^"]*"/g, "");
  return [...new Set(bare.match(/\b[A-Z]\w*[a-z]\w*\b/g))].filter((name) => !BUILT_IN.has(name));
}

/** Every type that is named in these signatures, and those that are named in their declarations, and so on. */
export async function typesBehind(
  source: string,
  signatures: readonly string[],
): Promise<{ readonly types: readonly ContractType[]; readonly unknown: readonly string[] }> {
  const moduleSources = await Promise.all(MODULES.map((name) => readFile(`${source}${name}`, "utf8")));
  const records = await Promise.all(RECORDS.map((record) => recordType(source, record)));
  const written = moduleSources
    .flatMap(declarationsIn)
    .filter(({ name }) => !RECORDS.some((record) => record.name === name));
  const declared = [...written, ...records, ...enumerations()];
  const reached = new Set(signatures.flatMap(typesIn));
  // A set goes on with what is added to it meanwhile.
  for (const name of reached) {
    for (const { text } of declared.filter((type) => type.name === name)) {
      for (const next of typesIn(text)) {
        reached.add(next);
      }
    }
  }
  const known = new Set(declared.map(({ name }) => name));
  return {
    types: declared.filter(({ name }) => reached.has(name)),
    unknown: [...reached].filter((name) => !known.has(name)),
  };
}

/** `export interface X { … }` and `export type X = …;` of a module, each with its comment. */
function declarationsIn(source: string): readonly ContractType[] {
  const declarations =
    /^(?:\/\*\*(?:(?!\*\/)[\s\S])+?\*\/\n)?export (?:interface (\w+)[^{]*\{\n[\s\S]*?^\}|type (\w+) =[\s\S]*?;)$/gm;
  return [...source.matchAll(declarations)].map(([text, interfaceName, alias]) => {
    const name = interfaceName ?? alias ?? "";
    const members = interfaceName === undefined ? [] : membersIn(text);
    const untold = members.filter(({ comment }) => comment === "").map((member) => `${name}.${member.name}`);
    return { name, text, untold: text.startsWith("/**") ? untold : [name, ...untold] };
  });
}

/** The members of an interface or of an object, each with its comment. */
export function membersIn(text: string): readonly { readonly name: string; readonly comment: string }[] {
  const member = /^( {2}\/\*\*(?:(?!\*\/)[\s\S])+?\*\/\n)? {2}(?:readonly )?(\w+)(?=\??[:,])|^ {2}readonly \[/gm;
  return [...text.matchAll(member)].flatMap(([, comment = "", name]) =>
    name === undefined ? [] : [{ name, comment }],
  );
}

interface RecordShape {
  readonly name: string;
  readonly fields: Readonly<Record<string, TSchema>>;
  readonly comment: string;
}

/** Their types are made of descriptions of their fields, which stand in constants. */
const RECORDS: readonly (RecordShape & { readonly module: string })[] = [
  { name: "Instance", module: "instance.ts", fields: INSTANCE, comment: "A server, as Nova's `instances` has it." },
  {
    name: "InjectedFile",
    module: "instance.ts",
    fields: INJECTED_FILE,
    comment: "A file that a guest is to begin with.",
  },
  { name: "Flavor", module: "flavor.ts", fields: FLAVOR, comment: "A flavor, or the copy of one in an instance." },
  { name: "Migration", module: "migration.ts", fields: MIGRATION, comment: "A move, as Nova's `migrations` has it." },
  {
    name: "MigrationContext",
    module: "migration.ts",
    fields: MIGRATION_CONTEXT,
    comment: "What an instance had before a move, and has after it.",
  },
  {
    name: "AssignedResource",
    module: "migration.ts",
    fields: fieldsOf(MIGRATION_CONTEXT.oldResources.items),
    comment: "A discrete resource handed to a guest.",
  },
  ...Object.entries({
    GuestDiagnostics: { fields: GUEST_DIAGNOSTICS, comment: "What a guest that runs uses. What is not known is null." },
    MemoryDiagnostics: { fields: MEMORY_DIAGNOSTICS, comment: "A guest's memory." },
    CpuDiagnostics: { fields: CPU_DIAGNOSTICS, comment: "One virtual CPU of a guest." },
    NicDiagnostics: { fields: NIC_DIAGNOSTICS, comment: "One network card of a guest." },
    DiskDiagnostics: { fields: DISK_DIAGNOSTICS, comment: "One disk of a guest." },
  }).map(([name, record]) => ({ name, module: "guest.ts", ...record })),
];

const ENUMERATIONS: Readonly<Record<string, readonly (string | number)[]>> = {
  VmState: VM_STATES,
  TaskState: TASK_STATES,
  PowerState: Object.values(POWER_STATES),
};

async function recordType(source: string, record: (typeof RECORDS)[number]): Promise<ContractType> {
  const { name, module, fields } = record;
  const text = await readFile(`${source}records/${module}`, "utf8");
  const constant = name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
  const block = new RegExp(`^(?:export )?const ${constant} = \\{\n[\\s\\S]*?^\\};`, "m").exec(text)?.[0] ?? "";
  const comments = new Map(membersIn(block).map((member) => [member.name, member.comment]));
  const members = Object.entries(fields).map(
    ([field, schema]) => `${comments.get(field) ?? ""}  readonly ${field}: ${typeOf(schema, name)};`,
  );
  return { name, text: `/** ${record.comment} */\ninterface ${name} {\n${members.join("\n")}\n}`, untold: [] };
}

function enumerations(): readonly ContractType[] {
  const powerStates = Object.entries(POWER_STATES).map(([name, value]) => `${value} ${name}`);
  const comments: Readonly<Record<string, string>> = {
    PowerState: `/** Nova's numbers, which \`POWER_STATES\` names: ${powerStates.join(", ")}. */\n`,
  };
  return Object.entries(ENUMERATIONS).map(([name, values]) => ({
    name,
    text: `${comments[name] ?? ""}type ${name} =${values.map((value) => `\n  | ${JSON.stringify(value)}`).join("")};`,
    untold: [],
  }));
}

/** How TypeScript writes the type of a field. @param within the record that it is in */
function typeOf(schema: unknown, within: string): string {
  const { type, enum: values, items, additionalProperties } = schema as JsonSchema;
  const names = [type].flat();
  const orNull = names.includes("null") ? " | null" : "";
  const [name = ""] = names.filter((each) => each !== "null");
  if (Array.isArray(values)) {
    return `${enumerationOf(values.filter((value) => value !== null))}${orNull}`;
  }
  if (name === "array") {
    return `readonly ${typeOf(items, within)}[]${orNull}`;
  }
  if (name === "object") {
    const keys = Object.keys(fieldsOf(schema)).join();
    const record = RECORDS.find(({ fields }) => Object.keys(fields).join() === keys);
    return `${record?.name ?? `Readonly<Record<string, ${typeOf(additionalProperties, within)}>>`}${orNull}`;
  }
  return `${name === "integer" ? "number" : name}${orNull}`;
}

function enumerationOf(values: readonly unknown[]): string {
  const named = Object.entries(ENUMERATIONS).find(([, known]) => known.join() === values.join());
  return named?.[0] ?? values.map((value) => JSON.stringify(value)).join(" | ");
}

function fieldsOf(schema: unknown): Readonly<Record<string, TSchema>> {
  return (schema as { readonly properties?: Readonly<Record<string, TSchema>> }).properties ?? {};
}
