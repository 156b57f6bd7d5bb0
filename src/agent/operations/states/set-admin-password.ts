import { ConductorError } from "../../../conductor-client/errors.js";
import { type Instance, POWER_STATES } from "../../../records/index.js";
import * as virt from "../../../virt/errors.js";
import { demand } from "../flow/admission.js";
import type { Call, DemandingFlow, OperationServices } from "../flow/contract.js";
import { isLeaseLost, withActionEventAndFault } from "../flow/error-wrappers.js";
import { runSteps, stepList } from "../flow/step-list.js";
import { settle } from "./power.js";

interface PasswordProgress {
  readonly services: OperationServices;
  readonly instance: Instance;
  readonly password: string;
}

const STEPS = stepList<PasswordProgress>("set_admin_password", {
  set_password: async ({ services, instance, password }) => {
    const { driver } = services;
    if ((await driver.powerState(instance)) !== POWER_STATES.running) {
      throw failed(instance, `instance ${instance.uuid} is not running`);
    }
    try {
      await driver.setAdminPassword(instance, password);
    } catch (error) {
      throw toCallerError(services, instance, error);
    }
  },
  record: ({ services, instance }) => settle(services, instance, {}, ["updating_password"]),
});

/**
 * Spec 6.6: the caller waits, and gets the reason if the password was not changed. The password is never saved or
 * logged.
 */
export const SET_ADMIN_PASSWORD: DemandingFlow<"set_admin_password"> = { steps: [STEPS], handle: setAdminPassword };

async function setAdminPassword(call: Call<"set_admin_password">): Promise<null> {
  const { services, request, caller, event } = call;
  await withActionEventAndFault(services, event, async () => {
    caller.assertCallerWaiting();
    const { instance } = await demand(services, call, request);
    await runSteps(services, STEPS, { services, instance, password: request.newPass });
  });
  return null;
}

/**
 * Converts the driver's error for the caller. The message of an unexpected error is not passed on, since it may contain
 * the password.
 */
function toCallerError(services: OperationServices, instance: Instance, error: unknown): unknown {
  if (error instanceof virt.NotImplemented) {
    return new ConductorError("NotImplementedError", error.message);
  }
  if (error instanceof virt.SetAdminPasswdNotSupported) {
    return new ConductorError("SetAdminPasswdNotSupported", error.message);
  }
  if (error instanceof virt.InstanceAgentNotEnabled) {
    return new ConductorError("InstanceAgentNotEnabled", error.message);
  }
  if (isLeaseLost(error)) {
    return error;
  }
  const { name } = error instanceof Error ? error : { name: "no Error" };
  services.logger.error(`the driver could not set the administrator's password: ${name}`, {
    instance: instance.uuid,
  });
  return failed(instance, "error setting admin password");
}

function failed({ uuid }: Instance, reason: string): ConductorError {
  return new ConductorError("InstancePasswordSetFailed", `Failed to set admin password on ${uuid} because ${reason}`);
}
