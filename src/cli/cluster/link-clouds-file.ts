import { readlink, symlink } from "node:fs/promises";
import { join, relative } from "node:path";

/**
 * Makes `clouds.yaml` of the folder a link to the cluster's, as clients look there: `OS_CLOUD=devstack openstack …`.
 * @returns false: there is another one, which stays
 */
export async function linkCloudsFile(folder: string, cloudsFile: string): Promise<boolean> {
  const link = join(folder, "clouds.yaml");
  const target = relative(folder, cloudsFile);
  try {
    await symlink(target, link);
    return true;
  } catch {
    return (await readlink(link).catch(() => undefined)) === target;
  }
}
