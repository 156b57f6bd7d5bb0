/** The range of microversions of a service whose major version is 2. */
export interface MicroversionRange {
  /** Name in the header `OpenStack-API-Version`: `compute`. */
  readonly service: string;
  /** Lower case: `x-openstack-nova-api-version`. */
  readonly legacyHeader: string;
  readonly minimum: number;
  readonly maximum: number;
}

export type Negotiation =
  /** `minor` of the version to answer in; without a header the minimum. */
  | { readonly kind: "agreed"; readonly minor: number }
  | { readonly kind: "malformed"; readonly version: string }
  | { readonly kind: "unsupported"; readonly version: string };

/** What a request's headers ask for. The standard header wins; of several values for the service the last one does. */
export function negotiate(headers: Readonly<Record<string, string>>, range: MicroversionRange): Negotiation {
  const requested = standard(headers["openstack-api-version"], range.service) ?? legacy(headers[range.legacyHeader]);
  if (requested === undefined) {
    return { kind: "agreed", minor: range.minimum };
  }
  if (requested === "latest") {
    return { kind: "agreed", minor: range.maximum };
  }
  const match = /^([1-9]\d{0,8})\.(0|[1-9]\d{0,8})$/.exec(requested);
  if (!match) {
    return { kind: "malformed", version: requested };
  }
  const minor = Number(match[2]);
  const supported = match[1] === "2" && minor >= range.minimum && minor <= range.maximum;
  return supported ? { kind: "agreed", minor } : { kind: "unsupported", version: requested };
}

function standard(header: string | undefined, service: string): string | undefined {
  const values = (header ?? "").split(",").map((value) => value.trim().split(/\s+/));
  return values.findLast(([name, version]) => name?.toLowerCase() === service && version !== undefined)?.[1];
}

function legacy(header: string | undefined): string | undefined {
  const value = header?.split(",").at(-1)?.trim();
  return value === undefined || value === "" ? undefined : value;
}
