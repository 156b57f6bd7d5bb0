import { isAbsolute, normalize } from "node:path";
import { InvalidConfiguration } from "../../src/virt/index.js";

const SCHEME = "fake-libvirt://";

/** The connection of a folder, whatever characters its path has. @param folder absolute */
export const connectionTo = (folder: string): string => `${SCHEME}${encodeURI(folder)}`;

/** The folder of `fake-libvirt:///absolute/folder`, in which `%41` is an A. @throws {InvalidConfiguration} */
export function folderOfConnection(uri: string | null): string {
  const wrong = (why: string): never => {
    throw new InvalidConfiguration(
      `[fake_libvirt] connection_uri: found ${uri ?? "nothing"}, ${why}; expected ${SCHEME}/absolute/folder`,
    );
  };
  if (uri === null) {
    return wrong("and there is no default");
  }
  if (!uri.startsWith(SCHEME)) {
    return wrong(`which does not begin with ${SCHEME}`);
  }
  const rest = uri.slice(SCHEME.length);
  let path: string;
  try {
    path = decodeURIComponent(rest);
  } catch {
    // A plain path with a % in it.
    path = rest;
  }
  if (!isAbsolute(path)) {
    return wrong("whose folder is not absolute");
  }
  const folder = normalize(path).replace(/\/+$/, "");
  return folder === "" ? wrong("which is the root folder") : folder;
}
