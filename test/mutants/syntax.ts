import { parseSync } from "rolldown/utils";

/** A node of the syntax tree (ESTree with TypeScript's nodes), with the properties that mutants need. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [property: string]: unknown;
}

export interface Syntax {
  readonly program: SyntaxNode;
  /** The module specifiers of imports and re-exports, including those of types. */
  readonly imports: readonly string[];
}

export function parse(path: string, text: string): Syntax {
  const { program, module, errors } = parseSync(path, text);
  if (errors.length > 0) {
    throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`);
  }
  const imported = module.staticImports.map(({ moduleRequest }) => moduleRequest.value);
  const reexported = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest }) => (moduleRequest ? [moduleRequest.value] : [])),
  );
  return { program: program as unknown as SyntaxNode, imports: [...imported, ...reexported] };
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

export function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  return Object.entries(node).flatMap(([name, value]) => {
    if (name === "parent") {
      return [];
    }
    return Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [];
  });
}

/** Returns the child with a name; undefined if there is none. */
export function child(node: SyntaxNode, name: string): SyntaxNode | undefined {
  const value = node[name];
  return isNode(value) ? value : undefined;
}

export function list(node: SyntaxNode, name: string): readonly SyntaxNode[] {
  const value = node[name];
  return Array.isArray(value) ? value.filter(isNode) : [];
}
