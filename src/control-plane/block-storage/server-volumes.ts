/** The servers that use volumes, as Compute knows them. Block Storage asks before it removes an attachment. */
export interface AttachedServers {
  /** Returns the id of the attachment by which a server uses a volume; undefined if it does not. */
  attachmentOf(serverId: string, volumeId: string): string | undefined;
}
