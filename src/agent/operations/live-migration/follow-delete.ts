import type { OperationParts } from "../parts.js";

/** True: the instance left this host while its delete waited here, and is deleted where it is now. */
export async function followDelete({ context }: OperationParts, uuid: string, requestId: string): Promise<boolean> {
  const { conductor, host, runtime } = context;
  const instance = await conductor.call("instance_get", { uuid });
  if (!instance?.host || instance.host === host) return false;
  runtime.logger.info("the instance has moved: it is deleted on its new host", { instance: uuid, host: instance.host });
  await conductor.castAgent(instance.host, "terminate_instance", { instanceUuid: uuid, requestId });
  return true;
}
