import { readFileSync } from "node:fs";

/** A command in the troubleshooting document, with its documented output. */
export interface DocumentStep {
  readonly command: string;
  readonly output: string;
}

const FILE = new URL("../../fixtures/golden/orphaned-allocations/document.txt", import.meta.url);

/** Returns the steps in the document's order. */
export function documentSteps(): readonly DocumentStep[] {
  return readFileSync(FILE, "utf8")
    .replaceAll("\\\n", "")
    .split(/^\$ /m)
    .slice(1)
    .map((block) => {
      const [command = "", ...output] = block.split("\n");
      return { command: command.replaceAll(/\s+/g, " ").trim(), output: output.join("\n").trim() };
    });
}
