import { append } from "../../runtime/collections.js";
import type { Server, Volume, VolumeAttachment } from "../read/records.js";
import { type Finding, serverSubject } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";

/** An attachment of a volume to a server. */
interface Use {
  readonly volume: Volume;
  readonly attachment: VolumeAttachment;
}

const REFRESH = "stop the server, and run nova-manage volume_attachment refresh";

/** Statuses of volumes that servers use, or are about to use or to leave. */
const USED = ["in-use", "reserved", "attaching", "detaching"];

/** Returns problems of volumes and their attachments; none if the cloud has no Block Storage service. */
export function wrongVolumes(index: SnapshotIndex, maxShare: number): Finding[] {
  const { snapshot, moveTimeouts } = index;
  const volumes = [...(snapshot.volumes?.values() ?? [])];
  // Attaching and detaching set no task state, so the server alone does not tell that they have ended.
  const settled = volumes.filter(({ changedAt }) => snapshot.now - changedAt > moveTimeouts.settles);
  return [
    ...orphanedAttachments(index, settled, maxShare),
    ...settled.flatMap((volume) => [...wrongAttachments(index, volume), ...interruptedVolume(index, volume)]),
    ...unusedVolumes(index, settled),
    ...missingAttachments(index),
  ];
}

/** Reports attachments to servers that do not exist. If there are many, the servers were probably not read. */
function orphanedAttachments(index: SnapshotIndex, volumes: readonly Volume[], maxShare: number): Finding[] {
  const uses = volumes.flatMap(usesOf);
  const orphaned = uses.filter(({ attachment: { server } }) => !index.snapshot.servers.has(server ?? ""));
  const isDoubtful = orphaned.length > 1 && orphaned.length > uses.length * maxShare;
  return orphaned.map(({ volume, attachment }) => ({
    ...subjectOf(volume, attachment),
    code: "orphaned-attachment",
    explanation: `${nameOf(volume)} is attached to server ${attachment.server}, which does not exist${attachment.host === null ? "" : `; it is attached${at(attachment)}`}`,
    remedies: isDoubtful ? [] : [deletion(volume, attachment)],
    left: isDoubtful
      ? `${orphaned.length} of ${uses.length} attachments are of servers that do not exist: more than --max-share`
      : null,
  }));
}

/** Reports attachments that no block device has, or that are on another host than their server. */
function wrongAttachments(index: SnapshotIndex, volume: Volume): Finding[] {
  const byServer = new Map<string, Use[]>();
  for (const use of usesOf(volume)) {
    append(byServer, use.attachment.server ?? "", use);
  }
  return [...byServer].flatMap(([id, uses]) => {
    const server = index.snapshot.servers.get(id);
    if (server === undefined || !index.isAtRest(server) || server.volumes === null) {
      return [];
    }
    const isBareMetal = index.nodeOf(server)?.type === "ironic";
    return uses.flatMap((use) => {
      if (isLeftover(use, uses, server)) {
        return [leftover(use, uses, server)];
      }
      const { host } = use.attachment;
      return host !== null && host !== server.host && !isBareMetal ? [misplaced(use, server)] : [];
    });
  });
}

/** Whether the block device of the server has another attachment, or the server has no such device. */
function isLeftover({ volume, attachment }: Use, uses: readonly Use[], server: Server): boolean {
  if (server.volumes?.includes(volume.id) !== true) {
    return true;
  }
  if (attachment.isOfDevice !== null) {
    return !attachment.isOfDevice;
  }
  const isHere = (each: VolumeAttachment) => each.host !== null && each.host === server.host;
  return attachment.host !== null && !isHere(attachment) && uses.some(({ attachment: other }) => isHere(other));
}

function leftover({ volume, attachment }: Use, uses: readonly Use[], server: Server): Finding {
  const hasDevice = server.volumes?.includes(volume.id) === true;
  // The only attachment of a device may be the one that its guest uses.
  const isOnly = hasDevice && uses.every(({ attachment: { isOfDevice } }) => isOfDevice === false);
  const reason = hasDevice ? "has the volume by another attachment" : "does not have the volume";
  return {
    ...subjectOf(volume, attachment),
    code: "leftover-attachment",
    explanation: `${nameOf(volume)} is attached to server ${server.name}${at(attachment)}, and the server ${reason}`,
    remedies: isOnly ? [] : [deletion(volume, attachment)],
    left: isOnly ? `the guest may use it, though the server's block device has another attachment: ${REFRESH}` : null,
  };
}

function misplaced({ volume, attachment }: Use, server: Server): Finding {
  const where = server.host === null ? "has no host" : `is on host ${server.host}`;
  return {
    ...subjectOf(volume, attachment),
    code: "misplaced-attachment",
    explanation: `${nameOf(volume)} is attached on host ${attachment.host}, and its server ${server.name} ${where}`,
    remedies: [],
    left: `only the server's host can connect the volume: ${REFRESH}`,
  };
}

