import { notFound } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { routes } from "../../http/router.js";
import type { BlockStorageRoute } from "../engine/block-storage-call.js";

/** Cinder's extensions: name, alias, description, and the time of the last change. */
const EXTENSIONS: readonly (readonly [name: string, alias: string, description: string, updated: string])[] = [
  [
    "VolumeImageMetadata",
    "os-vol-image-meta",
    "Show image metadata associated with the volume.",
    "2012-12-07T00:00:00+00:00",
  ],
  ["VolumeUnmanage", "os-volume-unmanage", "Enable volume unmanage operation.", "2012-05-31T00:00:00+00:00"],
  [
    "UsedLimits",
    "os-used-limits",
    "Provide data on limited resources that are being used.",
    "2013-10-03T00:00:00+00:00",
  ],
  ["AdminActions", "os-admin-actions", "Enable admin actions.", "2012-08-25T00:00:00+00:00"],
  ["Cgsnapshots", "cgsnapshots", "cgsnapshots support.", "2014-08-18T00:00:00+00:00"],
  ["TypesExtraSpecs", "os-types-extra-specs", "Type extra specs support.", "2011-08-24T00:00:00+00:00"],
  ["SnapshotUnmanage", "os-snapshot-unmanage", "Enable volume unmanage operation.", "2014-12-31T00:00:00+00:00"],
  ["VolumeTypeEncryption", "encryption", "Encryption support for volume types.", "2013-07-01T00:00:00+00:00"],
  [
    "VolumeEncryptionMetadata",
    "os-volume-encryption-metadata",
    "Volume encryption metadata retrieval support.",
    "2013-07-10T00:00:00+00:00",
  ],
  ["Consistencygroups", "consistencygroups", "consistency groups support.", "2014-08-18T00:00:00+00:00"],
  ["SnapshotActions", "os-snapshot-actions", "Enable snapshot manager actions.", "2013-07-16T00:00:00+00:00"],
  ["Backups", "backups", "Backups support.", "2012-12-12T00:00:00+00:00"],
  ["Quotas", "os-quota-sets", "Quota management support.", "2011-08-08T00:00:00+00:00"],
  ["VolumeActions", "os-volume-actions", "Enable volume actions.", "2012-05-31T00:00:00+00:00"],
  ["QuotaClasses", "os-quota-class-sets", "Quota classes management support.", "2012-03-12T00:00:00+00:00"],
  ["AvailabilityZones", "os-availability-zone", "Describe Availability Zones.", "2013-06-27T00:00:00+00:00"],
  ["VolumeTypeAccess", "os-volume-type-access", "Volume type access support.", "2014-06-26T00:00:00Z"],
  ["Services", "os-services", "Services support.", "2012-10-28T00:00:00-00:00"],
  ["Hosts", "os-hosts", "Admin-only host administration.", "2011-06-29T00:00:00+00:00"],
  ["TypesManage", "os-types-manage", "Types manage support.", "2011-08-24T00:00:00+00:00"],
  [
    "ExtendedSnapshotAttributes",
    "os-extended-snapshot-attributes",
    "Extended SnapshotAttributes support.",
    "2012-06-19T00:00:00+00:00",
  ],
  [
    "SnapshotManage",
    "os-snapshot-manage",
    "Allows existing backend storage to be 'managed' by Cinder.",
    "2014-12-31T00:00:00+00:00",
  ],
  ["Qos_specs_manage", "qos-specs", "QoS specs support.", "2013-08-02T00:00:00+00:00"],
  ["VolumeHostAttribute", "os-vol-host-attr", "Expose host as an attribute of a volume.", "2011-11-03T00:00:00+00:00"],
  ["Scheduler_stats", "scheduler-stats", "Scheduler stats support.", "2014-09-07T00:00:00+00:00"],
  [
    "VolumeManage",
    "os-volume-manage",
    "Allows existing backend storage to be 'managed' by Cinder.",
    "2014-02-10T00:00:00+00:00",
  ],
  [
    "VolumeMigStatusAttribute",
    "os-vol-mig-status-attr",
    "Expose migration_status as an attribute of a volume.",
    "2013-08-08T00:00:00+00:00",
  ],
  ["VolumeTransfer", "os-volume-transfer", "Volume transfer management support.", "2013-05-29T00:00:00+00:00"],
  [
    "VolumeTenantAttribute",
    "os-vol-tenant-attr",
    "Expose the internal project_id as an attribute of a volume.",
    "2011-11-03T00:00:00+00:00",
  ],
  ["SchedulerHints", "OS-SCH-HNT", "Pass arbitrary key/value pairs to the scheduler.", "2013-04-18T00:00:00+00:00"],
  ["ExtendedServices", "os-extended-services", "Extended services support.", "2014-01-10T00:00:00-00:00"],
  ["Capabilities", "capabilities", "Capabilities support.", "2015-08-31T00:00:00+00:00"],
];

const documents = EXTENSIONS.map(([name, alias, description, updated]) => ({
  ...{ name, alias, description, updated },
  links: [],
}));

/** Names, as the web framework reports them for what cannot be changed. */
function rejectChange(): never {
  throw notFound();
}

export const EXTENSION_ROUTES: readonly BlockStorageRoute[] = routes<BlockStorageRoute>(
  {
    "GET /": () => ({ body: { extensions: documents as Json } }),
    "GET /:id": (call) => {
      const extension = documents.find(({ alias }) => alias === call.param("id"));
      if (extension === undefined) {
        throw notFound();
      }
      return { body: { extension } };
    },
    "POST /": rejectChange,
    "DELETE /:id": rejectChange,
  },
  { prefix: "/extensions" },
);
