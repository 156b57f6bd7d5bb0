import type { Credentials, Scope } from "../../placement-client/access/keystone-access.js";

/** Where a cloud's Identity is, who asks, and which of its endpoints are used. */
export interface CloudConfig {
  /** The name by which the person knows it: that of clouds.yaml, or `OS_* variables`. */
  readonly name: string;
  /** With or without `/v3`. */
  readonly authUrl: string;
  readonly credentials: Credentials;
  /** Absent: the scope that the credentials bring along. */
  readonly scope?: Scope;
  /** `public`, `internal` or `admin`. */
  readonly interface: string;
  readonly region?: string;
  /** Absent: certificates are checked against the system's authorities. */
  readonly tls?: CloudTls;
  /** Used instead of the catalog's. */
  readonly endpoints: Readonly<Partial<Record<ServiceType, string>>>;
}

/** Paths of PEM files. */
export interface CloudTls {
  /** False: anybody's certificate will do. */
  readonly verify: boolean;
  /** Instead of the system's authorities. */
  readonly cacert?: string;
  readonly cert?: string;
  readonly key?: string;
}

export type ServiceType = "compute" | "placement";
