import {
  ADMINS,
  action,
  connector,
  idIn,
  type Operation,
  oneOf,
  reads,
  SERVERS,
  type Source,
  some,
} from "../operation.js";

/** Returns the id of an attachment, mostly of the volume of the path. */
function attachmentIn({ record, random, records, caller }: Source): string {
  const own = records.of("attachments").filter(({ attributes }) => attributes.volume_id === record?.id);
  return own.length > 0 && random.chance(0.8) ? random.pick(own).id : records.pickId(random, "attachments", caller);
}

/** Attachments by both APIs. */
export const ATTACHMENT_OPERATIONS: readonly Operation[] = [
  {
    weight: 9,
    method: "POST",
    path: "/attachments",
    body: (source) => ({
      attachment: some({
        volume_uuid: [0.99, idIn("volumes")],
        instance_uuid: [0.85, oneOf(...SERVERS)],
        connector: [0.4, connector],
        mode: [0.15, oneOf("rw", "ro", "x")],
      })(source),
    }),
  },
  {
    weight: 5,
    method: "PUT",
    path: "/attachments/{attachments}",
    body: (source) => ({ attachment: { connector: connector(source) } }),
  },
  action(5, "attachments", "os-complete"),
  { weight: 6, method: "DELETE", path: "/attachments/{attachments}" },
  ...reads(6, "attachments", {
    filters: {
      volume_id: [0.15, idIn("volumes")],
      instance_id: [0.1, oneOf(...SERVERS)],
      status: [0.08, oneOf("reserved", "attached", "attaching")],
      attach_status: [0.04, oneOf("attached")],
    },
    sortKeys: ["created_at", "attach_status", "bogus"],
  }),
  action(2, "volumes", "os-reserve"),
  action(1, "volumes", "os-unreserve"),
  action(
    3,
    "volumes",
    "os-attach",
    some({
      instance_uuid: [0.7, oneOf(...SERVERS)],
      host_name: [0.35, oneOf("devstack1", "devstack2")],
      mountpoint: [0.98, oneOf("/dev/vdb", "/dev/vdc")],
      mode: [0.4, oneOf("rw", "ro", "x")],
    }),
  ),
  action(2, "volumes", "os-begin_detaching"),
  action(1, "volumes", "os-roll_detaching"),
  action(3, "volumes", "os-detach", (source) =>
    source.random.chance(0.3) ? {} : { attachment_id: attachmentIn(source) },
  ),
  action(2, "volumes", "os-initialize_connection", (source) => ({ connector: connector(source) })),
  action(1.5, "volumes", "os-terminate_connection", (source) => ({ connector: connector(source) })),
  action(
    1,
    "volumes",
    "os-force_detach",
    (source) => ({ attachment_id: attachmentIn(source), ...some({ connector: [0.4, connector] })(source) }),
    { callers: ADMINS },
  ),
];
