import { homedir } from "node:os";
import type { Command } from "commander";
import { chooseCloud, localCloud } from "../../audit/cloud/choose-cloud.js";
import type { CloudConfig } from "../../audit/cloud/cloud-config.js";
import { type Cloud, openCloud } from "../../audit/cloud/open-cloud.js";
import { AuditError } from "../../audit/errors.js";
import { DEFAULT_STATE_DIR, type StateDir } from "../../control-plane/local/state-dir.js";
import type { Files } from "../../runtime/files.js";
import type { HttpTls } from "../../runtime/node/undici-http-client.js";
import { CommandError, ExitCode, exitCodeOf } from "../ui/exit-code.js";
import { type ClusterContext, inCluster, withRuntime } from "./cluster-command.js";

export interface CloudOptions {
  readonly osCloud?: string;
  readonly osRegionName?: string;
  readonly osInterface?: string;
  readonly stateDir?: string;
  readonly novaManageExitCodes?: true;
}

/** Adds the options that select the cloud, as OpenStack's clients name them, and the exit codes. */
export function withCloudOptions(command: Command): Command {
  return command
    .option(
      "--os-cloud <name>",
      "name of a cloud in clouds.yaml (default: OS_CLOUD, other OS_* variables, the local cluster)",
    )
    .option("--os-region-name <name>", "region of the endpoints")
    .option("--os-interface <kind>", "interface of the endpoints: public, internal or admin")
    .option(
      "--state-dir <dir>",
      `state directory of a local cluster, which overrides OS_* variables (if no cloud is set: ${DEFAULT_STATE_DIR})`,
    )
    .option(
      "--nova-manage-exit-codes",
      "use the exit codes of nova-manage placement audit: 3 found, 4 edits done, 1 failed or not reachable",
    );
}

/** Exit codes of nova-manage's audit (spec 7.4), selected by `--nova-manage-exit-codes`. */
const NOVA_MANAGE_CODES = { none: 0, failed: 1, found: 3, applied: 4 } as const;

/** Returns the exit code of a result. Without nova-manage's codes, findings and edits are not failures. */
export function auditExitCode(
  result: keyof typeof NOVA_MANAGE_CODES,
  { novaManageExitCodes }: Pick<CloudOptions, "novaManageExitCodes">,
): number {
  if (novaManageExitCodes === true) {
    return NOVA_MANAGE_CODES[result];
  }
  return result === "failed" ? ExitCode.failure : ExitCode.ok;
}

export interface CloudContext extends Omit<ClusterContext, "directory"> {
  readonly cloud: Cloud;
  /** The state directory of the cloud, if it is the local cluster. */
  readonly local: StateDir | null;
}

/** Returns an action that runs `work` with the selected cloud, and sets the exit code to its result. */
export function inCloud<Arguments extends readonly unknown[]>(
  command: string,
  work: (context: CloudContext, ...args: Arguments) => Promise<number>,
): ReturnType<typeof inCluster<Arguments>> {
  return inCluster(async ({ directory, ...context }, ...args: Arguments) => {
    const options = context.options as CloudOptions;
    const { files } = context.runtime;
    const local = { file: directory.cloudsFile, cloud: "devstack", requested: options.stateDir !== undefined };
    try {
      const config = await chooseCloud(files, {
        ...(options.osCloud === undefined ? {} : { cloud: options.osCloud }),
        ...(options.osRegionName === undefined ? {} : { region: options.osRegionName }),
        ...(options.osInterface === undefined ? {} : { interface: options.osInterface }),
        environment: process.env,
        cwd: process.cwd(),
        home: homedir(),
        local,
      });
      const isLocal = (await localCloud(files, local))?.authUrl === config.authUrl;
      const tls = await readTls(config, files);
      return await withRuntime(
        async (runtime) => {
          const cloud = await openCloud(runtime.http, config);
          return work({ ...context, runtime, cloud, local: isLocal ? directory : null }, ...args);
        },
        { tls },
      );
    } catch (error) {
      if (!(error instanceof AuditError)) {
        throw error;
      }
      const code = exitCodeOf(error);
      const isOwnCode = code === ExitCode.usage || options.novaManageExitCodes !== true;
      throw new CommandError(isOwnCode ? code : auditExitCode("failed", options), error.message, { command });
    }
  });
}

/** @throws {AuditError} */
async function readTls({ name, tls = { verify: true } }: CloudConfig, files: Files): Promise<HttpTls> {
  const read = async (path: string | undefined) => {
    const text = path === undefined ? undefined : await files.readIfPresent(path);
    if (path !== undefined && text === undefined) {
      throw new AuditError("CloudConfigInvalid", `cloud ${name}: there is no file ${path} (cacert, cert or key)`);
    }
    return text;
  };
  const [ca, cert, key] = await Promise.all([tls.cacert, tls.cert, tls.key].map(read));
  return {
    verify: tls.verify,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}
