import { isAlias, isCollection, isMap, isPair, LineCounter, type Node, parseDocument, visit } from "yaml";

/** Where something stands in the file, counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** What is wrong at one place. */
export interface Problem extends Place {
  readonly text: string;
}

type Path = readonly (string | number)[];

/** Bytes that are read at most. */
export const MAX_FILE_BYTES = 1024 * 1024;
/** Times that aliases may be used: each may stand for much. */
const MAX_ALIASES = 100;
const DEEPEST = 32;

/** A value of a file, and where its parts stand there. */
export interface TextPart {
  readonly value: unknown;
  /** The place of the value at a path, or of the nearest value above it. @param ofKey the place of its key instead */
  place(path: Path, ofKey?: boolean): Place;
}

/** A YAML (or JSON) text, and where its parts stand in it. */
export class FileText implements TextPart {
  readonly value: unknown;
  /** What is wrong with it as YAML. */
  readonly problems: readonly Problem[];
  readonly #document: ReturnType<typeof parseDocument>;
  readonly #lines = new LineCounter();

  constructor(text: string) {
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false, stringKeys: true });
    const { errors } = this.#document;
    const broken = errors.map((error) => ({ ...this.#placeAt(error.pos[0]), text: error.message }));
    this.problems = broken.length > 0 ? broken : this.#excesses();
    this.value = this.problems.length > 0 ? undefined : this.#document.toJS({ maxAliasCount: MAX_ALIASES });
  }

  /** The value of one of its keys, as if it were a file. */
  part(key: string): TextPart {
    const { value } = this;
    const part = typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[key] : null;
    return { value: part, place: (path, ofKey) => this.place([key, ...path], ofKey) };
  }

  place(path: Path, ofKey = false): Place {
    let node = this.#document.contents as Node | null;
    let at = this.#placeAt(node?.range?.[0] ?? 0);
    path.forEach((step, index) => {
      const real = isAlias(node) ? node.resolve(this.#document) : node;
      const pair = isMap(real)
        ? real.items.find((item) => isPair(item) && String((item.key as { value?: unknown })?.value) === String(step))
        : undefined;
      const next = pair === undefined ? (isCollection(real) ? real.get(step, true) : undefined) : pair.value;
      const target = pair !== undefined && ofKey && index === path.length - 1 ? pair.key : (next ?? pair?.key);
      at = isNodeWithRange(target) ? this.#placeAt(target.range[0]) : at;
      node = (next as Node | null | undefined) ?? null;
    });
    return at;
  }

  /** Structures that would take forever, or all the memory. */
  #excesses(): readonly Problem[] {
    const found: Problem[] = [];
    let aliases = 0;
    visit(this.#document, (_key, node, path) => {
      const at = isNodeWithRange(node) ? this.#placeAt(node.range[0]) : { line: 1, column: 1 };
      aliases += isAlias(node) ? 1 : 0;
      const isDeep = path.length > 2 * DEEPEST;
      if (aliases > MAX_ALIASES || isDeep) {
        const what = isDeep ? `more than ${DEEPEST} levels` : `more than ${MAX_ALIASES} aliases (*name)`;
        found.push({ ...at, text: `found ${what}, expected less` });
        return visit.BREAK;
      }
      return undefined;
    });
    return found;
  }

  #placeAt(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}

function isNodeWithRange(node: unknown): node is { readonly range: readonly [number, number, number] } {
  return typeof node === "object" && node !== null && "range" in node && Array.isArray(node.range);
}
