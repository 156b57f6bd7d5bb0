import { homedir } from "node:os";
import { Option } from "commander";
import { chooseCloud, localCloud } from "../../audit/cloud/choose-cloud.js";
import type { CloudConfig } from "../../audit/cloud/cloud-config.js";
import { CloudConfigInvalid, CloudError } from "../../audit/cloud/errors.js";
import { type Cloud, openCloud } from "../../audit/cloud/open-cloud.js";
import { NotInPlan } from "../../audit/plan/plan.js";
import { PlanUnreadable } from "../../audit/plan/plan-file.js";
import { DEFAULT_STATE_DIR, type StateDir, stateDir } from "../../control-plane/local/state-dir.js";
import { terminalText } from "../../runtime/error-messages.js";
import type { Files } from "../../runtime/files.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import type { HttpTls } from "../../runtime/node/undici-http-client.js";
import type { Runtime } from "../../runtime/runtime.js";
import { ExitCode, exitCodeOf } from "../ui/exit-code.js";
import { quietLogger } from "../ui/logging.js";

export interface CloudOptions {
  readonly osCloud?: string;
  readonly osRegionName?: string;
  readonly osInterface?: string;
  readonly stateDir?: string;
  readonly novaManageExitCodes?: true;
}

/** Options that select the cloud, as OpenStack's clients name them, and the exit codes. */
export function cloudOptions(): Option[] {
  return [
    new Option(
      "--os-cloud <name>",
      "a cloud of clouds.yaml (default: OS_CLOUD, other OS_* variables, the local cluster)",
    ),
    new Option("--os-region-name <name>", "the region whose endpoints are used"),
    new Option("--os-interface <kind>", "public, internal or admin endpoints"),
    new Option(
      "--state-dir <dir>",
      `the local cluster of this state directory, whatever OS_* variables say (without any: "${DEFAULT_STATE_DIR}")`,
    ),
    new Option(
      "--nova-manage-exit-codes",
      "exit codes of nova-manage placement audit: 3 found, 4 edits done, 1 failed or not reachable",
    ),
  ];
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

/**
 * Runs `work` with the cloud, and with its state directory if it is the local cluster. An error that the user can fix
 * becomes one line and an exit code.
 */
export async function withCloud(
  program: string,
  options: CloudOptions,
  work: (cloud: Cloud, runtime: Runtime, local: StateDir | null) => Promise<number>,
): Promise<number> {
  const files = new NodeFiles();
  let runtime: Runtime | undefined;
  try {
    const directory = stateDir(options.stateDir ?? DEFAULT_STATE_DIR, process.cwd());
    const local = { file: directory.cloudsFile, cloud: "devstack", requested: options.stateDir !== undefined };
    const config = await chooseCloud(files, {
      ...(options.osCloud === undefined ? {} : { cloud: options.osCloud }),
      ...(options.osRegionName === undefined ? {} : { region: options.osRegionName }),
      ...(options.osInterface === undefined ? {} : { interface: options.osInterface }),
      environment: process.env,
      cwd: process.cwd(),
      home: homedir(),
      local,
    });
    runtime = createNodeRuntime({ logger: quietLogger, tls: await readTls(config, files) });
    const isLocal = (await localCloud(files, local))?.authUrl === config.authUrl;
    return await work(await openCloud(runtime.http, config), runtime, isLocal ? directory : null);
  } catch (error) {
    if (!(error instanceof CloudError || error instanceof PlanUnreadable || error instanceof NotInPlan)) {
      throw error;
    }
    process.stderr.write(`${terminalText(`${program}: ${error.message}`)}\n`);
    const code = exitCodeOf(error);
    return code === ExitCode.usage || options.novaManageExitCodes !== true ? code : auditExitCode("failed", options);
  } finally {
    await runtime?.http.close();
  }
}

/** @throws {CloudConfigInvalid} */
async function readTls({ name, tls = { verify: true } }: CloudConfig, files: Files): Promise<HttpTls> {
  const read = async (path: string | undefined) => {
    const text = path === undefined ? undefined : await files.readIfPresent(path);
    if (path !== undefined && text === undefined) {
      throw new CloudConfigInvalid(`cloud ${name}: there is no file ${path} (cacert, cert or key)`);
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
