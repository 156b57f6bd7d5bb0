/** The stand-in for a hypervisor: one JSON file a guest. */
export function guestsSource(): string {
  return `import { type DriverContext, GuestNotFound, type PowerState } from "compute-agent";

/** One guest, as it lies in its file. */
export interface Guest {
  readonly uuid: string;
  readonly name: string;
  readonly state: PowerState;
  readonly vcpus: number;
  readonly memoryMb: number;
  readonly diskGb: number;
}

/** The stand-in for a hypervisor: one file a guest, so that guests outlive the agent. Replace it by yours. */
export class Guests {
  readonly #files: DriverContext["files"];
  readonly #folder: string;

  constructor({ files, stateFolder }: DriverContext) {
    this.#files = files;
    this.#folder = \`\${stateFolder}/guests\`;
  }

  async uuids(): Promise<readonly string[]> {
    return (await this.#files.list(this.#folder))
      .filter((name) => name.endsWith(".json"))
      .map((name) => name.slice(0, -".json".length));
  }

  async all(): Promise<readonly Guest[]> {
    const guests = await Promise.all((await this.uuids()).map((uuid) => this.find(uuid)));
    return guests.filter((guest) => guest !== undefined);
  }

  async find(uuid: string): Promise<Guest | undefined> {
    const text = await this.#files.readIfPresent(this.#file(uuid));
    return text === undefined ? undefined : (JSON.parse(text) as Guest);
  }

  /** @throws {GuestNotFound} */
  async get(uuid: string): Promise<Guest> {
    const guest = await this.find(uuid);
    if (guest === undefined) throw new GuestNotFound(\`there is no guest \${uuid} in \${this.#folder}\`);
    return guest;
  }

  /** Written at once or not at all: whoever is killed here leaves a whole guest or none. */
  async put(guest: Guest): Promise<void> {
    await this.#files.write(this.#file(guest.uuid), JSON.stringify(guest));
  }

  async remove(uuid: string): Promise<void> {
    await this.#files.remove(this.#file(uuid));
  }

  #file(uuid: string): string {
    return \`\${this.#folder}/\${uuid}.json\`;
  }
}
`;
}
