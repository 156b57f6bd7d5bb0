import type { Faults } from "../../../faults/faults.js";
import { hardwarePoint } from "../fault-points.js";
import { CONDUCTOR_HOST } from "../node-locks.js";
import { type IronicRoute, links } from "./call.js";
import { type ApiParts, nodeOf } from "./node-routes.js";

const INTERFACES = "boot deploy management network power bios console inspect raid rescue storage".split(" ");

/** What the hardware type says of itself and of a node. */
export function hardwareRoutes({ nodes }: ApiParts, faults: Faults): readonly IronicRoute[] {
  return [
    {
      method: "GET",
      path: "/nodes/:node/validate",
      answer: async (call) => {
        nodeOf(nodes, call);
        const reason = await faults.hit(hardwarePoint("validate")).then(
          () => undefined,
          (error: Error) => error.message,
        );
        const valid = INTERFACES.map((name) => [name, { result: true }]);
        const deploy = reason === undefined ? {} : { deploy: { result: false, reason } };
        return { body: { ...Object.fromEntries(valid), ...deploy } };
      },
    },
    {
      method: "GET",
      path: "/drivers",
      answer: ({ root }) => ({
        body: {
          drivers: [
            {
              name: "fake-hardware",
              hosts: [CONDUCTOR_HOST],
              type: "dynamic",
              links: links(root, "drivers/fake-hardware"),
              properties: links(root, "drivers/fake-hardware/properties"),
            },
          ],
        },
      }),
    },
  ];
}
