import { parseTable, pythonValue, type Table } from "./tables.js";

/**
 * Compares outputs of two clouds. Ids are mapped to each other: an id must correspond to the same id of the other cloud
 * everywhere. Generations of a provider must have the same differences. Times, addresses and row numbers may be
 * arbitrary.
 */
export class Likeness {
  readonly #ours = new Map<string, string>();
  readonly #theirs = new Map<string, string>();
  readonly #distances = new Map<string, number>();

  /** Replaces the other cloud's ids in a text by ours. */
  translate(text: string): string {
    return text.replaceAll(ID, (id) => this.#ours.get(id) ?? id);
  }

  /** Returns descriptions of the differences. Extra columns and fields on our side belong to newer clients. */
  differences(theirs: string, ours: string): readonly string[] {
    const table = parseTable(theirs);
    if (!table) {
      return this.#textDifferences(theirs, ours);
    }
    const found = parseTable(ours);
    return found ? this.#tableDifferences(table, found) : [`no table, but: ${ours}`];
  }

  #textDifferences(theirs: string, ours: string): readonly string[] {
    const [left, right] = [theirs, ours].map((text) => text.trim().replaceAll(ID, "<id>"));
    if (left !== right) {
      return [`${ours.trim()} instead of ${theirs.trim()}`];
    }
    const [before, now] = [theirs, ours].map((text) => [...text.matchAll(ID)].map(([id]) => id));
    return before?.flatMap((id, index) => this.#sameId(id, now?.[index] ?? "")) ?? [];
  }

  #tableDifferences(theirs: Table, ours: Table): readonly string[] {
    const missing = theirs.header.filter((name) => !ours.header.includes(name));
    if (missing.length > 0) {
      return [`no columns ${missing.join(", ")}`];
    }
    if (!isRecord(theirs) && theirs.rows.length !== ours.rows.length) {
      return [`${ours.rows.length} rows instead of ${theirs.rows.length}`];
    }
    const records = this.#inOneOrder(theirs, ours).map(recordsOf);
    return (records[0] ?? []).flatMap((record, index) => this.#recordDifferences(record, records[1]?.[index] ?? {}));
  }

  /** Pairs rows by host, or else by known ids, since two clouds do not list in the same order. */
  #inOneOrder(theirs: Table, ours: Table): readonly Table[] {
    const sorted = (table: Table, key: (row: readonly string[]) => string): Table => ({
      ...table,
      rows: table.rows.toSorted((a, b) => (key(a) < key(b) ? -1 : 1)),
    });
    const host = (table: Table) => (row: readonly string[]) => row[table.header.indexOf("Host")] ?? "";
    if (theirs.header.includes("Host")) {
      return [sorted(theirs, host(theirs)), sorted(ours, host(ours))];
    }
    if (!theirs.rows.every(([first = ""]) => this.#ours.has(first))) {
      return [theirs, ours];
    }
    return [sorted(theirs, ([first = ""]) => this.translate(first)), sorted(ours, ([first = ""]) => first)];
  }

  #recordDifferences(theirs: Row, ours: Row): readonly string[] {
    return Object.entries(theirs).flatMap(([name, cell]) => {
      const found = ours[name];
      if (found === undefined) {
        return [`no field ${name}`];
      }
      if (name === "generation") {
        return this.#sameDistance(providerOf(ours), Number(cell), Number(found));
      }
      return this.#cellDifferences(name, cell, found);
    });
  }

  #cellDifferences(name: string, theirs: string, ours: string): readonly string[] {
    if (VARIABLE.has(name) || [theirs, ours].every((cell) => TIME.test(cell) || ADDRESS.test(cell))) {
      return [];
    }
    const [left, right] = [pythonValue(theirs), pythonValue(ours)];
    if (typeof left === "object" && typeof right === "object") {
      return this.#textDifferences(canonical(left), canonical(right));
    }
    return this.#textDifferences(theirs, ours).map((difference) => `${name}: ${difference}`);
  }

  #sameId(theirs: string, ours: string): readonly string[] {
    const [known, reverse] = [this.#ours.get(theirs), this.#theirs.get(ours)];
    if ((known ?? ours) !== ours || (reverse ?? theirs) !== theirs) {
      return [`${theirs} was ${known}, now it is ${ours}`];
    }
    this.#ours.set(theirs, ours);
    this.#theirs.set(ours, theirs);
    return [];
  }

  #sameDistance(provider: string, theirs: number, ours: number): readonly string[] {
    const distance = this.#distances.get(provider) ?? ours - theirs;
    this.#distances.set(provider, distance);
    return ours - theirs === distance ? [] : [`generation ${ours} instead of ${theirs + distance}`];
  }
}

type Row = Readonly<Record<string, string>>;

const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{32}\b/g;
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+$/;
const ADDRESS = /^\d+\.\d+\.\d+\.\d+$/;
/** Numbers of database rows. */
const VARIABLE = new Set(["Id"]);

const isRecord = ({ header }: Table): boolean => header.join() === "Field,Value";

/** Returns a record for each row; a table of fields and values is one record. */
function recordsOf(table: Table): readonly Row[] {
  const { header, rows } = table;
  if (isRecord(table)) {
    return [Object.fromEntries(rows.map(([name, value]) => [name, value]))];
  }
  return rows.map((row) => Object.fromEntries(header.map((name, column) => [name, row[column] ?? ""])));
}

const providerOf = (row: Row): string => row.resource_provider ?? row.uuid ?? "";

/** Returns JSON with sorted members, without fields of newer clients, which request Placement's latest microversion. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (name, item: unknown) => {
    if (name === "consumer_generation") {
      return undefined;
    }
    if (typeof item !== "object" || item === null || Array.isArray(item)) {
      return item;
    }
    return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
