import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** A block of shell commands of a page, and what comments before it say of it. */
export interface CommandBlock {
  readonly page: string;
  /** The line of the page on which its first command stands. */
  readonly line: number;
  readonly text: string;
  /** Why it is not run; undefined: it is run. */
  readonly notRun?: string;
  /** Commands that bring about what the text before the block assumes. */
  readonly before: readonly string[];
  /** Commands, by their beginnings, that may or must end with another status than 0. */
  readonly statuses: readonly { readonly command: string; readonly allowed: readonly number[] }[];
  /** The name of the file that the block is the content of; its text is saved, not run. */
  readonly file?: string;
  /** The language of a module that imports this package, and that is run by Node. */
  readonly module?: true;
}

const SHELLS = new Set(["sh", "bash", "shell", "console"]);
/** Words that begin a command in a block without a language. */
const PROGRAMS =
  /^(?:[A-Z][A-Z0-9_]*=\S+ +)*(?:npm|npx|node|compute-agent|compute-cluster|openstack|nova|nova-manage|curl|export|eval|alias|cd|git|scp|mkdir|pip|apt-get|debootstrap|buildah|podman|virsh|agent|config\/\S+|test\/\S+)(?: |$)/m;
/** `<!-- not run: needs a real Nova -->` */
const COMMENT = /^<!-- (not run|not run from here|before|exit status [\d or]+): ([\s\S]+?) -->$/;

interface Block {
  readonly line: number;
  /** The fence's language; undefined for an indented block, or a fence without a language. */
  readonly language: string | undefined;
  readonly text: string;
  readonly comments: readonly string[];
}

/** Returns the paths of README and of the pages of `docs`, without the specification, which has no commands. */
export async function pageNames(root: string): Promise<readonly string[]> {
  const paths = await readdir(join(root, "docs"), { recursive: true });
  const pages = paths.filter((path) => path.endsWith(".md") && !path.startsWith("reference/specification/"));
  return ["README.md", ...pages.sort().map((path) => `docs/${path}`)];
}

export async function readCommandBlocks(root: string, page: string): Promise<readonly CommandBlock[]> {
  return commandBlocks(page, await readFile(join(root, page), "utf8"));
}

/** Returns the blocks of a page that a reader would type, run or save. */
export function commandBlocks(page: string, markdown: string): readonly CommandBlock[] {
  const found: CommandBlock[] = [];
  let notRunFromHere: string | undefined;
  for (const { line, language, text, comments } of markdownBlocks(markdown)) {
    const before: string[] = [];
    const statuses: { command: string; allowed: readonly number[] }[] = [];
    let notRun: string | undefined;
    for (const comment of comments) {
      const [, word = "", argument = ""] = COMMENT.exec(comment) ?? [];
      if (word === "before") {
        before.push(argument.trim());
      } else if (word === "not run from here") {
        notRunFromHere = argument;
      } else if (word === "not run") {
        notRun = argument;
      } else if (word !== "") {
        statuses.push({ command: argument.trim(), allowed: (word.match(/\d+/g) ?? []).map(Number) });
      }
    }
    notRun ??= notRunFromHere;
    const kind = kindOf(language, text);
    if (kind !== null) {
      found.push({ page, line, text, before, statuses, ...(notRun === undefined ? {} : { notRun }), ...kind });
    }
  }
  return found;
}

/** Returns the commands of a block; null if the block only shows text. */
function kindOf(language: string | undefined, text: string): Pick<CommandBlock, "file" | "module"> | null {
  if (language !== undefined && SHELLS.has(language)) {
    return {};
  }
  const [, file] = /^(?:#|\/\/) (\S+\.(?:yaml|yml|conf|json|mjs))\n/.exec(text) ?? [];
  if (file !== undefined) {
    return { file };
  }
  if ((language === "ts" || language === "js") && /^import .* from "compute-agent\/cluster";/m.test(text)) {
    return { module: true };
  }
  return language === undefined && PROGRAMS.test(text) ? {} : null;
}

/** Fenced and indented blocks, with the comments that stand before each without text in between. */
function markdownBlocks(markdown: string): readonly Block[] {
  const lines = markdown.split("\n");
  const blocks: Block[] = [];
  let comments: string[] = [];
  let blank = true;
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? "";
    const [, language] = /^```(\w*)$/.exec(line) ?? [];
    const begin = at;
    if (language !== undefined) {
      const end = lines.indexOf("```", at + 1);
      const text = lines.slice(at + 1, end).join("\n");
      blocks.push({ line: begin + 2, language: language || undefined, text, comments });
      [at, comments] = [end + 1, []];
    } else if (blank && line.startsWith("    ")) {
      while (lines[at]?.startsWith("    ") || (lines[at] === "" && lines[at + 1]?.startsWith("    "))) {
        at += 1;
      }
      const text = lines.slice(begin, at).map((each) => each.slice(4));
      blocks.push({ line: begin + 1, language: undefined, text: text.join("\n"), comments });
      comments = [];
    } else if (line.startsWith("<!--")) {
      while (!lines[at]?.endsWith("-->")) {
        at += 1;
      }
      comments.push(lines.slice(begin, at + 1).join("\n"));
      at += 1;
    } else {
      comments = line === "" ? comments : comments.filter((comment) => comment.startsWith("<!-- not run from here:"));
      at += 1;
    }
    blank = lines[at - 1] === "" || lines[at - 1]?.endsWith("-->") === true;
  }
  return blocks;
}
