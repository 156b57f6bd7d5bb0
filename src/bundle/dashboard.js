// Puts the pages of the dashboard into three files that need nothing else: they work without any network.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";

const PAGES = "src/dashboard/pages";
/** What a browser may have to load, compressed. */
const MOST_BYTES = 100_000;

async function script() {
  const bundle = await rolldown({
    input: `${PAGES}/app.tsx`,
    platform: "browser",
    tsconfig: `${PAGES}/tsconfig.json`,
    resolve: { extensionAlias: { ".js": [".ts", ".tsx", ".js"] } },
    logLevel: "warn",
  });
  const { output } = await bundle.generate({ format: "iife", minify: true });
  await bundle.close();
  return output[0].code;
}

/** The sheets in the order of their names, without comments and indentation. */
function style() {
  const folder = `${PAGES}/style`;
  const sheets = readdirSync(folder).sort();
  return sheets
    .map((sheet) => readFileSync(join(folder, sheet), "utf8"))
    .join("\n")
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/\n\s*/g, "\n")
    .replace(/\n+/g, "\n");
}

export async function bundleDashboard(folder) {
  const files = {
    "index.html": readFileSync(`${PAGES}/index.html`, "utf8"),
    "icon.svg": readFileSync(`${PAGES}/icon.svg`, "utf8"),
    "app.css": style(),
    "app.js": await script(),
  };
  const bytes = Object.values(files).reduce((sum, text) => sum + gzipSync(text).length, 0);
  if (bytes > MOST_BYTES) {
    throw new Error(
      `the dashboard has ${bytes} bytes, compressed, of at most ${MOST_BYTES}: take something out of ${PAGES}`,
    );
  }
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text);
  }
}
