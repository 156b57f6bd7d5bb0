import {
  type BlockDevice,
  cpuRequest,
  type InjectedFile,
  type Instance,
  type InstanceChanges,
  imagePropertiesOf,
  isRootDevice,
  isVolumeBacked,
  withImageProperties,
} from "../../../../records/index.js";
import { defined } from "../../../../runtime/collections.js";
import { rebuildParams, requiresHost } from "../../../conductor/tasks/rebuild-in-place.js";
import { badRequest } from "../../../http/http-error.js";
import type { Json } from "../../../http/json.js";
import { type Schema, schemas } from "../../../http/schemas.js";
import { type Call, requireMember } from "../../api/call.js";
import {
  ADMIN_PASSWORD,
  BOOLEAN,
  bodyOf,
  DESCRIPTION,
  HOSTNAME,
  METADATA,
  NAME,
  object,
  SHORT_HOSTNAME,
} from "../../api/schema-parts.js";
import { assertFileQuota, assertMetadataQuota } from "../../quotas/quota-checks.js";
import { assertSourceFits } from "../block-devices/boot-source.js";
import { unusedVolume } from "../block-devices/volume-rules.js";
import { assertNoCertificates, chosenKey } from "../create-checks.js";
import { generatePassword } from "../create-server.js";
import { assertNotLocked, findInstance } from "../find-server.js";
import { requireImage, validateRequestedSpecs } from "../image-flavor-checks.js";
import {
  attributeChanges,
  diskConfigWith,
  PERSONALITY,
  TRUSTED_CERTIFICATES,
  USER_ATTRIBUTES,
  type UserAttributes,
} from "../server-schemas.js";
import { ServerView, toViewBefore75 } from "../server-view.js";
import { begin, requireHost, requireState, type ServerAction } from "./server-action.js";

interface RebuildBody {
  readonly rebuild: UserAttributes & {
    readonly imageRef: string;
    readonly name?: string;
    readonly adminPass?: string;
    readonly metadata?: Readonly<Record<string, string>>;
    readonly description?: string | null;
    readonly key_name?: string | null;
    readonly user_data?: string | null;
    readonly trusted_image_certificates?: readonly string[] | null;
    readonly hostname?: string;
    readonly personality?: readonly InjectedFile[];
  };
}

function schema(properties: Schema): Schema {
  return bodyOf("rebuild", object(properties, ["imageRef"]));
}

const v1 = {
  name: NAME,
  imageRef: { type: "string", format: "uuid" },
  adminPass: ADMIN_PASSWORD,
  metadata: METADATA,
  preserve_ephemeral: BOOLEAN,
  ...USER_ATTRIBUTES,
};
const v19 = { ...v1, description: DESCRIPTION };
const v54 = { ...v19, key_name: { ...NAME, type: ["string", "null"] } };
const v57 = { ...v54, user_data: { type: ["string", "null"], format: "base64", maxLength: 65_535 } };
const v63 = { ...v57, trusted_image_certificates: TRUSTED_CERTIFICATES };
const SCHEMA = schemas<RebuildBody>(
  [1, schema({ ...v1, ...PERSONALITY })],
  [19, schema({ ...v19, ...PERSONALITY })],
  [54, schema({ ...v54, ...PERSONALITY })],
  [57, schema(v57)],
  [63, schema(v63)],
  [90, schema({ ...v63, hostname: SHORT_HOSTNAME })],
  [94, schema({ ...v63, hostname: HOSTNAME })],
);

/**
 * Rebuilds a server on its host (spec 6.6). Later moves use the new image, and its allocations in Placement do not
 * change. If a new image has requirements, the conductor checks the host against them.
 */
