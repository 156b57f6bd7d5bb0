/** A rule that Placement has without a policy file. */
export interface DefaultRule {
  readonly check: string;
  /** Holds as well, unless the new defaults are enforced or a policy file has its own rule. */
  readonly deprecated?: string;
  /** The scopes of tokens that it is meant for; absent: any. */
  readonly scopes?: readonly ("project" | "system" | "domain")[];
}

const ADMIN = "role:admin";
const base: Readonly<Record<string, DefaultRule>> = {
  admin_api: { check: ADMIN, scopes: ["project"] },
  service_api: { check: "role:service", deprecated: ADMIN, scopes: ["project"] },
  admin_or_service_api: { check: "role:admin or role:service", deprecated: ADMIN, scopes: ["project"] },
  project_reader_api: { check: "role:reader and project_id:%(project_id)s", deprecated: ADMIN },
  admin_or_project_reader_or_service_api: {
    check: "role:admin or rule:project_reader_api or role:service",
    deprecated: ADMIN,
    scopes: ["project"],
  },
};

/** Actions that `admin` and `service` may do. */
const ADMIN_OR_SERVICE = [
  "placement:resource_providers:list",
  "placement:resource_providers:create",
  "placement:resource_providers:show",
  "placement:resource_providers:update",
  "placement:resource_providers:delete",
  "placement:resource_classes:list",
  "placement:resource_classes:create",
  "placement:resource_classes:show",
  "placement:resource_classes:update",
  "placement:resource_classes:delete",
  "placement:resource_providers:inventories:list",
  "placement:resource_providers:inventories:create",
  "placement:resource_providers:inventories:show",
  "placement:resource_providers:inventories:update",
  "placement:resource_providers:inventories:delete",
  "placement:resource_providers:aggregates:list",
  "placement:resource_providers:aggregates:update",
  "placement:resource_providers:usages",
  "placement:traits:list",
  "placement:traits:show",
  "placement:traits:update",
  "placement:traits:delete",
  "placement:resource_providers:traits:list",
  "placement:resource_providers:traits:update",
  "placement:resource_providers:traits:delete",
  "placement:allocations:manage",
  "placement:allocations:list",
  "placement:allocations:update",
  "placement:allocations:delete",
  "placement:resource_providers:allocations:list",
  "placement:allocation_candidates:list",
] as const;

export type Action = (typeof ADMIN_OR_SERVICE)[number] | "placement:usages" | "placement:reshaper:reshape";

/** Master's rules by name: there `service` alone reshapes once the new defaults are enforced. */
export const DEFAULT_RULES: ReadonlyMap<string, DefaultRule> = new Map([
  ...Object.entries(base),
  ...ADMIN_OR_SERVICE.map((name): [string, DefaultRule] => [
    name,
    { check: "rule:admin_or_service_api", scopes: ["project"] },
  ]),
  ["placement:usages", { check: "rule:admin_or_project_reader_or_service_api", scopes: ["project"] }],
  ["placement:reshaper:reshape", { check: "rule:service_api", scopes: ["project"] }],
]);
