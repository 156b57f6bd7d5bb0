import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/** The folder for screenshots, which CI archives. */
const SCREENSHOTS = join(tmpdir(), "compute-agent-dashboard");

export const SIZES = { wide: { width: 1280, height: 800 }, narrow: { width: 375, height: 812 } } as const;

export async function openBrowser(): Promise<Browser> {
  const executablePath = CHROMIUM.find((path) => existsSync(path));
  if (executablePath === undefined) {
    throw new Error(`there is no browser at ${CHROMIUM.join(", ")}: install Debian's chromium`);
  }
  // Containers have no sandbox, and the pages are our own.
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

export async function screenshot(page: Page, name: string): Promise<void> {
  await mkdir(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), animations: "disabled" });
}

/** Returns by how many pixels the page is wider than its viewport: 0 unless something is cut off. */
export async function overhang(page: Page): Promise<number> {
  return page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}
