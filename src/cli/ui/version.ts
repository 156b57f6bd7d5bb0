import { readFileSync } from "node:fs";

/** Of this package, from its package.json. */
export const version = (): string => {
  const text = readFileSync(new URL("../../../../package.json", import.meta.url), "utf8");
  return String((JSON.parse(text) as { version?: unknown }).version);
};
