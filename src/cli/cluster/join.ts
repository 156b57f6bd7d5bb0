import { isIP } from "node:net";
import type { Command } from "commander";
import { quoted } from "../../control-plane/identity/openrc.js";
import { conductorUrl, excludeFromGit, readClusterAccess, type StateDir } from "../../control-plane/local/state-dir.js";
import type { Files } from "../../runtime/files.js";
import { CommandError, ExitCode } from "../ui/exit-code.js";
import { clusterCommand, inCluster } from "./cluster-command.js";
import { covers, TlsFiles } from "./tls/tls-files.js";

interface JoinOptions {
  readonly address?: string;
  readonly json?: true;
}

/** The written file and the address in it. */
interface Joining {
  /** `wss://192.0.2.2:8775/conductor` */
  readonly url: string;
  readonly file: string;
}

export function joinCommand(): Command {
  return clusterCommand("join")
    .summary("Write the file with which other machines join")
    .description(
      "Writes address, CA and join token into one nova.conf of mode 0600, and prints the next steps. Keep the file like a " +
        "password: whoever has it can join as any host and read what agents read.",
    )
    .option("--address <name>", "name or address in the certificate at which those machines reach the control plane")
    .option("--json", "print url and file as JSON")
    .action(
      inCluster(async ({ directory, runtime, terminal }, { address, json }: JoinOptions) => {
        const joining = await writeJoinConfig(address, runtime.files, directory);
        terminal.print(json ? JSON.stringify(joining) : advice(joining));
      }),
    );
}

function advice({ url, file }: Joining): string {
  return [
    `Wrote ${file} (mode 0600): how to reach ${url}, and the join token.`,
    "Copy it, keep it secret, and start agents with it on the other machine:",
    `  scp ${quoted(file)} OTHER:`,
    "  compute-agent --host NAME --config-file join.conf",
  ].join("\n");
}

/**
 * Writes the configuration file for agents on other machines.
 * @param address instead of the address that the control plane announces
 * @throws {ClusterError} `NoLocalCloud`
 * @throws {CommandError} the control plane has no external listener, or not with this name
 */
export async function writeJoinConfig(
  address: string | undefined,
  files: Files,
  directory: StateDir,
): Promise<Joining> {
  const { info, joinToken } = await readClusterAccess(files, directory);
  const { url: ownUrl, externalUrl } = info;
  if (externalUrl === undefined) {
    throw new CommandError(
      ExitCode.usage,
      `the control plane of ${directory.root} listens on ${ownUrl} only, which other machines cannot reach: ` +
        'create a certificate with "compute-agent tls", and start it with --listen ADDRESS',
    );
  }
  const tls = new TlsFiles(files, directory);
  const isSecure = externalUrl.startsWith("https:");
  if (address !== undefined && isSecure) {
    const server = await tls.server();
    if (server !== undefined && !covers(server.certificate, address)) {
      throw new CommandError(
        ExitCode.usage,
        `the certificate of the control plane is not for ${address}; "compute-agent tls" prints its names, --renew ` +
          `creates another`,
      );
    }
  }
  const url = conductorUrl({ url: address === undefined ? externalUrl : withHost(externalUrl, address) });
  const ca = isSecure ? await tls.ca() : undefined;
  await excludeFromGit(files, directory.root);
  await files.write(directory.joinConfig, joinConfig(url, joinToken, ca), { mode: 0o600 });
  return { url, file: directory.joinConfig };
}

function withHost(url: string, host: string): string {
  const { protocol, port } = new URL(url);
  return `${protocol}//${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

function joinConfig(url: string, token: string, ca: string | undefined): string {
  return [
    "# How a compute-agent on another machine joins; as secret as a password.",
    "[conductor]",
    `url = ${url}`,
    `join_token = ${token}`,
    // Continuation lines of a value are indented.
    ...(ca === undefined ? [] : [`ca = ${ca.trim().split(/\s*\n/).join("\n  ")}`]),
    "",
  ].join("\n");
}
