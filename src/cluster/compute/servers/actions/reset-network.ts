import { gone } from "../../api/gone.js";
import { anyBody, type ServerAction } from "./server-action.js";

/** It left Nova with XenAPI. */
export const resetNetwork: ServerAction = {
  name: "resetNetwork",
  schema: anyBody("resetNetwork"),
  run: () => {
    throw gone();
  },
};
