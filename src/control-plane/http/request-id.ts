import type { Random } from "../../runtime/random.js";

/** `req-<uuid>`, one for each request that a service takes. */
export const newRequestId = (random: Random): string => `req-${random.uuid()}`;
