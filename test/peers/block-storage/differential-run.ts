import { type CinderCaller, projectOf } from "../../fixtures/cinder/cinder-callers.js";
import { compareBodies, type Difference, pairChosen } from "../../fixtures/cinder/comparison.js";
import { Identifiers } from "../../fixtures/neutron/identifiers.js";
import { BlockStorageHarness } from "../../unit/control-plane/block-storage/block-storage-harness.js";
import { type Kind, type KindOptions, Kinds, kindsOf, type PeerResponse } from "../differential/kinds.js";
import { KnownRecords, type Members } from "../differential/known-records.js";
import { Random } from "../differential/random.js";
import { parseJson } from "../differential/send-request.js";
import { IMAGES, PROJECTS } from "./operation.js";
import { type RandomRequest, RandomRequests } from "./random-requests.js";
import { BASE, type RealCinder, type SentRequest } from "./real-cinder.js";

/** Collections by the keys of single records in responses. */
const COLLECTIONS: Readonly<Record<string, string>> = {
  volume: "volumes",
  snapshot: "snapshots",
  backup: "backups",
  attachment: "attachments",
  transfer: "transfers",
  volume_type: "types",
  volume_types: "types",
  group_type: "group_types",
  group: "groups",
  group_snapshot: "group_snapshots",
};

const CINDER_KINDS: KindOptions = {
  errorOf: (body) => {
    const [name, error] = Object.entries(body)[0] ?? [];
    const message = typeof error === "object" && error !== null ? Reflect.get(error, "message") : body.message;
    return message === undefined ? undefined : `${name} "${message}"`;
  },
};

