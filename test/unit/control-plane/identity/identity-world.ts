import { ApiWorld, passwordAuth } from "../compute/api-world.js";

/** Identity over an in-memory database, with short helpers for requests. */
export class IdentityWorld {
  readonly api: ApiWorld;

  private constructor(api: ApiWorld) {
    this.api = api;
  }

  static async open(): Promise<IdentityWorld> {
    return new IdentityWorld(await ApiWorld.open());
  }

  /** @param token default: an administrator's */
  ask(method: string, path: string, body?: unknown, token?: string) {
    const url = `/identity/v3/${path}`;
    return this.api.ask({ method, url, ...(body === undefined ? {} : { body }), token });
  }

  /** Returns status and message of an error response. */
  async getRejection(method: string, path: string, body?: unknown, token?: string) {
    const reply = await this.ask(method, path, body, token);
    return [reply.status, reply.message];
  }

  /** Creates a record of a kind, such as `project` or `user`. Returns its id. */
  async make(kind: string, members: Readonly<Record<string, unknown>>, plural = `${kind}s`): Promise<string> {
    const reply = await this.ask("POST", plural, { [kind]: members });
    if (reply.status !== 201) {
      throw new Error(`${kind}: ${reply.status} ${reply.message}`);
    }
    return reply.json(kind, "id") as string;
  }

  /** Creates a user with the password `secret`. */
  user(name: string, more: Readonly<Record<string, unknown>> = {}): Promise<string> {
    return this.make("user", { name, password: "secret", ...more });
  }

  async roleId(name: string): Promise<string> {
    const reply = await this.ask("GET", `roles?name=${name}`);
    return (reply.json("roles") as { readonly id: string }[])[0]?.id ?? "";
  }

  /** @param where `projects/<id>`, `domains/<id>` or `system` */
  async grant(where: string, actor: string, role: string, method = "PUT") {
    return await this.ask(method, `${where}/${actor}/roles/${await this.roleId(role)}`);
  }

  /** @param id user id; the default password is `secret` */
  async login(id: string, scope?: unknown, password = "secret") {
    const user = { id, password };
    const body = {
      auth: { identity: { methods: ["password"], password: { user } }, ...(scope === undefined ? {} : { scope }) },
    };
    return await this.ask("POST", "auth/tokens", body, "");
  }

  async token(id: string, scope?: unknown, password?: string): Promise<string> {
    return (await this.login(id, scope, password)).headers["x-subject-token"] ?? "";
  }

  async adminToken(scope: unknown): Promise<string> {
    const body = passwordAuth("admin", this.api.passwords.admin, scope);
    return (await this.ask("POST", "auth/tokens", body, "")).headers["x-subject-token"] ?? "";
  }

  validate(token: string) {
    return this.api.apis.identity.validate(token);
  }

  /** Returns the names in a list. */
  async names(path: string, token?: string): Promise<readonly string[]> {
    const plural = path.split("?")[0]?.split("/").at(-1) ?? "";
    const reply = await this.ask("GET", path, undefined, token);
    return (reply.json(plural) as { readonly name: string }[]).map(({ name }) => name);
  }
}
