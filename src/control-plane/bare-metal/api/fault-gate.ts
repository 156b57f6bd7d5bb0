import type { FaultAction, Faults } from "../../../faults/faults.js";
import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../../../runtime/service.js";
import type { Timers } from "../../../runtime/timers.js";
import { ironicFault } from "./versions.js";

/** Milliseconds after which a gateway would give up. */
const GATEWAY_TIMEOUT = 60_000;

/** Acts out what is set for `api.<method>` or `api`, as a gateway before the service would: its answers may be lost. */
export function gate(
  { faults, timers }: { readonly faults: Faults; readonly timers: Timers },
  next: ServiceHandler,
): ServiceHandler {
  return async (request) => {
    const action = decide(faults, request);
    switch (action?.kind) {
      case "status":
        return ironicFault(action.status, "a fault is set for this request");
      case "lose-answer":
        await next(request);
        return GATEWAY_GAVE_UP;
      case "slow":
        await timers.sleep(action.milliseconds);
        return next(request);
      case "hang":
        await timers.sleep(action.milliseconds ?? GATEWAY_TIMEOUT);
        return GATEWAY_GAVE_UP;
      default:
        return next(request);
    }
  };
}

function decide(faults: Faults, { method }: ServiceRequest): FaultAction | undefined {
  return faults.decide(`api.${method.toLowerCase()}`) ?? faults.decide("api");
}

const GATEWAY_GAVE_UP: ServiceResponse = {
  status: 504,
  headers: { "content-type": "text/html" },
  body: "<html><body><h1>504 Gateway Time-out</h1></body></html>\n",
};
