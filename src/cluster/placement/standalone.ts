import type { Runtime } from "../../runtime/runtime.js";
import type { Listener } from "../../runtime/server.js";
import { type ConfigValues, parseConfig, placementConfig, policyRules } from "./config-file.js";
import type { PolicyRule } from "./options.js";
import { createPlacement } from "./service.js";
import { openDatabase } from "./store/database.js";

export interface StandaloneOptions {
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** A SQLite file, made when it is not there; default: what the configuration file names, else in memory. */
  readonly database?: string;
  /** placement.conf. */
  readonly configFile?: string;
  readonly runtime: Pick<Runtime, "clock" | "random" | "logger" | "files" | "servers">;
}

/** The configuration asks for something that only a cluster has. */
export class UnsupportedConfiguration extends Error {
  override readonly name = "UnsupportedConfiguration";
}

export interface StandalonePlacement {
  readonly url: string;
  /** Lets running requests end, and closes the database. */
  close(): Promise<void>;
}

/** Serves Placement alone, without Identity: tokens are taken for granted as with `auth_strategy = noauth2`. */
export async function startPlacement(options: StandaloneOptions): Promise<StandalonePlacement> {
  const { runtime, configFile } = options;
  const values: ConfigValues =
    configFile === undefined ? new Map() : parseConfig(await runtime.files.read(configFile), configFile);
  const config = placementConfig(values);
  if (config.authStrategy !== "noauth2") {
    throw new UnsupportedConfiguration(
      `[api] auth_strategy = ${config.authStrategy} needs an Identity service, which the stand-alone Placement has not; set noauth2, or use "compute-cluster up"`,
    );
  }
  const path = options.database ?? config.databasePath;
  const database = path === undefined ? undefined : openDatabase(path);
  try {
    const rules = await readPolicy(runtime, config.policyFile, configFile);
    const placement = createPlacement({
      clock: runtime.clock,
      random: runtime.random,
      logger: runtime.logger,
      policy: { ...config.policy, rules },
      placement: config.placement,
      ...(config.cors === undefined ? {} : { cors: config.cors }),
      ...(database === undefined ? {} : { database }),
    });
    const listener = await runtime.servers.listen({
      ...(options.host === undefined ? {} : { address: options.host }),
      port: options.port,
      services: { "": placement.handle },
    });
    return { url: listener.url, close: () => close(listener, database) };
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
  { files }: StandaloneOptions["runtime"],
  file: string | undefined,
  configFile: string | undefined,
): Promise<Readonly<Record<string, PolicyRule>>> {
  if (file === undefined) return {};
  const folder = configFile?.replace(/[^/]*$/, "") ?? "";
  const text = (await files.readIfPresent(file.startsWith("/") ? file : `${folder}${file}`)) ?? "";
  if (text.trim() === "") return {};
  // A parser for YAML is not worth its loading time where there is nothing to parse.
  const { parse } = await import("yaml");
  return policyRules(parse(text));
}
