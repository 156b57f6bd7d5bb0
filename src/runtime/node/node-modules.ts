import type { Modules } from "../modules.js";

/** Modules as Node loads them. */
export function nodeModules(): Modules {
  return { load: (load) => load() };
}
