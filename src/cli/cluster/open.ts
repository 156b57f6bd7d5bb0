import { spawn } from "node:child_process";
import { platform } from "node:os";
import type { Command } from "commander";
import { readClusterAccess } from "../../control-plane/local/state-dir.js";
import { type ClusterContext, clusterCommand, inCluster } from "./cluster-command.js";

interface OpenFlags {
  readonly readOnly?: true;
  readonly browser: boolean;
}

export function openCommand(): Command {
  return clusterCommand("open")
    .summary("Open the dashboard in a browser")
    .description(
      "Prints a link to the dashboard of the running cluster, and opens it in the browser. The link is valid once, for " +
        "one minute, on this machine.",
    )
    .option("--read-only", "open a read-only dashboard")
    .option("--no-browser", "print the link without opening it")
    .action(inCluster(open));
}

async function open({ directory, runtime, terminal }: ClusterContext, { readOnly, browser }: OpenFlags): Promise<void> {
  const { info, joinToken } = await readClusterAccess(runtime.files, directory);
  const { url } = info;
  const response = await runtime.http.request({
    method: "POST",
    url: `${url}/window/keys${readOnly === true ? "?read-only=1" : ""}`,
    headers: { authorization: `Bearer ${joinToken}` },
  });
  if (response.status !== 200) {
    throw new Error(
      `${url} returned no link to its dashboard: it responded ${response.status}: ${response.body.slice(0, 300)}`,
    );
  }
  const { key } = JSON.parse(response.body) as { readonly key: string };
  const link = `${url}/window/enter?key=${key}`;
  terminal.print(link);
  if (browser) {
    startBrowser(link);
  }
}

/** Ignores a missing browser: the link was printed. */
function startBrowser(link: string): void {
  const program = platform() === "darwin" ? "open" : "xdg-open";
  const child = spawn(program, [link], { detached: true, stdio: "ignore" });
  child.on("error", () => undefined);
  child.unref();
}
