import type { HostProcess } from "../../conductor-client/methods/hosts.js";
import type { HostSupervisor } from "../../control-plane/conductor/host-supervisor.js";
import { type HostCommand, type HostCommandReply, isHostCommandReply } from "../../control-plane/local/reports.js";
import { notifyParent, onParentMessage } from "../ui/parent.js";

interface Question {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * `compute-cluster up` as its control plane sees it; undefined: this process has no such parent.
 * @param unless its answers are not heard any more then @param before called before each question: what `up` is to know by then
 */
export function parentSupervisor(unless: AbortSignal, before: () => void): HostSupervisor | undefined {
  const questions = new Map<number, Question>();
  let last = 0;
  const ask = (
    command: HostCommand["command"],
    subject: string,
    more: Pick<HostCommand, "startHosts"> = {},
  ): Promise<unknown> =>
    new Promise((resolve, reject) => {
      last += 1;
      questions.set(last, { resolve, reject });
      before();
      notifyParent({ type: "host-command", id: last, command, subject, ...more });
    });
  const forget = onParentMessage((message) => {
    if (isHostCommandReply(message)) {
      settle(questions, message);
    }
  });
  unless.addEventListener("abort", () => forget?.());
  return forget
    ? {
        list: async () => (await ask("list", "")) as readonly HostProcess[],
        find: async (host) => (await ask("find", host)) as HostProcess | null,
        control: async (host, action) => (await ask(action, host)) as Awaited<ReturnType<HostSupervisor["control"]>>,
        add: async (addition) => (await ask("add", addition)) as readonly string[],
        forget: async (host) => void (await ask("forget", host)),
        restore: async (snapshot, startHosts) =>
          (await ask("restore", snapshot ?? "", startHosts ? { startHosts } : {})) as number,
        stop: async () => (await ask("down", "")) as number,
      }
    : undefined;
}

function settle(questions: Map<number, Question>, { id, result, error }: HostCommandReply): void {
  const question = questions.get(id);
  questions.delete(id);
  if (error === undefined) {
    question?.resolve(result);
  } else {
    question?.reject(new Error(error));
  }
}
