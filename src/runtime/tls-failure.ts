const UNKNOWN_ISSUER =
  "no authority that is trusted here has issued its certificate: name the file with the certificate of its CA (cafile, cacert)";

const SELF_SIGNED = "its certificate is its own authority, which is not trusted here: name its file (cafile, cacert)";

const NO_TLS = "what answers there speaks no TLS: ask it with http:// or ws://, or name the port that does";

/** What is wrong with a server's certificate, or with its TLS, and what to do, by OpenSSL's and Node's codes. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", UNKNOWN_ISSUER],
  ["UNABLE_TO_GET_ISSUER_CERT", UNKNOWN_ISSUER],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", UNKNOWN_ISSUER],
  ["CERT_SIGNATURE_FAILURE", UNKNOWN_ISSUER],
  ["SELF_SIGNED_CERT_IN_CHAIN", UNKNOWN_ISSUER],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", SELF_SIGNED],
  [
    "CERT_HAS_EXPIRED",
    "its certificate has expired, or this machine's clock is wrong: renew it (compute-cluster tls --renew)",
  ],
  [
    "CERT_NOT_YET_VALID",
    "its certificate is not valid yet: set this machine's clock, or that of the machine that made it",
  ],
  ["ERR_SSL_WRONG_VERSION_NUMBER", NO_TLS],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", NO_TLS],
]);

/** Says why there is no TLS with a server; undefined: the connection failed for another reason. */
export function tlsFailure(code: string, cause: unknown): string | undefined {
  const message = cause instanceof Error ? cause.message : "";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const [, names = message] = /altnames: (.*)$/s.exec(message) ?? [];
    return `its certificate is for other names: ${names.trim().replace(/\.$/, "")}; ask it by a name of the certificate, or renew that with this one`;
  }
  return code === "EPROTO" && /wrong version number|packet length too long/.test(message) ? NO_TLS : REASONS.get(code);
}