/** Reports a volume that is being attached or detached without progress, by servers that have it. */
function interruptedVolume(index: SnapshotIndex, volume: Volume): Finding[] {
  const { now } = index.snapshot;
  const { status, changedAt, attachments } = volume;
  const uses = usesOf(volume);
  const servers = uses.flatMap(({ attachment: { server } }) => index.snapshot.servers.get(server ?? "") ?? []);
  const isStuck = now - changedAt > index.moveTimeouts.stuck;
  const haveIt = servers.every((each) => index.isAtRest(each) && each.volumes?.includes(volume.id) === true);
  if (!isStuck || !haveIt || uses.length === 0 || servers.length < attachments.length) {
    return [];
  }
  const names = servers.map(({ name }) => name).join(", ");
  const finding = { code: "stuck-volume", subject: subjectOfVolume(volume), provider: null } as const;
  const since = `for ${Math.floor((now - changedAt) / 1_000)} s`;
  if (status === "detaching" && attachments.every((each) => each.status === "attached")) {
    return [
      {
        ...finding,
        explanation: `${nameOf(volume)} has been detaching ${since}, and is still attached to server ${names}`,
        remedies: [{ kind: "set-volume", volume: volume.id, status: "in-use" }],
        left: null,
      },
    ];
  }
  const isAttaching = status === "attaching" || status === "reserved";
  // A server without a host has reserved its volumes.
  return isAttaching && servers.some(({ host }) => host !== null)
    ? [
        {
          ...finding,
          explanation: `${nameOf(volume)} has been ${status} ${since} by server ${names}; the attachment was interrupted`,
          remedies: [],
          left: "restart nova-compute of the server's host. If that does not help, set the status to in-use and detach the volume",
        },
      ]
    : [];
}

/** Reports volumes in use by nobody. Without attachments their status has no reason. */
function unusedVolumes(index: SnapshotIndex, volumes: readonly Volume[]): Finding[] {
  const servers = [...index.snapshot.servers.values()];
  const isUnknown = servers.some(({ status }) => status === "UNKNOWN");
  const users = new Set(servers.flatMap((server) => server.volumes ?? []));
  return volumes
    .filter(({ id, status, attachments }) => USED.includes(status) && attachments.length === 0 && !users.has(id))
    .map((volume) => ({
      code: "stuck-volume",
      subject: subjectOfVolume(volume),
      provider: null,
      explanation: `${nameOf(volume)} is ${volume.status}, has no attachment, and no server has it`,
      remedies: isUnknown ? [] : [{ kind: "set-volume", volume: volume.id, status: "available" }],
      left: isUnknown ? "a cell does not respond, and its servers may have the volume" : null,
    }));
}

/** Reports block devices whose volume has no attachment to the server. A failed server has lost its attachments. */
function missingAttachments(index: SnapshotIndex): Finding[] {
  const { volumes, servers, now } = index.snapshot;
  if (volumes === null) {
    return [];
  }
  const placed = [...servers.values()].filter(
    (server) => server.host !== null && server.vmState !== "error" && index.isAtRest(server),
  );
  return placed.flatMap((server) =>
    (server.volumes ?? []).flatMap((id) => {
      const volume = volumes.get(id);
      const isAttached = volume?.attachments.some((attachment) => attachment.server === server.id) === true;
      const isSettled = volume === undefined || now - volume.changedAt > index.moveTimeouts.settles;
      return isAttached || !isSettled ? [] : [missing(server, id, volume)];
    }),
  );
}

function missing(server: Server, id: string, volume: Volume | undefined): Finding {
  const state = volume ? `${nameOf(volume)}, which is ${volume.status} and` : `volume ${id}, which`;
  return {
    code: "missing-attachment",
    subject: serverSubject(server),
    provider: { uuid: id, name: volume?.name ?? "" },
    explanation: `the server has ${state} ${volume ? "has no attachment to it" : "does not exist"}`,
    remedies: [],
    left: volume ? `only the server's host can connect the volume: ${REFRESH}` : "detach the volume from the server",
  };
}

function usesOf(volume: Volume): Use[] {
  return volume.attachments.filter(({ server }) => server !== null).map((attachment) => ({ volume, attachment }));
}

function deletion({ id }: Volume, { id: attachment, server }: VolumeAttachment): Finding["remedies"][number] {
  return { kind: "delete-attachment", volume: id, attachment, server: server ?? "" };
}

const nameOf = ({ id, name }: Volume): string => `volume ${name === "" ? id : name}`;

const at = ({ host }: VolumeAttachment): string => (host === null ? "" : ` on host ${host}`);

const subjectOfVolume = ({ id, name }: Volume): Finding["subject"] => ({ kind: "volume", uuid: id, name });

function subjectOf({ id, name }: Volume, attachment: VolumeAttachment): Pick<Finding, "subject" | "provider"> {
  return { subject: { kind: "attachment", uuid: attachment.id, name: "" }, provider: { uuid: id, name } };
}
