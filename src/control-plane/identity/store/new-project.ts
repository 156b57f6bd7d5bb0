import type { Project } from "./records.js";

export const DEFAULT_DOMAIN = "default";

export function newProject(id: string, name: string, rest: Partial<Project> = {}): Project {
  return {
    id,
    name,
    domain_id: DEFAULT_DOMAIN,
    description: "",
    enabled: true,
    parent_id: rest.domain_id ?? DEFAULT_DOMAIN,
    is_domain: false,
    tags: [],
    options: {},
    ...rest,
  };
}
