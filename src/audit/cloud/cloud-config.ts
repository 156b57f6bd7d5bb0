/** Where a cloud's Identity is, who asks, and which of its endpoints are used. */
export interface CloudConfig {
  /** As the person calls it: the name in clouds.yaml, or `OS_* variables`. */
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

export type Credentials =
  | { readonly kind: "password"; readonly user: UserReference; readonly password: string }
  | { readonly kind: "token"; readonly token: string }
  | {
      readonly kind: "application_credential";
      /** Its id, or its name with its user. */
      readonly id?: string;
      readonly name?: string;
      readonly user?: UserReference;
      readonly secret: string;
    };

export interface DomainReference {
  readonly id?: string;
  readonly name?: string;
}

/** An id, or a name with its domain. */
export interface UserReference {
  readonly id?: string;
  readonly name?: string;
  readonly domain?: DomainReference;
}

export type Scope =
  | { readonly kind: "project"; readonly id?: string; readonly name?: string; readonly domain?: DomainReference }
  | { readonly kind: "domain"; readonly domain: DomainReference }
  | { readonly kind: "system" };
