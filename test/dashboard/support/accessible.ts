import axe from "axe-core";
import type { Page } from "playwright-core";

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** Returns the accessibility violations that axe finds on the page. */
export async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(`window.axe === undefined && (() => { ${axe.source} })()`);
  const found = await page.evaluate<readonly Violation[]>("axe.run(document).then(({ violations }) => violations)");
  return found.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`));
}
