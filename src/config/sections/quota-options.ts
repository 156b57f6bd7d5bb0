import { forControlPlane, option } from "../option.js";
import { choice, integer } from "../value-type.js";

/** Nova's options are limits of a project, unless its own or the class `default` say otherwise; -1 is no limit. */
const limit = (most: number, help: string) => option(integer({ min: -1 }), most, help, { source: "6.11" });

export const QUOTA_OPTIONS = forControlPlane({
  driver: option(
    choice(["nova.quota.DbQuotaDriver", "nova.quota.NoopQuotaDriver"]),
    "nova.quota.DbQuotaDriver",
    "Whether there are quotas; NoopQuotaDriver limits nothing, and shows -1 for everything.",
    { source: "6.11" },
  ),
  instances: limit(10, "Servers of a project; -1: any number, here and below."),
  cores: limit(20, "VCPUs that its servers have together."),
  ram: limit(50 * 1024, "Memory that its servers have together, in MB."),
  metadata_items: limit(128, "Metadata that one server has."),
  injected_files: limit(5, "Files that a server is given at create or rebuild (API before 2.57)."),
  injected_file_content_bytes: limit(10 * 1024, "Bytes of one such file."),
  injected_file_path_length: limit(255, "Characters of the path of one such file."),
  key_pairs: limit(100, "Key pairs of a user."),
  server_groups: limit(10, "Server groups of a project."),
  server_group_members: limit(10, "Servers that a user has in one server group."),
});
