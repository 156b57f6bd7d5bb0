import { NotImplemented } from "../../../virt/errors.js";
import { demand } from "../flow/admission.js";
import type { AdmittedFlow, Call, DemandingFlow } from "../flow/contract.js";

async function unsupported(): Promise<never> {
  throw new NotImplemented("volumes are not attached here");
}

export const RESERVE_BLOCK_DEVICE_NAME: DemandingFlow<"reserve_block_device_name"> = {
  steps: [],
  handle: async (call: Call<"reserve_block_device_name">) => {
    await demand(call.services, call, call.request);
    return unsupported();
  },
};

export const ATTACH_VOLUME: AdmittedFlow<"attach_volume"> = { steps: [], run: unsupported };
export const DETACH_VOLUME: AdmittedFlow<"detach_volume"> = { steps: [], run: unsupported };
export const SWAP_VOLUME: AdmittedFlow<"swap_volume"> = { steps: [], run: unsupported };
