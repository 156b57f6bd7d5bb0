import { homedir } from "node:os";
import { Option } from "commander";
import { chooseCloud, localCloud } from "../../audit/cloud/choose-cloud.js";
import type { CloudConfig } from "../../audit/cloud/cloud-config.js";
import { CloudConfigInvalid, CloudError } from "../../audit/cloud/errors.js";
import { type Cloud, openCloud } from "../../audit/cloud/open-cloud.js";
import { NotInPlan } from "../../audit/plan/plan.js";
import { PlanUnreadable } from "../../audit/plan/plan-file.js";
import { DEFAULT_STATE_DIR, type StateDir, stateDir } from "../../cluster/local/state-dir.js";
import type { Files } from "../../runtime/files.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import type { HttpTls } from "../../runtime/node/undici-http-client.js";
import type { Runtime } from "../../runtime/runtime.js";
import { terminalText } from "../../runtime/terminal-text.js";
import { ExitCode } from "../ui/exit-code.js";
import { quietLogger } from "../ui/quiet-logger.js";

export interface CloudOptions {
  readonly osCloud?: string;
  readonly osRegionName?: string;
  readonly osInterface?: string;
  readonly stateDir?: string;
}

/** Which cloud: the options of OpenStack's clients. */
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
  ];
}

/** What nova-manage's audit means by its exit codes (spec 7.4). */
export const AuditExitCode = { none: 0, failed: 1, found: 3, applied: 4 } as const;

/** Runs `work` with the cloud, and with its state directory if it is the local cluster; what a person can mend becomes one line and an exit code. */
export async function withCloud(
  program: string,
  options: CloudOptions,
  work: (cloud: Cloud, runtime: Runtime, local: StateDir | null) => Promise<number>,
): Promise<number> {
  const files = new NodeFiles();
  let runtime: Runtime | undefined;
  try {
    const directory = stateDir(options.stateDir ?? DEFAULT_STATE_DIR, process.cwd());
    const local = { file: directory.cloudsFile, cloud: "devstack", asked: options.stateDir !== undefined };
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
    const isOfPlan = error instanceof PlanUnreadable || error instanceof NotInPlan;
    if (!(error instanceof CloudError || isOfPlan)) {
      throw error;
    }
    process.stderr.write(`${terminalText(`${program}: ${error.message}`)}\n`);
    return error instanceof CloudConfigInvalid || isOfPlan ? ExitCode.usage : AuditExitCode.failed;
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
