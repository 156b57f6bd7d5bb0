import { boolean, ID, json, OWNER, STANDARD, string } from "../engine/attribute-types.js";
import { defineResource, NOT_SPECIFIED } from "../engine/network-resource.js";

/** Sets of addresses that security group rules name as their remote. */
export const ADDRESS_GROUPS = defineResource({
  collection: "address_groups",
  singular: "address_group",
  path: "/v2.0/address-groups",
  extension: "address-group",
  table: "network_address_groups",
  attributes: {
    ...ID,
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    description: { type: string(1024), post: true, put: true, default: "", filter: true, sort: true },
    ...OWNER,
    addresses: {
      type: json<readonly string[]>({ validator: "type:subnet_list", converter: "convert_none_to_empty_list" }),
      post: true,
      default: NOT_SPECIFIED,
    },
    shared: { type: boolean, stored: false, visible: false, default: false },
    created_at: { ...STANDARD.created_at, visible: false },
    updated_at: { ...STANDARD.updated_at, visible: false },
    revision_number: { ...STANDARD.revision_number, filter: false, visible: false },
  },
  unfiltered: ["tenant_id"],
  notFound: { type: "AddressGroupNotFound" },
  indexes: [["project_id"]],
  rbac: { objectType: "address_group", actions: ["access_as_shared"] },
  actions: { add_addresses: "PUT", remove_addresses: "PUT" },
});
