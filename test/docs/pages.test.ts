import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import PQueue from "p-queue";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requireClients } from "../peers/openstack-client/clients.js";
import { PACKAGE_ROOT } from "../process/support/program.js";
import { type CommandBlock, pageNames, readCommandBlocks } from "./support/command-blocks.js";
import { PageShell } from "./support/page-shell.js";

const pages = await Promise.all(
  (await pageNames(PACKAGE_ROOT)).map(async (page) => ({ page, blocks: await readCommandBlocks(PACKAGE_ROOT, page) })),
);
const requestedPages = process.env.DOCS_PAGES?.split(",");
const withBlocks = pages.filter(({ page, blocks }) => blocks.length > 0 && (requestedPages?.includes(page) ?? true));
/** Pages wait for their processes most of the time; more than two at once slow each other down. */
const queue = new PQueue({ concurrency: 2 });
let ran = 0;

beforeAll(() => {
  requireClients();
  if (!existsSync("/usr/bin/unshare") || !existsSync("/usr/sbin/ip")) {
    throw new Error("pages run in namespaces of their own; on Debian: apt-get install util-linux iproute2");
  }
});

afterAll(() => {
  const skipped = withBlocks.flatMap(({ blocks }) => blocks.filter(({ notRun }) => notRun !== undefined));
  const reasons = new Map<string, number>();
  for (const { page, notRun } of skipped) {
    const reason = `${page}: ${notRun}`;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  const lines = [...reasons].map(([reason, blocks]) => `  ${blocks} of ${reason}`);
  process.stdout.write(`${[`${ran} blocks of the docs ran, ${skipped.length} were skipped:`, ...lines].join("\n")}\n`);
});

describe.concurrent("the commands of a page end as its reader expects", () => {
  test.each(withBlocks.filter(({ blocks }) => blocks.some(isRun)))("$page", { timeout: 900_000 }, ({ blocks }) =>
    queue.add(async () => {
      const shell = await PageShell.open();
      try {
        for (const block of blocks.filter(isRun)) {
          await runBlock(shell, block);
          ran += 1;
        }
      } finally {
        await shell.close();
      }
    }),
  );
});

function isRun({ notRun }: CommandBlock): boolean {
  return notRun === undefined;
}

/** Each block begins in the page's folder; variables and aliases stay. */
async function runBlock(shell: PageShell, block: CommandBlock): Promise<void> {
  const { page, line, text, file, module, before } = block;
  if (file !== undefined) {
    await writeFile(join(shell.folder, file), `${text}\n`);
    return;
  }
  const commands = module ? [await saveModule(shell, block)] : commandsIn(text);
  for (const command of [`cd ${shell.folder}`, ...before.flatMap(commandsIn), ...commands]) {
    const { status, output } = await shell.run(command);
    const allowed = block.statuses.find((each) => command.startsWith(each.command))?.allowed ?? [0];
    expect(allowed, `${page}:${line}: ${command}\n${output}`).toContain(status);
  }
}

/** The command that runs a module of the docs, with the end of its cluster if it leaves that to its reader. */
async function saveModule(shell: PageShell, { line, text }: CommandBlock): Promise<string> {
  const name = `example-${line}.mjs`;
  const end = text.includes("cloud.stop()") ? "" : "\nawait cloud.stop();";
  await writeFile(join(shell.folder, name), `${text}${end}\n`);
  return `node ${name}`;
}

/** The command lines of a block: a line that ends with a backslash goes on, comments and blank lines are left out. */
function commandsIn(text: string): readonly string[] {
  return text
    .replaceAll("\\\n", " ")
    .split("\n")
    .map((line) => line.trim().replace(/^\$ /, ""))
    .filter((line) => line !== "" && !line.startsWith("#"));
}
