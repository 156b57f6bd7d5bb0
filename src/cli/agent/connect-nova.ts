import type { ConductorConnection } from "../../conductor-client/port.js";
import type { NovaConfig } from "../../config/nova-config.js";
import { connectToNova, type NovaConnectOptions } from "../../nova-rpc/connect-to-nova.js";
import { parseTransportUrl, withoutPasswords } from "../../nova-rpc/transport/transport-url.js";
import type { BrokerAddress, BrokerTls } from "../../runtime/message-broker.js";
import { connectToAmqp } from "../../runtime/node/amqp-broker.js";
import type { Runtime } from "../../runtime/runtime.js";
import { CommandError, ExitCode } from "../ui/exit-code.js";
import { createWaitingReport } from "./host-reports.js";

/**
 * Returns the broker that nova.conf names, with the credentials.
 * @throws {CommandError} options contradict each other; {@link NovaRpcError} InvalidTransportUrl
 */
export async function brokerAddress(
  config: NovaConfig,
  transportUrl: string,
  runtime: Runtime,
): Promise<BrokerAddress> {
  assertConsistent(config);
  const { ssl } = config.osloMessagingRabbit;
  return { ...parseTransportUrl(transportUrl), tls: ssl ? await tlsOf(config, runtime) : null };
}

/**
 * Connects to the broker of a real Nova, and waits for its conductor without a time limit.
 * @param options `lookOnly`: leaves nothing in the broker
 */
export async function connectNova(
  config: NovaConfig,
  transportUrl: string,
  runtime: Runtime,
  signal: AbortSignal,
  { onAgain, ...options }: Pick<NovaConnectOptions, "lookOnly" | "observer"> & { readonly onAgain?: () => void },
): Promise<ConductorConnection> {
  const address = await brokerAddress(config, transportUrl, runtime);
  const place = withoutPasswords(address);
  const rabbit = config.osloMessagingRabbit;
  const connection = connectToNova({
    address,
    rabbit,
    runtime,
    connectToBroker: connectToAmqp,
    ignoreNetworks: config.computeAgent.ignoreNetworks,
    ...options,
  });
  const report = createWaitingReport(runtime.logger, onAgain);
  connection.onState((state, detail) => {
    if (state === "waiting") {
      report.waiting(detail);
    } else if (state === "connected") {
      report.connected(place);
    }
  });
  const abort = () => void connection.close();
  signal.addEventListener("abort", abort, { once: true });
  try {
    await connection.connected();
  } catch (error) {
    await connection.close();
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
  const { release, serviceVersion } = connection.profile;
  runtime.logger.info(
    `the control plane at ${place} is a Nova of release ${release} (service version ${serviceVersion})`,
  );
  return connection;
}

/** @throws {CommandError} options contradict each other */
function assertConsistent({ conductor, placement }: NovaConfig): void {
  if (conductor.url !== null) {
    throw new CommandError(
      ExitCode.usage,
      "[DEFAULT] transport_url and [conductor] url are both set: the first is a real Nova's, the second compute-cluster's",
    );
  }
  if (placement.authType === null) {
    throw new CommandError(
      ExitCode.usage,
      "[DEFAULT] transport_url is set, but [placement] auth_type is not: a real Nova gives agents no access to Placement",
    );
  }
}

async function tlsOf({ osloMessagingRabbit: rabbit }: NovaConfig, { files }: Runtime): Promise<BrokerTls> {
  const read = async (path: string) => (path === "" ? null : await files.read(path));
  const [ca, cert, key] = await Promise.all([rabbit.sslCaFile, rabbit.sslCertFile, rabbit.sslKeyFile].map(read));
  return {
    ca: ca ?? null,
    cert: cert ?? null,
    key: key ?? null,
    verifyHostname: rabbit.sslEnforceHostnameVerification,
  };
}
