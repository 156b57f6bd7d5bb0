import { isDeepStrictEqual } from "node:util";
import type { HttpMethod } from "../../runtime/http.js";
import { detail, type ServiceClient } from "../cloud/service-client.js";
import type { ProviderAction } from "../plan/plan.js";
import { asNumber, asString } from "../read/fields.js";
import { createProvider } from "./create-provider.js";
import { ALREADY, DONE, type Outcome, rejectedOutcome } from "./outcome.js";
import { readInventories } from "./provider-parts.js";

/** Does one thing to a provider, if it still is as the plan assumes. @throws {CloudError} */
export async function changeProvider(placement: ServiceClient, action: ProviderAction): Promise<Outcome> {
  if (action.kind === "create-provider") {
    return createProvider(placement, action.provider);
  }
  const uuid = action.kind === "delete-provider" ? action.provider.uuid : action.uuid;
  const path = `/resource_providers/${uuid}`;
  const found = await placement.find(path);
  if (!found) {
    return action.kind === "delete-provider" ? ALREADY : rejectedOutcome(`provider ${uuid} is gone`);
  }
  const [generation, name] = [asNumber(found.generation), asString(found.name)];
  switch (action.kind) {
    case "delete-provider":
      return newerThan(uuid, action.generation, generation) ?? write(placement, "DELETE", path);
    case "rename-provider":
      if (name === action.after) {
        return ALREADY;
      }
      if (name !== action.before) {
        return rejectedOutcome(`provider ${uuid} is named ${name} by now`);
      }
      return newerThan(uuid, action.generation, generation) ?? write(placement, "PUT", path, { name: action.after });
    case "set-inventories": {
      const is = await readInventories(placement, uuid);
      if (isDeepStrictEqual(is, action.after)) {
        return ALREADY;
      }
      if (!isDeepStrictEqual(is, action.before)) {
        return rejectedOutcome(`the inventories of provider ${uuid} have changed since`);
      }
      const body = { resource_provider_generation: generation, inventories: action.after };
      return newerThan(uuid, action.generation, generation) ?? write(placement, "PUT", `${path}/inventories`, body);
    }
  }
}

function newerThan(uuid: string, assumed: number | null, is: number): Outcome | undefined {
  return assumed === null || assumed === is
    ? undefined
    : rejectedOutcome(`provider ${uuid} has changed since: its generation was to be ${assumed}, it is ${is}`);
}

async function write(placement: ServiceClient, method: HttpMethod, path: string, body?: unknown): Promise<Outcome> {
  const response = await placement.request(method, path, body === undefined ? {} : { body });
  return response.status < 300
    ? DONE
    : rejectedOutcome(`Placement answered ${response.status}${detail(response.body)}`);
}
