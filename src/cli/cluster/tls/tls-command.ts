import { isIP } from "node:net";
import { hostname } from "node:os";
import { resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { ensureUsable, type StateDir } from "../../../control-plane/local/state-dir.js";
import type { Files } from "../../../runtime/files.js";
import { nodeClock } from "../../../runtime/node/node-builtins.js";
import { nodeRandom } from "../../../runtime/node/node-cryptography.js";
import { integerIn } from "../../ui/command-line.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";
import { clusterCommand, inCluster } from "../cluster-command.js";
import { makeAuthority, makeServerCertificate } from "./make-certificates.js";
import {
  type CertificateAttributes,
  certificatesIn,
  day,
  type Identity,
  identityIn,
  ownAddresses,
  TlsFiles,
  toCertificateAttributes,
} from "./tls-files.js";

/** The output of `compute-agent tls`. Times are in milliseconds since the epoch. */
interface TlsReport {
  /** Whether this command created it; false if it already existed. */
  readonly made: boolean;
  readonly certificate: CertificateAttributes & { readonly file: string };
  /** The issuing authority; null if the system's authorities are trusted. */
  readonly authority: (CertificateAttributes & { readonly file: string }) | null;
  /** Negative if it has expired. */
  readonly daysLeft: number;
  /** The state directory. */
  readonly directory: string;
}

interface TlsCommandOptions {
  readonly name: readonly string[];
  readonly address: readonly string[];
  readonly days?: number;
  readonly renew?: true;
  readonly renewCa?: true;
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
  readonly json?: true;
}

const DAY = 86_400_000;

const DEFAULT_DAYS = 365;

const AUTHORITY_DAYS = 3650;

/** Milliseconds before now at which certificates begin, since clocks of other machines may be slow. */
const BACKDATED = 3_600_000;

export function tlsCommand(): Command {
  return clusterCommand("tls")
    .summary("Create or show the certificate of the control plane")
    .description(
      "Creates a certificate authority and a certificate of the control plane (ECDSA P-256) in the folder tls of the " +
        "state directory. Keys are in files of mode 0600. Prints existing certificates, and replaces them only with --renew.",
    )
    .option(
      "--name <name>",
      "DNS name of this machine, or *.domain; repeatable (default: its host name)",
      parseDnsName,
      [],
    )
    .option("--address <address>", "IP address of this machine; repeatable (default: all except loopback)", address, [])
    .option(
      "--days <n>",
      `validity of the certificate in days (default: ${DEFAULT_DAYS})`,
      integerIn(1, AUTHORITY_DAYS),
    )
    .option("--renew", "create a new certificate of the same authority; without names, it has the previous ones")
    .option("--renew-ca", "create a new authority as well; all agents and clients then need its certificate")
    .option("--cert <file>", "PEM file with your certificate and its intermediate certificates, to use instead")
    .option("--key <file>", "PEM file with the private key (default: the file of --cert)")
    .option(
      "--ca <file>",
      "PEM file with the CA certificate for agents and clients (default: the CA certificates of their system)",
    )
    .option("--json", "print JSON")
    .action(
      inCluster(async ({ directory, runtime, terminal }, options: TlsCommandOptions) => {
        const report = await certificateReport(options, runtime.files, directory);
        terminal.print(options.json ? JSON.stringify(report, null, 2) : renderTls(report));
      }),
    );
}

function parseDnsName(text: string, before: readonly string[]): readonly string[] {
  if (
    text.length > 253 ||
    !/^(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/i.test(text) ||
    isIP(text) !== 0
  ) {
    throw new InvalidArgumentError("expected a DNS name, as control.example.org; --address takes addresses.");
  }
  return [...before, text.toLowerCase()];
}

function address(text: string, before: readonly string[]): readonly string[] {
  if (isIP(text) === 0 || text.includes("%")) {
    throw new InvalidArgumentError("expected an address, as 192.0.2.2 or 2001:db8::2; --name takes names.");
  }
  return [...before, text];
}

/**
 * Creates the requested certificates, or reads the existing ones.
 * @throws {CommandError}
 * @throws {FileFailure}
 */
export async function certificateReport(
  options: TlsCommandOptions,
  files: Files,
  directory: StateDir,
): Promise<TlsReport> {
  const tls = new TlsFiles(files, directory);
  const isRenewal = options.renew === true || options.renewCa === true;
  // A renewal ignores existing files that are unusable.
  const before = await tls.server().catch((error: unknown) => {
    if (isRenewal) {
      return undefined;
    }
    throw error;
  });
  if (options.cert === undefined && (options.key !== undefined || options.ca !== undefined)) {
    throw new CommandError(ExitCode.usage, "--key and --ca require your own certificate, passed with --cert");
  }
  if (before !== undefined && !isRenewal) {
    if (options.cert !== undefined || options.days !== undefined || options.name.length + options.address.length > 0) {
      throw new CommandError(ExitCode.usage, `${directory.tls.server} exists already; --renew replaces it`);
    }
    return report(tls, before, directory, false);
  }
  await ensureUsable(files, directory);
  const server =
    options.cert === undefined
      ? await makeCertificate(options, tls, before)
      : await takeCertificate(options, options.cert, files, tls);
  return report(tls, server, directory, true);
}

async function makeCertificate(
  options: TlsCommandOptions,
  tls: TlsFiles,
  before: Identity | undefined,
): Promise<Identity> {
  const now = nodeClock().now();
  const from = now - BACKDATED;
  const authority = (options.renewCa ? undefined : await livingAuthority(tls, now)) ?? (await newAuthority(tls, now));
  const requestedNames = [...options.name, ...options.address];
  const known = before === undefined ? [] : toCertificateAttributes(before.certificate).names;
  const names =
    requestedNames.length > 0
      ? requestedNames
      : known.length > 0
        ? known
        : [hostname().toLowerCase(), ...ownAddresses()];
  const until = now + (options.days ?? DEFAULT_DAYS) * DAY;
  const server = await makeServerCertificate(authority, [...new Set(names)], { from, until });
  await tls.keepServer(server, authority.cert);
  return identityIn("the new certificate", server.cert, server.key);
}

async function livingAuthority(tls: TlsFiles, now: number): Promise<Identity | undefined> {
  const authority = await tls.authority();
  return authority !== undefined && toCertificateAttributes(authority.certificate).until > now + DAY
    ? authority
    : undefined;
}

async function newAuthority(tls: TlsFiles, now: number) {
  const made = await makeAuthority(`compute-cluster CA ${hostname()} ${nodeRandom().hex(4)}`, {
    from: now - BACKDATED,
    until: now + AUTHORITY_DAYS * DAY,
  });
  await tls.keepAuthority(made);
  return made;
}

/** Imports the user's own certificate. */
async function takeCertificate(
  options: TlsCommandOptions,
  cert: string,
  files: Files,
  tls: TlsFiles,
): Promise<Identity> {
  const path = resolve(cert);
  const certs = await files.read(path);
  const keys = options.key === undefined ? certs : await files.read(resolve(options.key));
  const server = identityIn(options.key === undefined ? path : `${path} with ${options.key}`, certs, keys);
  const { names, until } = toCertificateAttributes(server.certificate);
  if (until < nodeClock().now()) {
    throw new CommandError(ExitCode.usage, `${path} expired on ${day(until)}; pass a valid one`);
  }
  if (names.length === 0) {
    throw new CommandError(
      ExitCode.usage,
      `${path} has no names (subjectAltName), so that no client accepts it; pass one with the names of this machine`,
    );
  }
  const ca = options.ca === undefined ? null : await files.read(resolve(options.ca));
  if (ca !== null) {
    assertTrustedByCa(path, server, resolve(options.ca ?? ""), ca);
  }
  await tls.keepServer(server, ca);
  return server;
}

/** @throws {CommandError} Clients that trust this authority would not trust the certificate. */
function assertTrustedByCa(path: string, server: Identity, caPath: string, ca: string): void {
  const chain = certificatesIn(server.cert);
  let authorities: typeof chain;
  try {
    authorities = certificatesIn(ca);
  } catch (cause) {
    throw new CommandError(ExitCode.usage, `${caPath} cannot be read; expected certificates in PEM`, { cause });
  }
  const isIssued = chain.some((each) =>
    authorities.some((authority) => each.checkIssued(authority) && each.verify(authority.publicKey)),
  );
  if (!isIssued) {
    const [found] = chain;
    const expected = authorities.map(({ subject }) => subject).join(" or ") || "one in PEM";
    throw new CommandError(
      ExitCode.usage,
      `${path} was issued by ${found?.issuer}, not by the authority in ${caPath} (${expected}); pass that authority, or put the ` +
        "intermediate certificates into the file of --cert",
    );
  }
}

async function report(tls: TlsFiles, server: Identity, directory: StateDir, made: boolean): Promise<TlsReport> {
  const ca = await tls.ca();
  const [authority] = ca === undefined ? [] : certificatesIn(ca);
  const attributes = toCertificateAttributes(server.certificate);
  return {
    made,
    certificate: { ...attributes, file: directory.tls.server },
    authority: authority === undefined ? null : { ...toCertificateAttributes(authority), file: directory.tls.ca },
    daysLeft: Math.floor((attributes.until - nodeClock().now()) / DAY),
    directory: directory.root,
  };
}

/** Formats the report for a terminal. */
export function renderTls({ made, certificate, authority, daysLeft, directory }: TlsReport): string {
  const [name = "ADDRESS"] = [...certificate.names].sort((left, right) => isIP(right) - isIP(left));
  const left = daysLeft < 0 ? "EXPIRED" : `${daysLeft} days left`;
  return [
    `${made ? "Made the" : "The"} certificate of the control plane:`,
    ...certificate.names.map((each, index) => `  ${index === 0 ? "for        " : "           "}${each}`),
    `  valid      ${day(certificate.from)} to ${day(certificate.until)} (${left})`,
    ...fingerprint(certificate),
    `  file       ${certificate.file}`,
    ...(authority === null
      ? ["Agents and clients verify it with the authorities of their systems."]
      : [
          "Agents and clients verify it with the authority:",
          `  name       ${authority.subject}`,
          `  valid      ${day(authority.from)} to ${day(authority.until)}`,
          ...fingerprint(authority),
          `  file       ${authority.file}`,
        ]),
    "",
    ...(daysLeft < 0 ? ["To create a new one: compute-agent tls --renew, with the same --state-dir"] : []),
    "The control plane uses it after the next start:",
    `  compute-agent up --listen ${name.includes(":") ? `[${name}]` : name} --state-dir ${directory}`,
    "To write the configuration for agents on other machines:",
    `  compute-agent join --state-dir ${directory}`,
  ].join("\n");
}

/** Splits a fingerprint into two lines, for a terminal of 80 columns. */
function fingerprint({ fingerprint: text }: CertificateAttributes): readonly string[] {
  return [`  SHA-256    ${text.slice(0, 48)}`, `             ${text.slice(48)}`];
}
