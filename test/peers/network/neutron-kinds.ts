import type { KindOptions } from "../differential/kinds.js";

/** How Neutron writes errors; records of highly available routers are a kind of their own. */
export const NEUTRON_KINDS: KindOptions = {
  errorOf: ({ NeutronError: error }) => {
    if (typeof error !== "object" || error === null) {
      return undefined;
    }
    const { type, message } = error as Readonly<Record<string, unknown>>;
    return `${type} "${message}"`;
  },
  shapeOf: ({ name, device_owner: owner }) =>
    /^HA /.test(String(name)) || owner === "network:router_ha_interface" ? "{HA}" : undefined,
};
