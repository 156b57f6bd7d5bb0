import type { Json } from "../../http/json.js";

type ServerObject = { readonly [key: string]: Json };

/** What the extensions of the time added to GET only. */
const OF_EXTENSIONS = /^(OS-EXT-|OS-SRV-USG:|os-extended-volumes:|config_drive$|key_name$|host_status$)/;

/** What PUT and a rebuild answer of a server before 2.75; since then they show what GET does. */
export function shownBefore75(server: ServerObject): ServerObject {
  return Object.fromEntries(Object.entries(server).filter(([key]) => !OF_EXTENSIONS.test(key)));
}
