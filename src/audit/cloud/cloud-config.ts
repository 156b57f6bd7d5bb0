import type { Credentials, Scope } from "../../placement/access/identity-v3.js";

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
  /** Used instead of the catalog's. */
  readonly endpoints: Readonly<Partial<Record<ServiceType, string>>>;
}

export type ServiceType = "compute" | "placement";
