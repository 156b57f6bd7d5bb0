import {
  boolean,
  ID,
  OWNER,
  range,
  STANDARD,
  string,
  TAGS,
  text,
  uuid,
} from "../../../../../src/control-plane/network/engine/attribute-types.js";
import {
  type Behaviour,
  type RegisteredResource,
  register,
} from "../../../../../src/control-plane/network/engine/network-context.js";
import { networkError } from "../../../../../src/control-plane/network/engine/network-errors.js";
import { defineResource, NOT_SPECIFIED } from "../../../../../src/control-plane/network/engine/network-resource.js";

/** A resource that Neutron does not have, with the policies of address scopes. */
const WIDGETS = defineResource({
  collection: "big_widgets",
  singular: "big_widget",
  path: "/v2.0/big-widgets",
  extension: "widgets",
  table: "network_widgets",
  attributes: {
    ...ID,
    name: { type: string(8), post: true, put: true, default: "", filter: true, sort: true },
    size: { type: range(0, 9, "convert_to_int"), post: true, put: true, filter: true, sort: true },
    color: { type: string(8), post: true, default: NOT_SPECIFIED },
    is_round: { type: boolean, post: true, put: true, default: false, filter: true },
    shared: { type: boolean, stored: false, post: true, put: true, default: false, policy: true },
    state: { type: text },
    secret: { type: text, visible: false },
    ...OWNER,
    ...STANDARD,
    ...TAGS,
  },
  notFound: { type: "WidgetNotFound" },
  policyName: "address_scope",
  rbac: { objectType: "address_scope", actions: ["access_as_shared"] },
  quota: { name: "widget", default: 3 },
  actions: { grow: "PUT" },
  tagged: true,
});

const WIDGET_BEHAVIOUR: Behaviour<typeof WIDGETS.attributes> = {
  prepareCreate: (_context, { name }) => {
    rejectName(name);
    return { state: "new", secret: "hidden" };
  },
  prepareUpdate: (_context, _widget, { name, size, is_round }) => {
    rejectName(name);
    return {
      ...(name === undefined ? {} : { name }),
      ...(size === undefined ? {} : { size }),
      ...(is_round === undefined ? {} : { is_round }),
    };
  },
  actions: {
    grow: (context, { id, size }) => {
      context.table(WIDGETS).update(id, { size: size + 1 });
      context.touch(WIDGETS, id);
      return { size: size + 1 };
    },
  },
};

/** A rule that only the behaviour has. */
function rejectName(name: string | undefined): void {
  if (name === "taken") {
    throw networkError(409, "WidgetNameTaken", "The name is taken.");
  }
}

const PARTS = defineResource({
  collection: "parts",
  singular: "part",
  path: "/v2.0/big-widgets/:widget_id/parts",
  extension: "widgets",
  table: "network_widget_parts",
  attributes: {
    ...ID,
    widget_id: { type: uuid, visible: false },
    label: { type: string(8), post: true, put: true, filter: true },
    project_id: { ...OWNER.project_id, stored: false, visible: false },
  },
  notFound: { type: "PartNotFound", message: (id, widgetId) => `Part ${id} of widget ${widgetId} could not be found.` },
  key: "label",
  parent: { collection: "big_widgets", attribute: "widget_id" },
  policyName: "floatingip_port_forwarding",
  references: { widget_id: { table: "network_widgets", onDelete: "cascade" } },
  unique: [["widget_id", "label"]],
});

export const WIDGET_RESOURCES: readonly RegisteredResource[] = [register(WIDGETS, WIDGET_BEHAVIOUR), register(PARTS)];
