/** What a socket tells its owner: keeps frames and the end until someone listens. */
export class SocketInbox {
  readonly #messageListeners: ((text: string) => void)[] = [];
  readonly #closeListeners: ((code: number, reason: string) => void)[] = [];
  readonly #pongListeners: (() => void)[] = [];
  #unread: string[] = [];
  #end: { readonly code: number; readonly reason: string } | undefined;

  onMessage(listener: (text: string) => void): void {
    this.#messageListeners.push(listener);
    const unread = this.#unread;
    this.#unread = [];
    for (const text of unread) {
      listener(text);
    }
  }

  onClose(listener: (code: number, reason: string) => void): void {
    if (this.#end) {
      listener(this.#end.code, this.#end.reason);
    } else {
      this.#closeListeners.push(listener);
    }
  }

  onPong(listener: () => void): void {
    this.#pongListeners.push(listener);
  }

  message(text: string): void {
    if (this.#messageListeners.length === 0) {
      this.#unread.push(text);
      return;
    }
    for (const listener of this.#messageListeners) {
      listener(text);
    }
  }

  closed(code: number, reason: string): void {
    if (this.#end) {
      return;
    }
    this.#end = { code, reason };
    for (const listener of this.#closeListeners) {
      listener(code, reason);
    }
  }

  pong(): void {
    for (const listener of this.#pongListeners) {
      listener();
    }
  }
}

/** The most that fits into a closing frame: 123 bytes of UTF-8. */
export function closingReason(reason: string): string {
  let text = reason;
  while (Buffer.byteLength(text) > 123) {
    text = text.slice(0, -1);
  }
  return text;
}
