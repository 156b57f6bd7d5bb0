import { isSameName, nameKey } from "../../../control-plane/identity/name-key.js";
import { BASE_IMAGES } from "../../../control-plane/image/images.js";
import { didYouMean } from "../../../runtime/did-you-mean.js";
import type { ClusterFile } from "./cluster-file.js";
import type { Problem, TextPart } from "./file-text.js";

/** Projects and users that every cluster has. */
const OWN_PROJECTS = ["admin", "demo", "service"];
const OWN_USERS = ["admin", "demo", "nova", "placement", "system-admin"];

/** Names that are there twice, and names of what is not there. */
export function checkSeed(file: ClusterFile, text: TextPart, problems: Problem[]): void {
  const complain = (path: readonly (string | number)[], message: string, ofKey = false) => {
    problems.push({ ...text.place(path, ofKey), text: message });
  };
  for (const key of ["flavors", "images", "aggregates", "projects", "users"] as const) {
    for (const field of ["name", "id"] as const) {
      const known = new Set<string>();
      (file[key] ?? []).forEach((one, at) => {
        const value = field in one ? (one as { readonly [name: string]: unknown })[field] : undefined;
        // Images of one name are told apart by their ids.
        const isOther = key === "images" && field === "name" && "id" in one;
        if (typeof value !== "string" || isOther) {
          return;
        }
        // Identity compares names without their case.
        const same = key === "projects" || key === "users" ? nameKey(value) : value;
        if (known.has(same)) {
          complain([key, at, field], `${field} ${value} is there already, expected each once`);
        }
        known.add(same);
      });
    }
  }
  const projects = [...OWN_PROJECTS, ...(file.projects ?? []).map(({ name }) => name)];
  const projectAt = (name: string, path: readonly (string | number)[], ofKey = false) => {
    if (!projects.includes(name)) {
      const near = didYouMean(name, projects);
      complain(
        path,
        `there is no project ${name}; ${near === undefined ? "name it under projects" : `did you mean ${near}?`}`,
        ofKey,
      );
    }
  };
  (file.projects ?? []).forEach(({ name }, at) => {
    if (OWN_PROJECTS.some((own) => isSameName(own, name))) {
      complain(["projects", at, "name"], `project ${name} is in every cluster; leave it out`);
    }
  });
  (file.users ?? []).forEach(({ name, roles }, at) => {
    if (OWN_USERS.some((own) => isSameName(own, name))) {
      complain(["users", at, "name"], `user ${name} is in every cluster; leave it out, or choose another name`);
    }
    for (const project of Object.keys(roles)) {
      projectAt(project, ["users", at, "roles", project], true);
    }
  });
  (file.flavors ?? []).forEach(({ access = [], is_public: isPublic = true }, at) => {
    if (isPublic && access.length > 0) {
      complain(
        ["flavors", at, "access"],
        "a public flavor is seen by all: say is_public: false, or leave access out",
        true,
      );
    }
    access.forEach((name, index) => {
      projectAt(name, ["flavors", at, "access", index]);
    });
  });
  (file.images ?? []).forEach(({ owner, name, id }, at) => {
    if (BASE_IMAGES.some((base) => base.name === name) && id === undefined) {
      complain(["images", at, "name"], `image ${name} is in every cluster; leave it out, or choose another name`);
    }
    if (owner !== undefined) {
      projectAt(owner, ["images", at, "owner"]);
    }
  });
}
