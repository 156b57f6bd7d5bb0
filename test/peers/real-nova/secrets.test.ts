import { describe, expect, it } from "vitest";
import { hasPeer } from "./control-plane.js";
import { linesWithSecrets } from "./logged-secrets.js";
import { withOcHosts } from "./oc-hosts.js";
import { useRealNova } from "./use-real-nova.js";
import { idle } from "./waiting.js";

const PASSWORD = "nobody-may-read-this";

/** The output of agents in other files is searched at the end of those files. */
describe.skipIf(!hasPeer)("the output of agents", () => {
  const cloud = useRealNova();
  withOcHosts(cloud);

  it("S1: has no token, no password of the broker, and none of a server", async () => {
    const nova = cloud();
    const id = await nova.operator.boot("secret", { host: "oc1" });
    await idle(nova, id, "ACTIVE");
    await nova.act(id, { rebuild: { imageRef: await nova.operator.image(), adminPass: PASSWORD } });
    await idle(nova, id, "ACTIVE");
    await nova.act(id, { rescue: { adminPass: PASSWORD } });
    await idle(nova, id, "RESCUE");
    await nova.act(id, { changePassword: { adminPass: PASSWORD } }).catch(() => undefined);
    await nova.remove(id);
    // The output does mention this server, and is at debug level.
    expect(nova.printed).toContain(id);
    expect(nova.printed).toMatch(/ DEBUG /);
    expect(await linesWithSecrets(nova, [PASSWORD])).toEqual([]);
  });
});
