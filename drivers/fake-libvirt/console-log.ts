import type { Clock, Files, Instance, Logger } from "../../src/virt/index.js";
import { bootText, powerDownText } from "./boot-text.js";
import type { InstanceFiles } from "./instance-files.js";

/** Bytes of a console's file from which on its beginning goes. */
const LONGEST = 200 * 1024;
/** Characters that stay of it then: what Nova shows of a console at most. */
const MAX_RETAINED_CHARS = 100 * 1024;

export interface ConsoleLogDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What guests write to their consoles, as libvirt keeps it: `console.log` beside the disks, gone with them. */
export class ConsoleLog {
  readonly #instances: InstanceFiles;
  readonly #deps: ConsoleLogDeps;

  /** @param deps its files are those of the fence: an agent whose host is another's writes nothing */
  constructor(instances: InstanceFiles, deps: ConsoleLogDeps) {
    this.#instances = instances;
    this.#deps = deps;
  }

  /** Empty: it has written nothing yet. */
  async read(uuid: string): Promise<string> {
    return (await this.#deps.files.readIfPresent(this.#path(uuid))) ?? "";
  }

  /** The guest has just started from its disk. */
  boot(instance: Instance): Promise<void> {
    return this.#add(instance, bootText(instance, this.#deps.clock.now()));
  }

  /** The guest was asked to stop, and obeyed. */
  async powerDown(instance: Instance): Promise<void> {
    await this.#add(instance, powerDownText());
  }

  /** A guest runs as well without it: what goes wrong is logged. */
  async #add({ uuid }: Instance, text: string): Promise<void> {
    const { files, logger } = this.#deps;
    const path = this.#path(uuid);
    try {
      await files.append(path, text);
      const { bytes = 0 } = (await files.stat(path)) ?? {};
      if (bytes > LONGEST) {
        const all = await files.read(path);
        await files.write(path, all.slice(all.indexOf("\n", all.length - MAX_RETAINED_CHARS) + 1));
      }
    } catch (error) {
      logger.warn("the guest's console cannot be written", { instance: uuid, err: error });
    }
  }

  #path(uuid: string): string {
    return this.#instances.disk(uuid, "console.log");
  }
}
