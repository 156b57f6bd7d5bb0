import { cpSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { compiled } from "./edited-source.js";
import type { Plant } from "./plant.js";

/** A copy of the build in `dist` with a defect. */
export class PlantedBuild {
  /** The program that simulates its seeds. */
  readonly worker: URL;
  readonly #folder: URL;

  /** @param root the project's folder */
  constructor(root: URL, { name, sources }: Plant) {
    const folder = new URL(`dist/planted/${name}/`, root);
    this.#folder = folder;
    this.worker = new URL("test/simulator/worker.js", folder);
    this.remove();
    for (const part of ["src", "drivers", "test"]) {
      cpSync(fileURLToPath(new URL(`dist/${part}`, root)), fileURLToPath(new URL(part, folder)), {
        recursive: true,
        filter: (path) => !path.endsWith(".d.ts"),
      });
    }
    for (const [file, source] of sources) {
      writeFileSync(new URL(file.replace(/\.ts$/, ".js"), folder), compiled(file, source));
    }
  }

  remove(): void {
    rmSync(fileURLToPath(this.#folder), { recursive: true, force: true });
  }
}
