import { boolean, ID, json, OWNER, string } from "../engine/attribute-types.js";
import { defineResource, NOT_SPECIFIED } from "../engine/network-resource.js";

/** TODO describe. */
export const ADDRESS_GROUPS = defineResource({
  collection: "address_groups",
  singular: "address_group",
  path: "/v2.0/address-groups",
  extension: "address-group",
  table: "network_address_groups",
  attributes: {
    ...ID,
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    addresses: {
      type: json<readonly string[]>({ validator: "type:subnet_list", converter: "convert_none_to_empty_list" }),
      post: true,
      default: NOT_SPECIFIED,
    },
    description: { type: string(1024), post: true, put: true, default: "", filter: true, sort: true },
    shared: { type: boolean, visible: false },
    ...OWNER,
  },
  notFound: { type: "AddressGroupNotFound" },
  actions: { add_addresses: "PUT", remove_addresses: "PUT" },
});
