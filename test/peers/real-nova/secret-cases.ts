import { describe, expect, it } from "vitest";
import { withOcHosts } from "./oc-hosts.js";
import type { RealNova } from "./real-nova.js";
import { idle } from "./waiting.js";

const PASSWORD = "nobody-may-read-this";

/** Last: all that agents have printed at debug level by then is looked through. */
export function secretCases(cloud: () => RealNova): void {
  describe("what agents print", () => {
    withOcHosts(cloud);

    it("S1: no token, no password of the broker, none of a server", async () => {
      const nova = cloud();
      const id = await nova.operator.boot("secret", { host: "oc1" });
      await idle(nova, id, "ACTIVE");
      await nova.act(id, { rebuild: { imageRef: await nova.operator.image(), adminPass: PASSWORD } });
      await idle(nova, id, "ACTIVE");
      await nova.act(id, { rescue: { adminPass: PASSWORD } });
      await idle(nova, id, "RESCUE");
      await nova.act(id, { changePassword: { adminPass: PASSWORD } }).catch(() => undefined);
      await nova.remove(id);
      const printed = nova.agents.map(({ stdout, stderr }) => stdout + stderr).join("\n");
      // They do tell of this server, and at debug level.
      expect(printed).toContain(id);
      expect(printed).toMatch(/ DEBUG /);
      // A cell's connection is told in messages; the option's name alone stands in what to do about it.
      const told = ["guest:guest", 'transport_url":', "transport_url=", "auth_token", "admin_password"];
      const secrets = [await nova.token(), PASSWORD, ...told];
      for (const secret of secrets) {
        expect(linesWith(printed, secret), secret).toEqual([]);
      }
    });
  });
}

function linesWith(text: string, part: string): string[] {
  return text.split("\n").filter((line) => line.toLowerCase().includes(part.toLowerCase()));
}
