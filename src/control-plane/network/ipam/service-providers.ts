import { isOneOf } from "../../resources/condition.js";
import { isTrue } from "../engine/list.js";
import type { Behaviour } from "../engine/network-context.js";
import type { SERVICE_PROVIDERS } from "../resources/read-only.js";

/** Filters that Neutron's attributes do not announce. */
export const SERVICE_PROVIDER_BEHAVIOUR: Behaviour<typeof SERVICE_PROVIDERS.attributes> = {
  filters: {
    service_type: (_context, values) => isOneOf("service_type", values),
    name: (_context, values) => isOneOf("name", values),
    default: (_context, values) =>
      isOneOf(
        "default_",
        values.map((value) => (isTrue(value) ? 1 : 0)),
      ),
  },
};
