import type { Mutation, Shape } from "./mutant.js";
import { child, childrenOf, list, parse, type SyntaxNode } from "./syntax.js";

const SWAPPED: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "&&": "||",
  "||": "&&",
};

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

/** Strings for users are not mutated: log messages, error messages, and members that contain reasons. */
const LOGGED = /(^|[.#])(logger|log)(\??\.|$)/;
const MESSAGE_MEMBERS = /^(reason|why|explanation|message|mend|found|row|purpose)$/;
const SENTENCE = /\w+ \S+ \w+/;
const LEVELS = /^(trace|debug|info|warn|error|fatal)$/;

/** Returns all mutations of a source. */
export function findMutations(path: string, text: string): readonly Mutation[] {
  const finder = new Finder(path, text);
  finder.visit(parse(path, text).program, null, "");
  return finder.found;
}

class Finder {
  readonly found: Mutation[] = [];
  readonly #path: string;
  readonly #text: string;
  readonly #lineStarts: readonly number[];

  constructor(path: string, text: string) {
    this.#path = path;
    this.#text = text;
    this.#lineStarts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  }

  visit(node: SyntaxNode, parent: SyntaxNode | null, role: string): void {
    if (this.#isSkipped(node)) {
      return;
    }
    this.#mutate(node, parent, role);
    for (const next of childrenOf(node)) {
      const name = Object.keys(node).find((key) => node[key] === next) ?? "";
      this.visit(next, node, name);
    }
  }

  /** Skips types, imports, and strings for users. */
  #isSkipped(node: SyntaxNode): boolean {
    if (
      node.type === "TSAsExpression" ||
      node.type === "TSSatisfiesExpression" ||
      node.type === "TSNonNullExpression"
    ) {
      return false;
    }
    if (node.type.startsWith("TS") || /^(Import|ExportAll)/.test(node.type) || node.type === "ThrowStatement") {
      return true;
    }
    return this.#isLogged(node) || this.#isText(node);
  }

  #isText(node: SyntaxNode): boolean {
    return node.type === "Property" && MESSAGE_MEMBERS.test(this.#source(child(node, "key")));
  }

  #isLogged(node: SyntaxNode): boolean {
    const callee = node.type === "CallExpression" ? child(node, "callee") : undefined;
    const property = callee && child(callee, "property");
    const object = callee && child(callee, "object");
    return Boolean(object && property && LEVELS.test(this.#source(property)) && LOGGED.test(this.#source(object)));
  }

  #mutate(node: SyntaxNode, parent: SyntaxNode | null, role: string): void {
    switch (node.type) {
      case "IfStatement":
      case "ConditionalExpression":
        this.#condition(child(node, "test"), ["true", "false"]);
        break;
      case "WhileStatement":
      case "ForStatement":
        this.#condition(child(node, "test"), ["false"]);
        break;
      case "BinaryExpression":
      case "LogicalExpression":
        this.#binary(node, role);
        break;
      case "UnaryExpression":
        if (node.operator === "!" && role !== "test") {
          this.#add("not", node, this.#source(child(node, "argument")));
        }
        break;
      case "Literal":
        this.#literal(node, parent, role);
        break;
      case "ArrayExpression":
        this.#without("element", node, list(node, "elements"), ["[", "]"]);
        break;
      case "ObjectExpression":
        this.#without("property", node, list(node, "properties"), ["({ ", " })"]);
        break;
      case "ExpressionStatement":
        this.#statement(node);
        break;
      default:
        this.#body(node);
    }
  }

  #condition(test: SyntaxNode | undefined, values: readonly string[]): void {
    for (const value of test ? values : []) {
      this.#add("condition", test, value);
    }
  }

  #binary(node: SyntaxNode, role: string): void {
    const [left, right] = [this.#source(child(node, "left")), this.#source(child(node, "right"))];
    const operator = String(node.operator);
    if (operator === "??") {
      this.#add("default", node, left);
    }
    const swapped = SWAPPED[operator];
    // A negation would be equivalent to the condition's other mutations.
    const isNegation = role === "test" && /^[!=]==$/.test(operator);
    const joinsText = operator === "+" && /["'`]/.test(left + right);
    if (swapped !== undefined && !isNegation && !joinsText) {
      this.#add("operator", node, `${left} ${swapped} ${right}`);
    }
  }

  #literal(node: SyntaxNode, parent: SyntaxNode | null, role: string): void {
    if (role === "key" || parent?.type === "ExpressionStatement" || node.regex !== undefined) {
      return;
    }
    if (typeof node.value === "number") {
      this.#add("number", node, `${node.value + 1}`);
    } else if (typeof node.value === "boolean") {
      this.#add("boolean", node, `${!node.value}`);
    } else if (typeof node.value === "string" && !SENTENCE.test(node.value)) {
      this.#add("string", node, node.value === "" ? '"mutant"' : '""');
    }
  }

  /** Adds mutations that remove one member of a literal each. */
  #without(
    operator: string,
    node: SyntaxNode,
    members: readonly SyntaxNode[],
    [open, close]: readonly [string, string],
  ) {
    for (const member of members.filter((each) => !this.#isText(each))) {
      const rest = members.filter((other) => other !== member).map((other) => this.#source(other));
      this.#add(operator, node, `${open}${rest.join(", ")}${close}`, "expression", `without ${this.#short(member)}`);
    }
  }

  /** Mutates calls and assignments whose value is not used. */
  #statement(node: SyntaxNode): void {
    const expression = child(node, "expression");
    const call = expression?.type === "AwaitExpression" ? child(expression, "argument") : expression;
    const isCall = call?.type === "CallExpression" && child(call, "callee")?.type !== "Super" && !this.#isLogged(call);
    if (isCall || call?.type === "AssignmentExpression") {
      this.#add("statement", node, "", "statement", `drop ${this.#short(node)}`);
    }
  }

  /** Mutates a function without a return value, so that it does nothing. */
  #body(node: SyntaxNode): void {
    const body = FUNCTIONS.has(node.type) ? child(node, "body") : undefined;
    const statements = body?.type === "BlockStatement" ? list(body, "body") : [];
    if (body && statements.length > 1 && !returnsValue(body)) {
      this.#add(
        "entry",
        { ...body, start: body.start + 1 },
        "return;",
        "entry",
        `return at once: ${this.#short(node)}`,
      );
    }
  }

  #add(
    operator: string,
    node: SyntaxNode | undefined,
    replacement: string,
    shape: Shape = "expression",
    change = `${this.#short(node)} → ${replacement}`,
  ): void {
    if (node) {
      const line = this.#lineStarts.findLastIndex((start) => start <= node.start) + 1;
      const { start, end } = node;
      this.found.push({ path: this.#path, line, operator, change: shorten(change), shape, start, end, replacement });
    }
  }

  #source(node: SyntaxNode | undefined): string {
    return node ? this.#text.slice(node.start, node.end) : "";
  }

  #short(node: SyntaxNode | undefined): string {
    return shorten(this.#source(node));
  }
}

function returnsValue(node: SyntaxNode): boolean {
  if (node.type === "ReturnStatement") {
    return child(node, "argument") !== undefined;
  }
  return childrenOf(node).some((next) => !FUNCTIONS.has(next.type) && returnsValue(next));
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}