export const rebuild: ServerAction = {
  name: "rebuild",
  schema: SCHEMA,
  run: (call) => {
    const { rebuild: requested } = call.body(SCHEMA);
    const { store, bus, random } = call.deps;
    const instance = findInstance(call);
    requireMember(call, "os_compute_api:servers:rebuild");
    assertNoCertificates(requested.trusted_image_certificates);
    assertNotLocked(call, instance);
    requireState(instance, "rebuild", { vm: ["active", "stopped", "error"] });
    assertMetadataQuota(call, requested.metadata);
    assertFileQuota(call, requested.personality);
    const host = requireHost(instance);
    const { imageRef } = requested;
    const image = requireImage(call, imageRef, "Cannot find image for rebuild");
    const properties = image.noted;
    const root = store.blockDevices.ofInstance(instance.uuid).find(isRootDevice);
    const reimages = isVolumeBacked(instance) && reimagesVolume(call, root, imageRef);
    assertSourceFits(call, { imageRef, image, properties }, instance.flavor, root);
    const unused = unusedVolume(call, instance);
    if (unused) {
      throw unused;
    }
    validateRequestedSpecs(instance.flavor, properties);
    assertSameCpus(instance, properties);
    const systemMetadata = withImageProperties(instance.systemMetadata, properties);
    const requestedChanges = {
      ...changes(requested),
      ...diskConfigWith(properties, requested, requested.imageRef),
      ...(requested.key_name === undefined ? {} : chosenKey(call.deps, instance.userId, requested.key_name)),
    };
    // The requested image is saved even if the rebuild fails: an evacuation that replaces the rebuild must use it.
    const ownImage = isVolumeBacked(instance) ? {} : { imageRef };
    const begun = { taskState: "rebuilding", progress: 0, ...ownImage, systemMetadata, ...requestedChanges } as const;
    begin(call, instance, begun, "rebuild");
    store.requests.changeSpec(instance.uuid, ownImage);
    const params = rebuildParams({ ...instance, imageRef, reimages }, call.requestId);
    if (imageRef !== instance.imageRef && requiresHost(properties)) {
      store.tasks.add({
        kind: "rebuild_in_place",
        instanceUuid: instance.uuid,
        requestId: call.requestId,
        previousImageRef: instance.imageRef,
        previousProperties: imagePropertiesOf(instance),
        ...(reimages && { reimagedWith: imageRef }),
      });
    } else {
      bus.cast(host, "rebuild_instance", params, call.requestId);
    }
    const updated = store.instances.get(instance.uuid) ?? instance;
    return {
      status: 202,
      headers: { location: call.links.self(`servers/${instance.uuid}`) },
      body: {
        server: { ...toRebuildView(call, updated), adminPass: requested.adminPass ?? generatePassword(random) },
      },
    };
  },
};

/** The first microversion that rebuilds boot volumes with new images. */
const REIMAGE_FROM = 93;

/** Returns whether the boot volume gets the data of the image. Before, a server could only keep its volume. @throws {HttpError} 400 */
function reimagesVolume(
  { version, deps, credentials }: Call,
  root: BlockDevice | undefined,
  imageRef: string,
): boolean {
  const volume = root?.volumeId ? deps.volumes.volume(root.volumeId, credentials) : undefined;
  if (version < REIMAGE_FROM && volume?.imageMetadata.image_id !== imageRef) {
    throw badRequest(
      `Image ${imageRef} is unacceptable: Unable to rebuild with a different image for a volume-backed server.`,
    );
  }
  return version >= REIMAGE_FROM;
}

function toRebuildView(call: Call, instance: Instance): { readonly [key: string]: Json } {
  const { version } = call;
  // User data has a separate property here, which every user may read.
  const { "OS-EXT-SRV-ATTR:user_data": _userData, ...server } = new ServerView(call).detail({
    instance,
    building: false,
  });
  return {
    ...(version >= 75 ? server : toViewBefore75(server)),
    ...(version >= 54 ? { key_name: instance.keyName } : {}),
    ...(version >= 57 ? { user_data: instance.userData } : {}),
  };
}

/**
 * Checks that the image does not change the CPU request, because the allocations in Placement do not change. @throws
 * {HttpError} 400
 */
function assertSameCpus(instance: Instance, properties: Readonly<Record<string, string>>): void {
  const { flavor } = instance;
  const cpuRequestKey = (image: Readonly<Record<string, string>>) => JSON.stringify(cpuRequest(flavor, image));
  if (cpuRequestKey(properties) === cpuRequestKey(imagePropertiesOf(instance))) {
    return;
  }
  throw badRequest(
    "An instance's NUMA topology cannot be changed as part of a rebuild. The image provided is invalid for this instance.",
  );
}

function changes(requested: RebuildBody["rebuild"]): InstanceChanges {
  const { name: displayName, description: displayDescription, user_data: userData, metadata, hostname } = requested;
  return {
    ...defined({ displayName, metadata, displayDescription, userData, hostname }),
    injectedFiles: requested.personality ?? [],
    ...attributeChanges(requested),
  };
}
