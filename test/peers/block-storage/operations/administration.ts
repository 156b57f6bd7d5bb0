import { ADMINS, listQuery, type Operation, oneOf, PROJECTS, type Source, some } from "../operation.js";

const QUOTAS = ["volumes", "snapshots", "backups", "groups", "backup_gigabytes", "bogus"];

const limits = (source: Source) => ({
  quota_set: { [source.random.pick(QUOTAS)]: source.random.pick<unknown>([60, 60, 60, 80, -1, 0, "x", -2]) },
});

const ofAdmins = { callers: ADMINS };

/** A service is enabled more often than disabled, so that most volumes find a back end. */
const services: readonly Operation[] = ["enable", "enable", "enable", "disable", "disable-log-reason"].map(
  (word): Operation => ({
    weight: 0.4,
    method: "PUT",
    path: `/os-services/${word}`,
    ...ofAdmins,
    body: ({ random }) => ({
      binary: random.pick(["cinder-volume", "cinder-volume", "bogus"]),
      host: random.pick(["devstack@lvmdriver-1", "devstack", "devstack@lvmdriver-1"]),
      ...(word === "disable-log-reason" && { disabled_reason: random.pick(["because", ""]) }),
    }),
    isExact: true,
  }),
);

const get = (weight: number, path: string, ...queries: readonly string[]): Operation => ({
  weight,
  method: "GET",
  path,
  query: queries.length === 0 ? () => "" : oneOf(...queries),
});

/** Quotas, services, messages and views without records. */
export const ADMINISTRATION_OPERATIONS: readonly Operation[] = [
  ...PROJECTS.flatMap((id): readonly Operation[] => [
    get(0.8, `/os-quota-sets/${id}`, "", "usage=true", "usage=True"),
    get(0.2, `/os-quota-sets/${id}/defaults`),
    { weight: 0.5, method: "PUT", path: `/os-quota-sets/${id}`, body: limits, isExact: true, ...ofAdmins },
  ]),
  { weight: 0.7, method: "GET", path: "/os-quota-class-sets/default", ...ofAdmins },
  {
    weight: 0.5,
    method: "PUT",
    path: "/os-quota-class-sets/default",
    ...ofAdmins,
    isExact: true,
    body: oneOf<unknown>(
      { quota_class_set: { volumes: 60 } },
      { quota_class_set: { bogus: 1 } },
      { quota_class_set: { snapshots: "x" } },
    ),
  },
  { ...get(1, "/os-services", "", "binary=cinder-volume", "host=devstack"), ...ofAdmins },
  ...services,
  { ...get(0.4, "/os-hosts"), ...ofAdmins },
  {
    weight: 2.5,
    method: "GET",
    path: "/messages",
    query: (source) => {
      const filters = { resource_type: [0.1, oneOf("VOLUME", "x")], message_level: [0.1, oneOf("ERROR")] } as const;
      return listQuery(source, "messages", filters, ["created_at", "resource_type"]);
    },
  },
  get(1, "/messages/{messages}"),
  { weight: 0.7, method: "DELETE", path: "/messages/{messages}" },
  get(2, "/limits", "", `project_id=${PROJECTS[2]}`),
  { ...get(1, "/scheduler-stats/get_pools", "", "detail=true", "name=x"), ...ofAdmins },
  { ...get(0.4, "/capabilities/devstack@lvmdriver-1"), ...ofAdmins },
  get(0.7, "/os-availability-zone"),
  get(1, "/resource_filters", "", "resource=volume", "resource=bogus"),
  get(0.3, "/extensions/os-quota-sets"),
  get(0.3, "/extensions/bogus"),
  { ...get(0.4, "/clusters"), ...ofAdmins },
  get(0.3, "/consistencygroups"),
  get(0.3, "/cgsnapshots/detail"),
  get(0.3, "/bogus"),
  {
    weight: 0.5,
    method: "POST",
    path: "/workers/cleanup",
    ...ofAdmins,
    body: some({ binary: [0.8, oneOf("cinder-volume", "x")], disabled: [0.2, oneOf<unknown>("x")] }),
  },
];
