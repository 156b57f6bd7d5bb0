import { fileURLToPath } from "node:url";

/** The program of this package, to be started as a process: beside this folder in the source and in what was built of it. */
export function programPath(name: "compute-cluster" | "compute-agent"): string {
  return fileURLToPath(new URL(`../${name}.js`, import.meta.url));
}
