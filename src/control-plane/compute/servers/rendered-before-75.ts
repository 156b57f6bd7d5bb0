import type { Json } from "../../http/json.js";

type ServerObject = { readonly [key: string]: Json };

/** What the extensions of the time added to GET only. */
const OF_EXTENSIONS =
  /^(OS-EXT-|OS-SRV-USG:|os-extended-volumes:|config_drive$|key_name$|host_status$|security_groups$)/;

/** What PUT and a rebuild answer of a server before 2.75; since then they show what GET does. */
export function toViewBefore75(server: ServerObject): ServerObject {
  return withoutExtensions(server);
}

/** Addresses, too, had something of extensions. */
function withoutExtensions(value: ServerObject): ServerObject {
  const left = Object.entries(value).filter(([key]) => !OF_EXTENSIONS.test(key));
  return Object.fromEntries(left.map(([key, one]) => [key, key === "addresses" ? plainAddresses(one) : one]));
}

function plainAddresses(addresses: Json | undefined): Json {
  const networks = Object.entries((addresses ?? {}) as Readonly<Record<string, readonly ServerObject[]>>);
  return Object.fromEntries(networks.map(([name, list]) => [name, list.map(withoutExtensions)]));
}
