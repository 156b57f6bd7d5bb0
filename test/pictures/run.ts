// `npm run pictures [-- FOLDER]`: makes the pictures of README and docs from real clusters; default: docs/images.
import { join, resolve } from "node:path";
import { PACKAGE_ROOT } from "../process/support/program.js";
import { makePictures } from "./pictures.js";

const [, , folder = join(PACKAGE_ROOT, "docs/images")] = process.argv;
for (const name of await makePictures(resolve(folder))) {
  process.stdout.write(`${join(folder, name)}\n`);
}
