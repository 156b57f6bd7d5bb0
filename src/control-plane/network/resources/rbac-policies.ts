import { checkedText, ID, OWNER, string, uuid } from "../engine/attribute-types.js";
import { defineResource } from "../engine/network-resource.js";

/** Policies that share a record with another project, or with all (`*`). */
export const RBAC_POLICIES = defineResource({
  collection: "rbac_policies",
  singular: "rbac_policy",
  path: "/v2.0/rbac-policies",
  extension: "rbac-policies",
  table: "network_rbac_policies",
  attributes: {
    id: { ...ID.id, sort: false },
    object_type: {
      type: checkedText<string>({ converter: "convert_valid_object_type" }),
      post: true,
      default: null,
      filter: true,
      policy: true,
    },
    object_id: { type: uuid, post: true, filter: true, policy: true },
    target_tenant: { type: string(255), post: true, put: true, filter: true, policy: true },
    ...OWNER,
    action: { type: string(255), post: true, filter: true, policy: true },
  },
  notFound: {
    type: "RbacPolicyNotFound",
    message: (id) => `RBAC policy of type unknown with ID ${id} not found`,
  },
  unique: [["object_id", "action", "target_tenant"]],
  indexes: [["project_id"], ["target_tenant"]],
  quota: { name: "rbac_policy", default: 10 },
});
