import type { Mutation } from "../../mutants/mutant.js";
import { child, childrenOf, list, parse, type SyntaxNode } from "../../mutants/syntax.js";

/** Returns mutations that swap two consecutive steps of an operation: one for each such pair of each list of steps. */
export function findStepOrders(path: string, text: string): readonly Mutation[] {
  const found: Mutation[] = [];
  visit(parse(path, text).program);
  return found;

  function visit(node: SyntaxNode): void {
    const callee = node.type === "CallExpression" ? child(node, "callee") : undefined;
    if (callee && source(callee) === "stepList") {
      found.push(...list(node, "arguments").flatMap(swaps));
    }
    for (const next of childrenOf(node)) {
      visit(next);
    }
  }

  function swaps(steps: SyntaxNode): readonly Mutation[] {
    const all = list(steps, "properties");
    return all.slice(1).flatMap((second, index) => {
      const first = all[index];
      return first === undefined ? [] : [swap(steps, first, second)];
    });
  }

  function swap(steps: SyntaxNode, first: SyntaxNode, second: SyntaxNode): Mutation {
    const before = text.slice(steps.start, first.start);
    const between = text.slice(first.end, second.start);
    const after = text.slice(second.end, steps.end);
    return {
      path,
      line: text.slice(0, first.start).split("\n").length,
      operator: "order",
      change: `${source(child(second, "key"))} before ${source(child(first, "key"))}`,
      shape: "expression",
      start: steps.start,
      end: steps.end,
      replacement: `${before}${source(second)}${between}${source(first)}${after}`,
    };
  }

  function source(node: SyntaxNode | undefined): string {
    return node ? text.slice(node.start, node.end) : "";
  }
}
