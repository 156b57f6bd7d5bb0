import { codePointLength, isTruthy, str, unexpectedType, type Validator } from "./python-values.js";
import { firstFailure, validateString } from "./validators-of-values.js";

/** Validators of DNS names. An attribute map has the maximum length beside the type. */

/** Neutron's `FQDN_FIELD_SIZE`. */
const MAX_FQDN = 255;

/** Python's `$` matches before a final newline, too. */
const DNS_LABEL = /^(?:[a-z0-9-]{1,63}|<project_id>|<project_name>|<user_name>|<user_id>)\n?$/;
const NUMERIC_LABEL = /^[0-9]+\n?$/;

/** Checks a host name. With the domain `openstacklocal.`, Neutron does not compare it with the domain. */
function validateDnsHostName(value: unknown, maxLength: unknown): string | undefined {
  if (typeof value !== "string" && isTruthy(value)) {
    throw unexpectedType();
  }
  return isTruthy(value) ? validateDnsName(str(value), toMaxLength(maxLength)) : undefined;
}

function validateFloatingIpDnsHostName(value: unknown, maxLength: unknown): string | undefined {
  const max = toMaxLength(maxLength);
  if (typeof value !== "string" || value === "") {
    return validateString(value, null);
  }
  if (value.endsWith(".")) {
    return `'${value}' is a FQDN. It should be a relative domain name`;
  }
  return (
    validateDnsName(value, max) ??
    validateDnsLength(value, max - 3, `domain name will cause it to exceed the maximum length of a FQDN of '${max}'`)
  );
}

function validateDnsDomainName(value: unknown, maxLength: unknown): string | undefined {
  const max = toMaxLength(maxLength);
  if (typeof value !== "string" || value === "") {
    return validateString(value, null);
  }
  if (!value.endsWith(".")) {
    return `'${value}' is not a FQDN`;
  }
  return (
    validateDnsName(value, max) ??
    validateDnsLength(value, max - 2, `sub-domain will cause it to exceed the maximum length of a FQDN of '${max}'`)
  );
}

const toMaxLength = (parameter: unknown): number => (typeof parameter === "number" ? parameter : MAX_FQDN);

function validateDnsLength(name: string, max: number, consequence: string): string | undefined {
  const length = codePointLength(name);
  return length > max ? `'${name}' contains ${length} characters. Adding a ${consequence}` : undefined;
}

function validateDnsName(name: string, maxLength: number): string | undefined {
  const trimmed = name.endsWith(".") ? name.slice(0, -1) : name;
  const labels = trimmed.split(".");
  const topLevel = labels.at(-1) ?? "";
  const reason =
    codePointLength(trimmed) > maxLength
      ? `'${trimmed}' exceeds the ${maxLength} character FQDN limit`
      : (firstFailure(labels, validateDnsLabel) ??
        (labels.length > 1 && NUMERIC_LABEL.test(topLevel) ? `TLD '${topLevel}' must not be all numeric` : undefined));
  return reason === undefined ? undefined : `'${name}' not a valid PQDN or FQDN. Reason: ${reason}`;
}

function validateDnsLabel(value: unknown): string | undefined {
  const label = str(value);
  if (label === "") {
    return "Encountered an empty component";
  }
  if (label.startsWith("-") || label.endsWith("-")) {
    return `Name '${label}' must not start or end with a hyphen`;
  }
  return DNS_LABEL.test(label)
    ? undefined
    : `Name '${label}' must be 1-63 characters long, each of which can only be alphanumeric or a hyphen`;
}

export const DNS_VALIDATORS: Readonly<Record<string, Validator>> = {
  "type:dns_domain_name": validateDnsDomainName,
  "type:dns_host_name": validateDnsHostName,
  "type:fip_dns_host_name": validateFloatingIpDnsHostName,
};
