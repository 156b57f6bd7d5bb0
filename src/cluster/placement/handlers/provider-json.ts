import type { Provider } from "../model/records.js";

/** A provider as JSON. Links and the tree appear with the microversions that brought them. */
export function providerJson(provider: Provider, prefix: string, minor: number): string {
  const url = JSON.stringify(`${prefix}/resource_providers/${provider.uuid}`).slice(0, -1);
  const relations = ["inventories", "usages"];
  if (minor >= 1) relations.push("aggregates");
  if (minor >= 6) relations.push("traits");
  if (minor >= 11) relations.push("allocations");
  let links = `{"rel":"self","href":${url}"}`;
  for (const relation of relations) links += `,{"rel":"${relation}","href":${url}/${relation}"}`;
  const tree =
    minor >= 14
      ? `,"parent_provider_uuid":${provider.parent === null ? "null" : `"${provider.parent.uuid}"`}` +
        `,"root_provider_uuid":"${provider.root.uuid}"`
      : "";
  return (
    `{"uuid":"${provider.uuid}","name":${JSON.stringify(provider.name)},"generation":${provider.generation}` +
    `,"links":[${links}]${tree}}`
  );
}

/** A piece of JSON kept with the provider until it changes. */
export function fragment(provider: Provider, key: string, make: () => string): string {
  provider.fragments ??= new Map();
  const known = provider.fragments.get(key);
  if (known !== undefined) return known;
  const made = make();
  provider.fragments.set(key, made);
  return made;
}
