import axe from "axe-core";
import type { Page } from "playwright-core";

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** What keeps people who do not see well, or use no mouse, from using the page; empty: nothing that axe knows of. */
export async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(`window.axe === undefined && (() => { ${axe.source} })()`);
  const found = await page.evaluate<readonly Violation[]>("axe.run(document).then(({ violations }) => violations)");
  return found.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`));
}
