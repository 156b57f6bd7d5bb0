import type { Files } from "../../runtime/files.js";
import type { Programs } from "../../runtime/programs.js";
import type { Activity } from "./activity.js";

/** The same files; what is read and written counts as under way. */
export function countedFiles(files: Files, activity: Activity): Files {
  return {
    read: (path) => activity.during(() => files.read(path)),
    readIfPresent: (path) => activity.during(() => files.readIfPresent(path)),
    // The reader takes the parts at its own pace.
    readBytes: (path) => activity.during(() => files.readBytes(path)),
    write: (path, text, options) => activity.during(() => files.write(path, text, options)),
    create: (path, text, options) => activity.during(() => files.create(path, text, options)),
    writeBytes: (path, bytes, options) => activity.during(() => files.writeBytes(path, bytes, options)),
    append: (path, text) => activity.during(() => files.append(path, text)),
    truncate: (path, bytes) => activity.during(() => files.truncate(path, bytes)),
    rename: (from, to) => activity.during(() => files.rename(from, to)),
    remove: (path) => activity.during(() => files.remove(path)),
    makeFolder: (path, options) => activity.during(() => files.makeFolder(path, options)),
    list: (path) => activity.during(() => files.list(path)),
    stat: (path) => activity.during(() => files.stat(path)),
    watch: (folder, listener) => files.watch(folder, listener),
  };
}

/** The same programs; one that is waited for may run for as long as it likes, and does not count. */
export function countedPrograms(programs: Programs, activity: Activity): Programs {
  return {
    start: (options) => activity.during(() => programs.start(options)),
    run: (options) => activity.during(() => programs.run(options)),
    look: (pid) => activity.during(() => programs.look(pid)),
    signal: (process, signal) => activity.during(() => programs.signal(process, signal)),
    ended: (process, signal) => programs.ended(process, signal),
  };
}