/** Sends the same random requests to the real Cinder and to the embedded service, and compares the responses. */
export class DifferentialRun {
  readonly #real: RealCinder;
  readonly #log: (line: string) => void;
  readonly #harness = new BlockStorageHarness();
  readonly #identifiers = new Identifiers();
  readonly #records = new KnownRecords<CinderCaller>(
    (owner, caller) => caller === "admin" || projectOf(owner) === projectOf(caller),
  );
  readonly #requests: RandomRequests;
  readonly #kinds = new Kinds();
  readonly #statuses = new Map<number, number>();
  /** Secrets that each service chose, by those of the real one. */
  readonly #chosen = new Map<string, string>();
  /** Attributes of records that are known to differ. Later responses with the same difference do not count. */
  readonly #knownDifferences = new Set<string>();

  /** @param log gets a line for each request */
  constructor(real: RealCinder, seed: number, log: (line: string) => void = () => {}) {
    this.#real = real;
    this.#log = log;
    this.#requests = new RandomRequests(new Random(seed), this.#records);
  }

  get kinds(): readonly Kind[] {
    return this.#kinds.all;
  }

  /** The number of responses by status. */
  get summary(): string {
    const counts = [...this.#statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
    return `responses of the real Cinder: ${counts.join(", ")}`;
  }

  /** Creates images and larger quotas in both, and pairs the types that each has from the start. */
  async prepare(): Promise<void> {
    for (const [index, id] of IMAGES.entries()) {
      const minDisk = index === 0 ? 0 : 2;
      this.#harness.images.put(id, { name: `image${index}`, minDisk, properties: { os_distro: "x" } });
      await this.#real.addImage({ id, name: `image${index}`, min_disk: minDisk, os_distro: "x" });
    }
    const ofAdmin = (path: string) => `/v3/${projectOf("admin")}${path}`;
    for (const id of PROJECTS) {
      const quota_set = { volumes: 60, snapshots: 60, gigabytes: -1, backups: 60, backup_gigabytes: -1, groups: 60 };
      await this.#both({ method: "PUT", path: ofAdmin(`/os-quota-sets/${id}`), body: { quota_set } }, "admin");
    }
    for (const path of ["/types", "/group_types", "/os-services"]) {
      const [theirs] = await this.#both({ method: "GET", path: ofAdmin(path) }, "admin");
      this.#remember(theirs.body, "admin");
    }
  }

  /** Sends one random request to both. */
  async step(): Promise<void> {
    const request = this.#requests.next();
    const [theirs, ours] = await this.#send(request, request.caller);
    this.#statuses.set(theirs.status, (this.#statuses.get(theirs.status) ?? 0) + 1);
    const found = theirs.status === ours.status ? compareBodies(theirs.body, ours.body, this.#identifiers) : [];
    pairChosen(theirs.body, ours.body, this.#chosen);
    const differences = found.filter((difference) => this.#isNew(difference, theirs));
    this.#report(request, theirs, ours, differences);
    await this.#follow(request, theirs, ours);
  }

  async #send(request: SentRequest, caller: CinderCaller): Promise<readonly [PeerResponse, PeerResponse]> {
    const headers = { "openstack-api-version": "volume 3.70", ...request.headers };
    return [
      await this.#real.send({ ...request, headers }, caller),
      await this.#sendHere({ ...request, headers }, caller),
    ];
  }

  /** Sends a request to both and pairs the ids of their responses. */
  async #both(request: SentRequest, caller: CinderCaller): Promise<readonly [PeerResponse, PeerResponse]> {
    const [theirs, ours] = await this.#send(request, caller);
    compareBodies(theirs.body, ours.body, this.#identifiers);
    return [theirs, ours];
  }

  async #sendHere({ method, path, body, headers = {} }: SentRequest, caller: CinderCaller): Promise<PeerResponse> {
    let sent = typeof body === "string" ? body : JSON.stringify(this.#identifiers.translate(body));
    for (const [theirs, ours] of this.#chosen) {
      sent = sent?.replaceAll(theirs, ours);
    }
    const reply = await this.#harness.send(method, `/${this.#identifiers.translateUrl(path)}`, sent, {
      caller,
      version: null,
      headers,
    });
    return { status: reply.status, body: parseJson(reply.body.replaceAll("http://127.0.0.1:8774/volume", BASE)) };
  }

  #isNew({ path }: Difference, { body }: PeerResponse): boolean {
    const id = idsOf(body).length === 1 ? idsOf(body)[0] : undefined;
    const key = `${id} ${path}`;
    const isNew = id === undefined || !this.#knownDifferences.has(key);
    this.#knownDifferences.add(key);
    return isNew;
  }

  #report(request: RandomRequest, theirs: PeerResponse, ours: PeerResponse, differences: readonly Difference[]): void {
    const { caller, method, path, headers } = request;
    const body = this.#identifiers.translate(theirs.body);
    const sent = request.body === undefined ? "" : ` ${cut(this.#identifiers.translate(request.body))}`;
    const version = headers["openstack-api-version"]?.replace("volume ", "");
    const service = headers["x-service-token"] === undefined ? "" : " with a service token";
    const line = `${caller} ${version}${service}: ${method} ${this.#identifiers.translateText(path)}${sent}`;
    this.#log(
      `${line} -> ${theirs.status} ${cut(body)}${theirs.status === ours.status ? "" : ` is ${ours.status} ${cut(ours.body)}`}`,
    );
    const comparison = { request, theirs: { status: theirs.status, body }, ours, differences };
    for (const [index, kind] of kindsOf(comparison, CINDER_KINDS).entries()) {
      const found = theirs.status < 400 ? differences[index] : undefined;
      const [there, here] = found ? [found.theirs, found.ours] : [body, ours.body];
      this.#kinds.add(kind, `${line}: ${cut(there)} is ${cut(here)}`);
    }
  }

  /** Keeps the two in the same state, and remembers their records. */
  async #follow({ method, path, caller, record }: RandomRequest, theirs: PeerResponse, ours: PeerResponse) {
    const [isDone, isDoneHere] = [theirs.status < 300, ours.status < 300];
    if (isDone && isDoneHere) {
      this.#remember(theirs.body, caller);
      if (method === "DELETE" && record && path.split("?")[0]?.endsWith(record.id)) {
        await this.#forgetDeleted(record.id, record.collection);
      }
    } else if (isDone !== isDoneHere) {
      await this.#discard(method, path, [isDone ? theirs : undefined, isDoneHere ? ours : undefined]);
      if (method !== "GET" && record) {
        await this.#deleteBoth(record.id, record.collection);
      }
    }
  }

  /** Forgets a record, unless its deletion has only begun. */
  async #forgetDeleted(id: string, collection: string): Promise<void> {
    const path = `/v3/${projectOf("admin")}/${collection}/${id}`;
    const { status } = await this.#real.send({ method: "GET", path, headers: NEWEST }, "admin");
    if (status === 404) {
      this.#records.remove(id);
    }
  }

  /** Removes what only one of the two has created. */
  async #discard(method: string, path: string, [theirs, ours]: readonly (PeerResponse | undefined)[]): Promise<void> {
    if (method !== "POST") {
      return;
    }
    const [, collection = ""] = /^\/v3\/[0-9a-f]+\/([\w-]+)/.exec(path) ?? [];
    for (const id of idsOf(theirs?.body)) {
      for (const request of removalOf(collection, id)) {
        await this.#real.send({ ...request, headers: NEWEST }, "admin");
      }
    }
    for (const id of idsOf(ours?.body)) {
      for (const request of removalOf(collection, id)) {
        await this.#sendHere({ ...request, headers: NEWEST }, "admin");
      }
    }
  }

  async #deleteBoth(id: string, collection: string): Promise<void> {
    this.#records.remove(id);
    for (const request of removalOf(collection, id)) {
      await this.#send({ ...request, headers: NEWEST }, "admin");
    }
  }

  #remember(body: unknown, caller: CinderCaller): void {
    for (const [key, value] of Object.entries((body ?? {}) as Members)) {
      const collection = COLLECTIONS[key] ?? key;
      for (const one of Array.isArray(value) ? value : [value]) {
        const attributes = (typeof one === "object" && one !== null ? one : {}) as Members;
        if (typeof attributes.id === "string" && collection !== "services") {
          const { id } = attributes;
          const known = this.#records.get(id);
          const merged = { ...known?.attributes, ...attributes };
          this.#records.add({ id, collection, owner: known?.owner ?? caller, attributes: merged });
        }
      }
    }
  }
}

const NEWEST = { "openstack-api-version": "volume 3.70", "x-service-token": "service" };

/** Returns the requests that remove a record in any status. */
function removalOf(collection: string, id: string): readonly SentRequest[] {
  const path = `/v3/${projectOf("admin")}/${collection}/${id}`;
  const reset = { status: "error", attach_status: "detached", migration_status: "none" };
  return [
    ...(collection === "volumes"
      ? [{ method: "POST", path: `${path}/action`, body: { "os-reset_status": reset } }]
      : collection === "snapshots" || collection === "backups"
        ? [{ method: "POST", path: `${path}/action`, body: { "os-reset_status": { status: "error" } } }]
        : []),
    { method: "DELETE", path: collection === "volumes" ? `${path}?cascade=true` : path },
  ];
}

/** Returns the ids of the records in a body. */
function idsOf(body: unknown): readonly string[] {
  const values = Object.values((body ?? {}) as Members).flat();
  return values.flatMap((one) => {
    const id: unknown = typeof one === "object" && one !== null ? Reflect.get(one, "id") : undefined;
    return typeof id === "string" ? [id] : [];
  });
}

const cut = (value: unknown): string => String(JSON.stringify(value)).slice(0, 600);
