import { isIP } from "node:net";
import { type CertificateAttributes, day } from "./certificate.js";

/** What `compute-cluster tls` shows. Times are in milliseconds since the epoch. */
export interface TlsReport {
  /** Now; false: it was there. */
  readonly made: boolean;
  readonly certificate: CertificateAttributes & { readonly file: string };
  /** Null: the system's authorities. */
  readonly authority: (CertificateAttributes & { readonly file: string }) | null;
  /** Below 0: it has expired. */
  readonly daysLeft: number;
  /** The state directory. */
  readonly directory: string;
}

/** As lines for people. */
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
      ? ["Agents and clients check it by the authorities of their systems."]
      : [
          "Agents and clients check it by the authority:",
          `  name       ${authority.subject}`,
          `  valid      ${day(authority.from)} to ${day(authority.until)}`,
          ...fingerprint(authority),
          `  file       ${authority.file}`,
        ]),
    "",
    ...(daysLeft < 0 ? ["Make a new one: compute-cluster tls --renew, with --state-dir as here"] : []),
    "The control plane takes it when it is started (again):",
    `  compute-cluster up --listen ${name.includes(":") ? `[${name}]` : name} --state-dir ${directory}`,
    "What an agent on another machine needs is then written by:",
    `  compute-cluster join --state-dir ${directory}`,
  ].join("\n");
}

/** In two lines, for a terminal of 80 columns. */
function fingerprint({ fingerprint: text }: CertificateAttributes): readonly string[] {
  return [`  SHA-256    ${text.slice(0, 48)}`, `             ${text.slice(48)}`];
}
