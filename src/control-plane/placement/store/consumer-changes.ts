import type { Consumer, ConsumerType, Project, User } from "../model/records.js";
import type { Changing } from "./context.js";

/** The owner of a consumer, and its type. */
export interface Ownership {
  readonly project: Project;
  readonly user: User;
  /** Null before microversion 1.38: a type that is there stays. */
  readonly type: ConsumerType | null;
}

export function createConsumer({ state, unit }: Changing, uuid: string, owner: Ownership): Consumer {
  const { project, user, type } = owner;
  const id = state.nextId("consumers");
  const consumer: Consumer = { id, uuid, generation: 0, project, user, type, allocations: [], createdAt: unit.now };
  unit.apply(
    () => {
      state.consumers.set(uuid, consumer);
      project.consumers.add(consumer);
    },
    () => {
      state.consumers.delete(uuid);
      project.consumers.delete(consumer);
    },
  );
  unit.consumer(consumer, "created");
  return consumer;
}

export function deleteConsumer({ state, unit }: Changing, consumer: Consumer): void {
  unit.apply(
    () => {
      state.consumers.delete(consumer.uuid);
      consumer.project.consumers.delete(consumer);
    },
    () => {
      state.consumers.set(consumer.uuid, consumer);
      consumer.project.consumers.add(consumer);
    },
  );
  unit.consumer(consumer, "deleted");
}

/** Gives the consumer to another project, user or type; its generation stays. */
export function updateConsumer({ unit }: Changing, consumer: Consumer, owner: Ownership): void {
  const { project, user, type } = consumer;
  const newType = owner.type ?? type;
  if (project === owner.project && user === owner.user && type === newType) {
    return;
  }
  const set = (next: Ownership) => {
    consumer.project.consumers.delete(consumer);
    consumer.project = next.project;
    consumer.user = next.user;
    consumer.type = next.type;
    next.project.consumers.add(consumer);
  };
  unit.apply(
    () => set({ ...owner, type: newType }),
    () => set({ project, user, type }),
  );
  unit.consumer(consumer, "owner");
}

export function ensureProject({ state, unit }: Changing, externalId: string): Project {
  const known = state.projects.get(externalId);
  if (known !== undefined) {
    return known;
  }
  const created: Project = { id: state.nextId("projects"), externalId, consumers: new Set() };
  unit.apply(
    () => state.projects.set(externalId, created),
    () => state.projects.delete(externalId),
  );
  unit.write("INSERT INTO placement_projects (id, external_id) VALUES (?, ?)", created.id, externalId);
  return created;
}

export function ensureUser({ state, unit }: Changing, externalId: string): User {
  const known = state.users.get(externalId);
  if (known !== undefined) {
    return known;
  }
  const created: User = { id: state.nextId("users"), externalId };
  unit.apply(
    () => state.users.set(externalId, created),
    () => state.users.delete(externalId),
  );
  unit.write("INSERT INTO placement_users (id, external_id) VALUES (?, ?)", created.id, externalId);
  return created;
}

export function ensureConsumerType({ state, unit }: Changing, name: string): ConsumerType {
  const known = state.consumerTypes.get(name);
  if (known !== undefined) {
    return known;
  }
  const created: ConsumerType = { id: state.nextId("consumer_types"), name };
  unit.apply(
    () => state.consumerTypes.set(name, created),
    () => state.consumerTypes.delete(name),
  );
  unit.write("INSERT INTO placement_consumer_types (id, name) VALUES (?, ?)", created.id, name);
  return created;
}
