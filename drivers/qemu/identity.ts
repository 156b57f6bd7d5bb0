import { FileFailure, type Files, InvalidConfiguration } from "../../src/virt/index.js";

/** The name that all agents report which use this folder: that of the first one's host. @throws {InvalidConfiguration} */
export async function nameOfHypervisor(path: string, host: string, files: Files): Promise<string> {
  try {
    await files.create(path, `${JSON.stringify({ hostname: host }, null, 2)}\n`);
    return host;
  } catch (error) {
    if (!(error instanceof FileFailure && error.code === "EEXIST")) {
      throw error;
    }
  }
  const text = await files.read(path);
  const found = parsed(text);
  if (typeof found === "object" && found !== null && "hostname" in found && typeof found.hostname === "string") {
    return found.hostname;
  }
  throw new InvalidConfiguration(
    `${path}: expected JSON with the hostname of the hypervisor, found ${text.slice(0, 60)}; mend it, or remove the file to ` +
      "have the hypervisor named anew",
  );
}

/** Undefined: no JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
