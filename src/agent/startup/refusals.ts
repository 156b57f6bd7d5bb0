import { HostLeaseHeld, InvalidNodeConfiguration, ServiceTooOld } from "../../conductor/errors.js";
import { InvalidConfiguration } from "../../virt/errors.js";

/**
 * Why an agent refuses to start: a stable code (for `--json` and the documentation), OpenStack's name of the error, and the
 * row of the specification. A contradiction that is not in this table is not guessed at: its error goes up as it is.
 */
export const REFUSALS = {
  "service-too-old": { error: "ServiceTooOld", spec: "1.2" },
  "max-disk-devices-zero": { error: "InvalidConfiguration", spec: "2.2 row 1" },
  "host-lease-held": { error: "HostLeaseHeld", spec: "2.4 G6" },
  "identity-lost": { error: "InvalidConfiguration", spec: "2.3, 2.4 G7" },
  "identity-unparseable": { error: "InvalidNodeConfiguration", spec: "2.3" },
  "identity-ambiguous": { error: "InvalidNodeConfiguration", spec: "2.3" },
  "identity-not-writable": { error: "InvalidNodeConfiguration", spec: "2.3" },
  "identity-no-node": { error: "InvalidConfiguration", spec: "2.3" },
  "identity-many-nodes": { error: "InvalidConfiguration", spec: "2.3" },
  "hypervisor-renamed": { error: "InvalidConfiguration", spec: "2.4 c" },
  "node-of-other-host": { error: "InvalidConfiguration", spec: "2.4 d" },
  "node-recorded-twice": { error: "InvalidConfiguration", spec: "2.4 e" },
  "hypervisor-of-other-host": { error: "InvalidConfiguration", spec: "2.4 f" },
  "guests-on-new-host": { error: "InvalidConfiguration", spec: "2.2 row 3" },
  "service-changed": { error: "ComputeServiceInUse", spec: "2.1 row 5" },
  "service-of-other-host": { error: "ServiceNotUnique", spec: "2.1 row 5" },
  "provider-config-invalid": { error: "ProviderConfigException", spec: "2.1 row 1, 4.9" },
  "configuration-invalid": { error: "InvalidConfiguration", spec: "2.2 rows 2 and 9, 4.8" },
} as const satisfies Record<string, { readonly error: string; readonly spec: string }>;

export type RefusalCode = keyof typeof REFUSALS;

/** What a person who meets the refusal needs. */
export interface Refusal {
  readonly code: RefusalCode;
  /** OpenStack's name of the error. */
  readonly error: string;
  /** Row of the specification. */
  readonly spec: string;
  /** The contradiction, with the values of each record. */
  readonly found: string;
  /** What to do about it; empty when the error itself says it. */
  readonly mend: string;
  /** The records that contradict each other, by name. */
  readonly records: Readonly<Record<string, string>>;
}

export interface RefusalDetails {
  readonly found: string;
  readonly mend: string;
  readonly records?: Readonly<Record<string, string>>;
}

const sentence = ({ found, mend }: RefusalDetails): string => `${found}. To mend it: ${mend}`;

const refusal = (code: RefusalCode, details: RefusalDetails): Refusal => ({
  code,
  ...REFUSALS[code],
  found: details.found,
  mend: details.mend,
  records: details.records ?? {},
});

/** The agent's view of itself, of the hypervisor and of the records do not agree: it must not act. */
export class RefusedConfiguration extends InvalidConfiguration {
  readonly refusal: Refusal;

  constructor(code: RefusalCode, details: RefusalDetails, options?: ErrorOptions) {
    super(sentence(details), options);
    this.refusal = refusal(code, details);
  }
}

/** As {@link RefusedConfiguration}, for the identity file. Not an InvalidConfiguration (spec 2.3). */
export class RefusedNodeConfiguration extends InvalidNodeConfiguration {
  readonly refusal: Refusal;

  constructor(code: RefusalCode, details: RefusalDetails) {
    super(sentence(details), { ...details.records });
    this.refusal = refusal(code, details);
  }
}

/** Another live agent acts for this host (spec 2.4 G6). */
export class RefusedLease extends HostLeaseHeld {
  readonly refusal: Refusal;

  constructor(details: RefusalDetails) {
    super(sentence(details), { ...details.records });
    this.refusal = refusal("host-lease-held", details);
  }
}

/** This agent, or one that it would work with, is older than the deployment allows (spec 1.2). */
export class RefusedVersion extends ServiceTooOld {
  readonly refusal: Refusal;

  constructor(details: RefusalDetails) {
    super(sentence(details), { ...details.records });
    this.refusal = refusal("service-too-old", details);
  }
}

/** Errors of other layers that refuse a start. */
const CODES_BY_ERROR: Readonly<Record<string, RefusalCode>> = {
  ServiceTooOld: "service-too-old",
  HostLeaseHeld: "host-lease-held",
  ComputeServiceInUse: "service-changed",
  ServiceNotUnique: "service-of-other-host",
  ProviderConfigException: "provider-config-invalid",
  InvalidConfiguration: "configuration-invalid",
};

/** The refusal that an error of a start stands for; null for any other failure. */
export const refusalOf = (error: unknown): Refusal | null => {
  if (
    error instanceof RefusedConfiguration ||
    error instanceof RefusedNodeConfiguration ||
    error instanceof RefusedLease ||
    error instanceof RefusedVersion
  ) {
    return error.refusal;
  }
  const code = error instanceof Error ? CODES_BY_ERROR[error.name] : undefined;
  return code && error instanceof Error ? refusal(code, { found: error.message, mend: "" }) : null;
};
