import type { Listener } from "../../runtime/http-server.js";
import type { Runtime } from "../../runtime/runtime.js";
import { onlyForKnownHosts, openstackError } from "../http/responses.js";
import type { PolicyRule } from "../policy/rule-parser.js";
import { RequestWatch, requestLog } from "../request-log/request-log.js";
import { ownToken } from "./auth.js";
import { type ConfigValues, parseConfig, placementConfig, policyRules } from "./config-file.js";
import { createPlacement } from "./service.js";
import { openDatabase } from "./store/database.js";

export interface StandaloneOptions {
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** A SQLite file, created if it does not exist. Default: the one in the configuration file, otherwise in memory. */
  readonly database?: string;
  /** placement.conf. */
  readonly configFile?: string;
  /** Default: `[api] auth_strategy` of the configuration file, otherwise a token generated at each start. */
  readonly authStrategy?: "noauth2" | "token";
  /** Host names by which clients reach the server. IP addresses and `localhost` are always accepted. */
  readonly serverNames?: readonly string[];
  /** Logs a line for each request. */
  readonly logRequests?: boolean;
  readonly runtime: Pick<Runtime, "clock" | "random" | "logger" | "files" | "modules" | "servers">;
}

/**
 * Serves Placement alone, without Identity: with a generated token, or, if requested, with `auth_strategy = noauth2`.
 */
export async function startPlacement(options: StandaloneOptions) {
  const { runtime, configFile } = options;
  const values: ConfigValues =
    configFile === undefined ? new Map() : parseConfig(await runtime.files.read(configFile), configFile);
  const config = placementConfig(values);
  const strategy = options.authStrategy ?? config.authStrategy ?? "token";
  if (strategy !== "noauth2" && strategy !== "token") {
    throw new Error(
      `[api] auth_strategy = ${strategy} needs an Identity service, which the standalone Placement does not have; set noauth2, omit it to get a generated token, or use "compute-agent up"`,
    );
  }
  const token = strategy === "token" ? runtime.random.hex(32) : undefined;
  const path = options.database ?? config.databasePath;
  const database = path === undefined ? undefined : openDatabase(path);
  try {
    const rules = await readPolicy(runtime, config.policyFile, configFile);
    const placement = createPlacement({
      clock: runtime.clock,
      random: runtime.random,
      logger: runtime.logger,
      servers: runtime.servers,
      policy: { ...config.policy, rules },
      placement: config.placement,
      ...(token === undefined ? {} : { auth: ownToken(token) }),
      ...(config.cors === undefined ? {} : { cors: config.cors }),
      ...(database === undefined ? {} : { database }),
    });
    const watch = new RequestWatch(
      runtime.clock,
      () => undefined,
      options.logRequests ? [requestLog(runtime.logger)] : [],
    );
    const names = [...(options.serverNames ?? []), ...(options.host === undefined ? [] : [options.host])];
    const served = onlyForKnownHosts(placement.handle, names, () => `req-${runtime.random.uuid()}`);
    const listener = await runtime.servers.listen({
      ...(options.host === undefined ? {} : { address: options.host }),
      port: options.port,
      reject: watch.rejections(openstackError),
      services: watch.all({ "": served }),
    });
    return {
      url: listener.url,
      /** The administrator's X-Auth-Token; undefined with `noauth2`, which accepts any user name. */
      token,
      /** Waits for running requests, and closes the database. */
      close: () => close(listener, database),
    };
  } catch (error) {
    database?.close();
    throw error;
  }
}

async function close(listener: Listener, database: { close(): unknown } | undefined): Promise<void> {
  await listener.close();
  database?.close();
}

async function readPolicy(
  { files, modules }: StandaloneOptions["runtime"],
  file: string | undefined,
  configFile: string | undefined,
): Promise<Readonly<Record<string, PolicyRule>>> {
  if (file === undefined) {
    return {};
  }
  const folder = configFile?.replace(/[^/]*$/, "") ?? "";
  const text = (await files.readIfPresent(file.startsWith("/") ? file : `${folder}${file}`)) ?? "";
  if (text.trim() === "") {
    return {};
  }
  // The YAML parser is loaded only when there is something to parse, because loading it is slow.
  const { parse } = await modules.load(() => import("yaml"));
  return policyRules(parse(text));
}
