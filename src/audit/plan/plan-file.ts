import { Ajv, type ErrorObject } from "ajv";
import type { Files } from "../../runtime/files.js";
import type { Plan } from "./plan.js";
import { PLAN_SCHEMA } from "./plan-schema.js";

/** Compiles the schema with the first plan, and keeps it. */
const ajv = new Ajv({ allowUnionTypes: true, discriminator: true });

/** The plan cannot be read: the message names the file, the place and what was expected. */
export class PlanUnreadable extends Error {
  override readonly name = "PlanUnreadable";
}

/** Writes a file that its owner alone can read: it names projects and users. Replaces the file as a whole. */
export function writePlan(files: Files, path: string, plan: Plan): Promise<void> {
  return files.write(path, `${JSON.stringify(plan, null, 2)}\n`, { mode: 0o600 });
}

/** @param cloud that it is to be applied to, as the audit called it @throws {PlanUnreadable} */
export async function readPlan(files: Files, path: string, cloud: string): Promise<Plan> {
  const text = await files.readIfPresent(path);
  if (text === undefined) {
    throw new PlanUnreadable(`${path}: there is no such file; write one with audit --plan`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new PlanUnreadable(`${path}: not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const validate = ajv.compile<Plan>(PLAN_SCHEMA);
  if (!validate(value)) {
    throw new PlanUnreadable(`${path}: not a plan of audit --plan: ${describe(validate.errors?.[0])}`);
  }
  // What is to be created has no generation that would tell another cloud.
  if (value.cloud !== cloud) {
    throw new PlanUnreadable(
      `${path}: the plan was made for cloud ${value.cloud}, and this is ${cloud}; choose with --os-cloud`,
    );
  }
  return value;
}

function describe(error: ErrorObject | undefined): string {
  return error ? `${error.instancePath || "the file"} ${error.message ?? "is wrong"}` : "it is wrong";
}
