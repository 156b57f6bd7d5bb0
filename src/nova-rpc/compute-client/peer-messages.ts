import type { AgentMethod, AgentMethods } from "../../conductor-client/methods/agent.js";
import type { ParamsOf } from "../../conductor-client/methods/method.js";
import type { CallTools } from "../conductor-calls/calls.js";
import {
  getMessageArgument,
  imageToSend,
  instanceInHand,
  migrationInHand,
} from "../conductor-calls/message-objects.js";
import { NotImplementedHere } from "../messages/failures.js";
import { readLiveMigrateData, readSourceCheck, writeLiveMigrateData } from "../objects/live-migrate-data.js";

/** A message to another nova-compute, real or ours. */
export interface PeerMessage {
  readonly args: Readonly<Record<string, unknown>>;
  /** It takes long: the other side gives signs of life. */
  readonly long?: boolean;
}

type Write<M extends AgentMethod> = (params: ParamsOf<AgentMethods, M>, tools: CallTools) => Promise<PeerMessage>;

/** What one agent asks of another, in Nova's words. The objects have what was saved since they came. */
const PEER_MESSAGES: { readonly [M in AgentMethod]?: Write<M> } = {
  resize_instance: async ({ instanceUuid, migrationId }, tools) => {
    const move = await ofMove(instanceUuid, migrationId, tools);
    const { new_flavor: newFlavor } = move.instance["nova_object.data"];
    return {
      args: {
        ...move,
        image: imageToSend(move.instance, tools),
        flavor: getMessageArgument("flavor", tools) ?? newFlavor,
        clean_shutdown: getMessageArgument("clean_shutdown", tools) ?? true,
        request_spec: getMessageArgument("request_spec", tools),
      },
    };
  },
  finish_resize: async ({ instanceUuid, migrationId, diskInfo }, tools) => {
    const move = await ofMove(instanceUuid, migrationId, tools);
    const image = imageToSend(move.instance, tools);
    return { args: { ...move, disk_info: diskInfo, image, request_spec: getMessageArgument("request_spec", tools) } };
  },
  finish_revert_resize: async ({ instanceUuid, migrationId }, tools) => ({
    args: {
      ...(await ofMove(instanceUuid, migrationId, tools)),
      request_spec: getMessageArgument("request_spec", tools),
    },
  }),
  confirm_resize: async ({ instanceUuid, migrationId }, tools) => ({
    args: await ofMove(instanceUuid, migrationId, tools),
  }),
  check_can_live_migrate_source: async ({ instanceUuid, data }, tools) => ({
    args: {
      instance: await instanceInHand(instanceUuid, tools),
      dest_check_data: writeLiveMigrateData(data, null, tools.nova.profile),
    },
  }),
  pre_live_migration: async ({ instanceUuid, data }, tools) => ({
    args: {
      instance: await instanceInHand(instanceUuid, tools),
      disk: null,
      migrate_data: writeLiveMigrateData(data, getMessageArgument("migrate_data", tools), tools.nova.profile),
    },
    long: true,
  }),
  post_live_migration_at_destination: async ({ instanceUuid }, tools) => ({
    args: {
      instance: await instanceInHand(instanceUuid, tools),
      block_migration: getMessageArgument("block_migration", tools) ?? false,
    },
    long: true,
  }),
  // The destination takes back its preparations for a deleted instance, too. `guestGoes` is in our own data: Nova has no word for it.
  rollback_live_migration_at_destination: async ({ instanceUuid, destroyDisks, data, guestGoes = false }, tools) => ({
    args: {
      instance: await instanceInHand(instanceUuid, tools, { deleted: true }),
      destroy_disks: destroyDisks,
      migrate_data: writeLiveMigrateData(
        guestGoes ? { ...data, guestGoes } : data,
        getMessageArgument("migrate_data", tools),
        tools.nova.profile,
      ),
    },
  }),
  check_instance_shared_storage: async ({ instanceUuid, token }) => ({
    args: { data: { instance_uuid: instanceUuid, ...token } },
  }),
};

/** @throws {NotImplementedHere} agents do not ask each other for that */
export function peerMessage<M extends AgentMethod>(
  method: M,
  params: ParamsOf<AgentMethods, M>,
  tools: CallTools,
): Promise<PeerMessage> {
  const write = PEER_MESSAGES[method] as Write<M> | undefined;
  if (write === undefined) {
    throw new NotImplementedHere(`an agent does not ask another one to ${method}`);
  }
  return write(params, tools);
}

/** What the other one has answered, in our words. */
export function peerResult(method: AgentMethod, result: unknown): unknown {
  switch (method) {
    case "check_can_live_migrate_source":
      return readSourceCheck(result);
    case "pre_live_migration":
      return readLiveMigrateData(result);
    default:
      return result;
  }
}

async function ofMove(instanceUuid: string, migrationId: number, tools: CallTools) {
  const [instance, migration] = await Promise.all([
    instanceInHand(instanceUuid, tools),
    migrationInHand(migrationId, tools),
  ]);
  return { instance, migration };
}
