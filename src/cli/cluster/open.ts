import { spawn } from "node:child_process";
import { platform } from "node:os";
import { Command } from "commander";
import { DEFAULT_STATE_DIR, readClusterAccess, stateDir } from "../../control-plane/local/state-dir.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import { ExitCode } from "../ui/exit-code.js";
import { quietLogger } from "../ui/logging.js";
import { createTerminal } from "../ui/terminal.js";

interface OpenFlags {
  readonly stateDir: string;
  readonly readOnly?: true;
  readonly browser: boolean;
}

export function openCommand(): Command {
  return new Command("open")
    .summary("show the cluster in a browser")
    .description(
      "Prints a link to the page of the running cluster, and starts the browser with it. The link is good for one minute, once, and " +
        "on this machine.",
    )
    .option("--state-dir <dir>", "the cluster's state directory", DEFAULT_STATE_DIR)
    .option("--read-only", "a page that only looks")
    .option("--no-browser", "print the link only")
    .action(async (flags: OpenFlags) => {
      process.exitCode = await open(flags);
    });
}

async function open({ stateDir: stateDirOption, readOnly, browser }: OpenFlags): Promise<number> {
  const runtime = createNodeRuntime({ logger: quietLogger });
  const terminal = createTerminal();
  try {
    const directory = stateDir(stateDirOption, process.cwd());
    const { info, joinToken } = await readClusterAccess(runtime.files, directory);
    const response = await runtime.http.request({
      method: "POST",
      url: `${info.url}/window/keys${readOnly === true ? "?read-only=1" : ""}`,
      headers: { authorization: `Bearer ${joinToken}` },
    });
    if (response.status !== 200) {
      throw new Error(
        `${info.url} returned no link to its dashboard: it responded ${response.status}: ${response.body.slice(0, 300)}`,
      );
    }
    const { key } = JSON.parse(response.body) as { readonly key: string };
    const link = `${info.url}/window/enter?key=${key}`;
    terminal.print(link);
    if (browser) {
      startBrowser(link);
    }
    return ExitCode.ok;
  } finally {
    await runtime.http.close();
  }
}

/** Ignores a missing browser: the link was printed. */
function startBrowser(link: string): void {
  const program = platform() === "darwin" ? "open" : "xdg-open";
  const child = spawn(program, [link], { detached: true, stdio: "ignore" });
  child.on("error", () => undefined);
  child.unref();
}
