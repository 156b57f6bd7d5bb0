import type { Runtime } from "../../src/runtime/runtime.js";

/** Traffic of a process so far. */
export interface TrafficCounts {
  /** Frames to and from the conductor. */
  readonly frames: number;
  readonly requests: number;
}

/** Wraps a runtime's HTTP client and sockets to count their traffic. */
export function countTraffic(runtime: Runtime): { readonly runtime: Runtime; readonly counts: () => TrafficCounts } {
  let frames = 0;
  let requests = 0;
  const { http, sockets } = runtime;
  return {
    counts: () => ({ frames, requests }),
    runtime: {
      ...runtime,
      http: {
        request: (request) => {
          requests += 1;
          return http.request(request);
        },
        close: () => http.close(),
      },
      sockets: {
        connect: async (...where) => {
          const socket = await sockets.connect(...where);
          return {
            send: (text) => {
              frames += 1;
              socket.send(text);
            },
            onMessage: (listener) =>
              socket.onMessage((text) => {
                frames += 1;
                listener(text);
              }),
            afterTurn: (action) => socket.afterTurn(action),
            close: (...why) => socket.close(...why),
            terminate: () => socket.terminate(),
            onClose: (listener) => socket.onClose(listener),
            ping: () => socket.ping(),
            onPong: (listener) => socket.onPong(listener),
            get bufferedBytes() {
              return socket.bufferedBytes;
            },
          };
        },
      },
    },
  };
}
