import { ConductorError, type ConductorErrorCode } from "../conductor-client/errors.js";
import { InvalidConfiguration } from "../virt/errors.js";

/**
 * The reasons for which an agent does not start. Each has a stable code (for `--json` and the documentation),
 * OpenStack's name of the error and the row of the specification. `untouched`: it is detected before the ownership
 * guard lets the agent change anything. A contradiction outside of this table is not interpreted: its error is thrown
 * unchanged.
 */
const REJECTIONS = {
  "service-too-old": { error: "ServiceTooOld", spec: "1.2", untouched: true },
  "max-disk-devices-zero": { error: "InvalidConfiguration", spec: "2.2 row 1", untouched: true },
  "host-lease-held": { error: "HostLeaseHeld", spec: "2.4 G6", untouched: true },
  "identity-lost": { error: "InvalidConfiguration", spec: "2.3, 2.4 G7", untouched: true },
  "identity-unparseable": { error: "InvalidNodeConfiguration", spec: "2.3", untouched: true },
  "identity-ambiguous": { error: "InvalidNodeConfiguration", spec: "2.3", untouched: true },
  "identity-not-writable": { error: "InvalidNodeConfiguration", spec: "2.3", untouched: true },
  "identity-no-node": { error: "InvalidConfiguration", spec: "2.3", untouched: true },
  "identity-many-nodes": { error: "InvalidConfiguration", spec: "2.3", untouched: true },
  "hypervisor-renamed": { error: "InvalidConfiguration", spec: "2.4 c", untouched: true },
  "node-of-other-host": { error: "InvalidConfiguration", spec: "2.4 d", untouched: true },
  "node-recorded-twice": { error: "InvalidConfiguration", spec: "2.4 e", untouched: true },
  "driver-changed": { error: "InvalidConfiguration", spec: "2.4 g", untouched: true },
  "hypervisor-of-other-host": { error: "InvalidConfiguration", spec: "2.4 f", untouched: true },
  "guests-on-new-host": { error: "InvalidConfiguration", spec: "2.2 row 3", untouched: true },
  "service-changed": { error: "ComputeServiceInUse", spec: "2.1 row 5", untouched: false },
  "service-of-other-host": { error: "ServiceNotUnique", spec: "2.1 row 5", untouched: false },
  "provider-config-invalid": { error: "ProviderConfigException", spec: "2.1 row 1, 4.9", untouched: true },
  "configuration-invalid": { error: "InvalidConfiguration", spec: "2.2 rows 2 and 9, 4.8", untouched: false },
} as const satisfies Record<string, { readonly error: string; readonly spec: string; readonly untouched: boolean }>;

export type RejectionCode = keyof typeof REJECTIONS;

/** The details of a rejection, for users. */
export interface StartupRejection {
  readonly code: RejectionCode;
  /** OpenStack's name of the error. */
  readonly error: string;
  /** The row of the specification. */
  readonly spec: string;
  /** True if nothing was written, created or destroyed before; false: steps of the start may have run. */
  readonly untouched: boolean;
  /** The contradiction, with the values of each record. */
  readonly found: string;
  /** A hint how to fix it; empty if the error itself contains it. */
  readonly hint: string;
  /** The contradicting records: name → value. */
  readonly records: Readonly<Record<string, string>>;
}

export interface RejectionDetails {
  readonly found: string;
  readonly hint: string;
  readonly records?: Readonly<Record<string, string>>;
}

const sentence = ({ found, hint }: RejectionDetails): string => `${found}. To fix it: ${hint}`;

function createRejection(code: RejectionCode, details: RejectionDetails): StartupRejection {
  return {
    code,
    ...REJECTIONS[code],
    found: details.found,
    hint: details.hint,
    records: details.records ?? {},
  };
}

/** Reports that the configuration, the hypervisor and the records contradict each other: the agent must not act. */
export class ConfigRejectedError extends InvalidConfiguration {
  readonly rejection: StartupRejection;

  constructor(code: RejectionCode, details: RejectionDetails, options?: ErrorOptions) {
    super(sentence(details), options);
    this.rejection = createRejection(code, details);
  }
}

/**
 * Reports any other reason why the agent must not act: its identity file, the host's lease or a version. Not an
 * InvalidConfiguration (spec 2.3).
 */
export class StartRejectedError extends ConductorError {
  readonly rejection: StartupRejection;

  constructor(code: RejectionCodeOf<ConductorErrorCode>, details: RejectionDetails) {
    super(REJECTIONS[code].error, sentence(details), { ...details.records });
    this.rejection = createRejection(code, details);
  }
}

/** The codes of the rejections with these names of OpenStack's. */
type RejectionCodeOf<Name extends string> = {
  [Code in RejectionCode]: (typeof REJECTIONS)[Code]["error"] extends Name ? Code : never;
}[RejectionCode];

/** Errors of other layers that end a start. The conductor's result from a write: earlier writes may have succeeded. */
const CODES_BY_ERROR: Readonly<Record<string, { readonly code: RejectionCode; readonly untouched: boolean }>> = {
  ServiceTooOld: { code: "service-too-old", untouched: false },
  HostLeaseHeld: { code: "host-lease-held", untouched: false },
  ComputeServiceInUse: { code: "service-changed", untouched: false },
  ServiceNotUnique: { code: "service-of-other-host", untouched: false },
  ProviderConfigException: { code: "provider-config-invalid", untouched: true },
  InvalidConfiguration: { code: "configuration-invalid", untouched: false },
};

/** Returns the rejection that an error of a start represents; null for any other failure. */
export function toStartupRejection(error: unknown): StartupRejection | null {
  if (error instanceof ConfigRejectedError || error instanceof StartRejectedError) {
    return error.rejection;
  }
  if (!(error instanceof Error)) {
    return null;
  }
  const known = CODES_BY_ERROR[error.name];
  return known
    ? { ...createRejection(known.code, { found: error.message, hint: "" }), untouched: known.untouched }
    : null;
}
